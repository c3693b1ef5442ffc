"""What is done once in a pass."""

from pathlib import Path

from datum.host.local import LocalHost


def test_a_key_is_first_once_for_all_readers_and_writers_of_a_host(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path)) as host:
        reader, writer = host.reader(), host.writer()
        assert reader.once("package.update")
        others = (reader, writer, host.reader(), host.writer(), host.staging())
        assert [other.once("package.update") for other in others] == [False] * 5
        assert host.staging().once("another")
        assert not reader.once("another")


def test_hosts_of_one_pass_have_the_keys_in_common_and_those_of_another_do_not(tmp_path: Path) -> None:
    asked: set[str] = set()
    with LocalHost(str(tmp_path), asked=asked) as host, LocalHost(str(tmp_path), asked=asked) as again:
        assert host.writer().once("key")
        assert not again.writer().once("key")
    with LocalHost(str(tmp_path)) as other:
        assert other.writer().once("key")
    assert list(tmp_path.iterdir()) == []
