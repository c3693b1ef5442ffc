"""What a running system has beside files: keys of its kernel, and mounts."""

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python


def test_kernel_keys_are_read_and_set(booted: Booted, agent_bind: AgentBind) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        key = "/proc/sys/net/ipv4/conf/lo/rp_filter"
        before = reader.kernel_value(key)
        writer.set_kernel_value(key, b"2")
        flush = "/proc/sys/net/ipv4/route/flush"
        answer = {
            "values": [before.decode(), reader.kernel_value(key).decode()],
            "missing": reader.kernel_value("/proc/sys/net/none"),
            "bad": error_of(writer.set_kernel_value, "/proc/sys/net/ipv4/ip_default_ttl", b"x"),
            "fixed": error_of(writer.set_kernel_value, "/proc/sys/kernel/ostype", b"x"),
            "nowhere": error_of(writer.set_kernel_value, "/proc/sys/net/none", b"1"),
        }
        """,
    )
    assert answer["values"] != ["2\n", "2\n"]
    assert answer["values"][1] == "2\n"
    assert answer["missing"] is None
    assert answer["bad"]["detail"] == "The kernel refused 'x' for 'net/ipv4/ip_default_ttl': Invalid argument."
    assert answer["fixed"]["code"] == "kernel-key-refused"
    assert answer["nowhere"]["detail"] == "The kernel has no key 'net/none'."


def test_a_key_that_an_ordinary_user_may_not_read_is_denied(booted: Booted, agent_bind: AgentBind) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        import os
        os.setegid(65534); os.seteuid(65534)
        answer = [error_of(reader.kernel_value, "/proc/sys/net/ipv4/route/flush")["cause"],
            error_of(writer.set_kernel_value, "/proc/sys/net/ipv4/conf/lo/rp_filter", b"1")["code"]]
        """,
    )
    assert answer == ["denied", "kernel-key-refused"]


def test_mounts_are_listed_in_their_order(booted: Booted, agent_bind: AgentBind) -> None:
    script = "mkdir '/srv/a b'; mount -t tmpfs one '/srv/a b'; mount -t tmpfs -o ro,nosuid,size=1m two '/srv/a b'"
    booted.run(["sh", "-c", script])
    answer = python(
        booted,
        agent_bind,
        """
        answer = [[entry.source, entry.kind, sorted(entry.options), sorted(entry.super_options)]
            for entry in reader.mount_entries() if entry.point == "/srv/a b"]
        """,
    )
    (one, two) = answer
    assert one[:2] == ["one", "tmpfs"]
    assert two[:3] == ["two", "tmpfs", ["nosuid", "relatime", "ro"]]
    assert "size=1024k" in two[3]
