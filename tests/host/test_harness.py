"""The harness itself: hosts are real, fresh, and do not reach the machine outside."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.harness.booted import Booted
from tests.harness.changes import Kind
from tests.harness.linux import Process
from tests.harness.machine import HostError
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.harness.strace import Strace, inject, parse, trace

COPY = "import os, pathlib; pathlib.Path('new').write_text('x'); os.rename('new', 'old'); os.rename('old', 'older')"


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for what the kernel does in its own time; fail after ten seconds."""
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, "it still does not hold after ten seconds"
        time.sleep(0.01)


def kinds(host: Oneshot) -> dict[str, Kind]:
    return {path: change.kind for path, change in host.changes().items()}


def test_oneshot_is_a_debian_with_nothing_changed(oneshot: Oneshot) -> None:
    assert b"VERSION_CODENAME=bookworm" in oneshot.read("/etc/os-release")
    assert oneshot.run(["hostname"]).stdout == "oneshot\n"
    assert oneshot.changes() == {}


def test_run_passes_input_environment_and_exit_code_through(oneshot: Oneshot) -> None:
    script = 'cat; echo "$FOO" >&2; exit 7'
    done = oneshot.run(["sh", "-c", script], input="in", env={"FOO": "bar"}, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "in", "bar\n")
    with pytest.raises(HostError, match="ended with 7"):
        oneshot.run(["sh", "-c", "exit 7"])
    assert oneshot.run(["sh", "-c", "kill -9 $$"], check=False).returncode == -signal.SIGKILL


def test_a_command_that_takes_too_long_is_killed(oneshot: Oneshot) -> None:
    with pytest.raises(HostError, match="took longer"):
        oneshot.run(["sh", "-c", "sleep 600; true"], timeout=0.2)
    assert oneshot.run(["true"]).returncode == 0


def test_files_last_from_command_to_command_but_not_from_root_to_root(
    make_oneshot: Callable[..., Oneshot],
) -> None:
    one, two = make_oneshot(), make_oneshot()
    one.run(["useradd", "joe"])
    assert b"joe" in one.read("/etc/passwd")
    assert one.run(["id", "-un", "joe"]).stdout == "joe\n"
    assert b"joe" not in two.read("/etc/passwd")


def test_nothing_reaches_the_machine_outside(oneshot: Oneshot, tmp_path: Path) -> None:
    name, mounts = socket.gethostname(), Path("/proc/self/mountinfo").read_text()
    oneshot.run(["sh", "-c", "touch /tmp/inside /inside; mount -t tmpfs t /mnt; hostname other"])
    assert not Path("/tmp/inside").exists()
    assert not Path("/inside").exists()
    assert socket.gethostname() == name
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert oneshot.run(["sysctl", "-w", "vm.swappiness=7"], check=False).returncode != 0
    assert oneshot.run(["date", "-s", "2001-01-01"], check=False).returncode != 0
    assert oneshot.run(["ls", str(tmp_path)], check=False).returncode != 0


def test_write_follows_links_inside_the_root_only(oneshot: Oneshot, tmp_path: Path) -> None:
    outside = tmp_path / "target"
    oneshot.run(["mkdir", "-p", str(tmp_path)])
    oneshot.run(["ln", "-s", str(outside), "/etc/link"])
    oneshot.write("/etc/link", "text", mode=0o600)
    assert not outside.exists()
    assert oneshot.read(str(outside)) == b"text"


def test_changes_tells_how_each_entry_differs(oneshot: Oneshot) -> None:
    script = (
        "rm /etc/issue; echo x > /etc/motd; chmod 700 /opt; mkdir /srv/new; echo y > /srv/new/file;"
        "touch /tmp/gone; rm /tmp/gone; rm -r /etc/cron.d; mkdir /etc/cron.d; : >> /etc/fstab"
    )
    oneshot.run(["sh", "-c", script])
    assert kinds(oneshot) == {
        "/etc/cron.d": Kind.MODIFIED,
        "/etc/fstab": Kind.TOUCHED,
        "/etc/issue": Kind.DELETED,
        "/etc/motd": Kind.MODIFIED,
        "/opt": Kind.MODIFIED,
        "/srv/new": Kind.CREATED,
        "/srv/new/file": Kind.CREATED,
        "/tmp": Kind.TOUCHED,
    }


def test_a_small_disk_is_full_soon(make_oneshot: Callable[..., Oneshot]) -> None:
    small = make_oneshot(size="1m")
    done = small.run(["sh", "-c", "head -c 2M /dev/zero > /f"], check=False)
    assert "No space left on device" in done.stderr


def test_fill_leaves_no_room_and_free_gives_it_back(make_oneshot: Callable[..., Oneshot]) -> None:
    root = make_oneshot(size="4m")
    root.fill()
    write = ["cp", "/etc/fstab", "/f"]
    assert "No space left on device" in root.run(write, check=False).stderr
    root.free()
    root.run(write)


@pytest.mark.parametrize("path", ["/", "/etc"])
def test_a_disk_can_be_made_read_only_and_writable(oneshot: Oneshot, path: str) -> None:
    oneshot.set_read_only(path)
    touch = ["touch", "/etc/x"]
    assert "Read-only file system" in oneshot.run(touch, check=False).stderr
    oneshot.set_writable(path)
    oneshot.run(touch)


def test_binds_show_folders_and_files_and_guard_them(make_oneshot: Callable[..., Oneshot], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    root = make_oneshot(
        binds=(
            Bind(str(tmp_path), "/tmp/folder"),
            Bind(str(tmp_path / "file"), "/etc/bound"),
            Bind(str(tmp_path), "/srv/writable", read_only=False),
        )
    )
    assert root.read("/tmp/folder/file") == root.read("/etc/bound") == b"x"
    assert root.run(["touch", "/tmp/folder/new"], check=False).returncode != 0
    root.run(["touch", "/srv/writable/new"])
    assert (tmp_path / "new").exists()
    assert root.run(["stat", "-c", "%a", "/tmp"]).stdout == "1777\n"
    assert root.changes() == {}


def test_a_bind_through_a_link_is_refused(make_oneshot: Callable[..., Oneshot], tmp_path: Path) -> None:
    with pytest.raises(HostError, match="/lib is no folder"):
        make_oneshot(binds=(Bind(str(tmp_path), "/lib/here"),))


def test_the_agents_libraries_load_in_debians_python(oneshot: Oneshot, agent_bind: AgentBind) -> None:
    names = [name for name in ("datum", "datum_providers", "pygit2") if find_spec(name)]
    code = f"import {', '.join(names)}, yaml; print({'.__file__, '.join(names)}.__file__)"
    done = oneshot.run(["/usr/bin/python3", "-c", code], env=agent_bind.env)
    assert all(path.startswith("/opt/agent/") for path in done.stdout.split())
    assert oneshot.changes() == {}


def test_a_closed_host_leaves_no_process(make_oneshot: Callable[..., Oneshot]) -> None:
    root = make_oneshot()
    running = root.popen(["sleep", "600"])
    init = root.init
    root.close()
    with running:
        assert running.wait(10) != 0
    assert not init.is_alive()
    with pytest.raises(HostError, match="not running"):
        root.run(["true"])


@pytest.mark.host
def test_hosts_end_with_a_killed_test_process(host_image: Path) -> None:
    """A test run that is killed must leave neither processes nor cgroups."""
    code = (
        "import os\n"
        "from tests.harness.booted import Booted\n"
        "from tests.harness.oneshot import Oneshot\n"
        "hosts = [Oneshot(), Booted(), Oneshot()]\n"
        "print(*(h.init.pid for h in hosts), hosts[1]._spec.cgroup, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    *pids, cgroup = done.stdout.split()
    assert len(pids) == 3
    wait_until(lambda: not any(Process.find(int(pid)) for pid in pids) and not Path(cgroup).exists())


def test_booted_host_runs_and_manages_services(booted: Booted) -> None:
    assert booted.run(["systemctl", "is-system-running"]).stdout == "running\n"
    unit = "[Service]\nExecStart=/bin/sleep 600\n[Install]\nWantedBy=multi-user.target\n"
    booted.write("/etc/systemd/system/nap.service", unit)
    booted.run(["systemctl", "enable", "--now", "nap.service"])
    assert booted.run(["systemctl", "is-active", "nap.service"]).stdout == "active\n"
    first = booted.boot_id()
    booted.reboot()
    assert booted.boot_id() != first
    assert booted.run(["systemctl", "is-active", "nap.service"]).stdout == "active\n"


def test_booting_leaves_the_outer_tmp_alone(make_booted: Callable[..., Booted], tmp_path: Path) -> None:
    """Debian's ``D /tmp`` rule empties /tmp at boot: of the host, never of the machine."""
    kept = tmp_path / "kept"
    kept.write_text("x")
    before = set(Path("/tmp").iterdir())
    host = make_booted()
    host.write("/tmp/old", "x")
    host.reboot()
    assert "old" not in host.run(["ls", "/tmp"]).stdout.split()
    assert kept.read_text() == "x"
    assert not [path for path in set(Path("/tmp").iterdir()) - before if path.name.startswith("systemd-")]


def test_a_power_cut_ends_all_and_the_disk_stays(booted: Booted) -> None:
    booted.write("/etc/kept", "x")
    first, init = booted.boot_id(), booted.init
    booted.cut()
    assert not init.is_alive()
    with pytest.raises(HostError, match="not running"):
        booted.run(["true"])
    booted.start()
    assert booted.read("/etc/kept") == b"x"
    assert booted.boot_id() != first


@pytest.mark.host
@pytest.mark.parametrize("kind", ["make_oneshot", "make_booted"])
def test_a_power_cut_of_a_lossy_disk_loses_what_was_not_synced(kind: str, request: pytest.FixtureRequest) -> None:
    host = request.getfixturevalue(kind)(lossy=True, size="300m")
    host.run(["sync"])
    host.run(
        ["sh", "-c", "echo a > /etc/kept; sync /etc/kept /etc; echo b > /etc/lost.new; mv /etc/lost.new /etc/lost"]
    )
    host.cut()
    host.start()
    assert host.read("/etc/kept") == b"a\n"
    assert host.run(["sh", "-c", "cat /etc/lost*"], check=False).stdout == ""


def test_a_host_powers_off_and_starts_again(booted: Booted) -> None:
    booted.power_off()
    booted.start()
    assert booted.run(["systemctl", "is-system-running"]).stdout == "running\n"


@pytest.mark.host
def test_trace_counts_the_calls_of_each_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls = trace([sys.executable, "-ISc", COPY], ["rename"])
    assert [(call.name, call.nth, call.result) for call in calls] == [
        ("rename", 1, "0"),
        ("rename", 2, "0"),
    ]
    assert calls[1].arguments == '"old", "older"'


@pytest.mark.host
def test_inject_kills_before_the_chosen_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = inject([sys.executable, "-ISc", COPY], "rename", when=2, signal="KILL")
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.host
def test_inject_fails_the_chosen_call_on_the_chosen_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    argv = [sys.executable, "-ISc", COPY]
    done = inject(argv, "write", error="ENOSPC", path=str(tmp_path / "new"))
    assert "No space left on device" in done.stderr
    with pytest.raises(AssertionError, match="never made call 3"):
        inject(argv, "rename", when=3, signal="KILL")


@pytest.mark.host
def test_a_traced_command_that_takes_too_long_is_killed_with_all_it_started(tmp_path: Path) -> None:
    argv = ["sh", "-c", f"sleep 600 & echo $! > {tmp_path}/pid; wait"]
    with pytest.raises(subprocess.TimeoutExpired):
        Strace(timeout=0.5).trace(argv, ["execve"])
    left = int((tmp_path / "pid").read_text())
    wait_until(lambda: Process.find(left) is None)


def test_strace_works_in_a_host_and_leaves_no_trace_on_its_disk(oneshot: Oneshot) -> None:
    strace = Strace(oneshot)
    assert [call.nth for call in strace.trace(["mkdir", "/srv/a", "/srv/b"], ["mkdir"])] == [1, 2]
    done = strace.inject(["mkdir", "/srv/c", "/srv/d"], "mkdir", when=2, signal="KILL")
    assert done.returncode == -signal.SIGKILL
    assert list(oneshot.changes()) == ["/srv/a", "/srv/b", "/srv/c"]


def test_parse_joins_the_halves_of_an_interrupted_call() -> None:
    log = (
        '7 write(3</a>, "x", 1 <unfinished ...>\n'
        '8 write(4</b>, ") = 1", 5) = 5\n'
        "7 <... write resumed>) = 1\n"
        "7 --- SIGCHLD {si_signo=SIGCHLD} ---\n"
        "7 fsync(3</a>) = ?\n"
        "7 +++ killed by SIGKILL +++\n"
    )
    got = [(call.pid, call.name, call.arguments, call.result) for call in parse(log)]
    assert got == [
        (8, "write", '4</b>, ") = 1", 5', "5"),
        (7, "write", '3</a>, "x", 1', "1"),
        (7, "fsync", "3</a>", "?"),
    ]
