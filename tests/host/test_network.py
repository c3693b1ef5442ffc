"""The network of test hosts: private, by name, cut and mended at will, and gone with whoever made it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.harness.booted import Booted
from tests.harness.linux import Process
from tests.harness.machine import HostError
from tests.harness.network import Network, NetworkError
from tests.harness.oneshot import Oneshot

SAY: Final = (
    "import socket; s = socket.create_server(('0.0.0.0', 7)); print(flush=True); s.accept()[0].sendall(b'hello')"
)
HEAR: Final = "import socket; print(socket.create_connection(('{}', 7), timeout=5).recv(9).decode())"


def reaches(host: Oneshot | Booted, name: str) -> bool:
    """Whether one answer comes back within a second."""
    return host.run(["ping", "-c", "1", "-W", "1", name], check=False).returncode == 0


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it still does not hold after twenty seconds"


@pytest.fixture
def pair(make_network: Callable[..., Network], make_oneshot: Callable[..., Oneshot]) -> tuple[Oneshot, Oneshot]:
    network = make_network("one", "two")
    return make_oneshot(name="one", network=network), make_oneshot(name="two", network=network)


@pytest.mark.parametrize("name", ["two", "two.example.org", "10.77.0.2"])
def test_two_hosts_talk_by_name_and_address(pair: tuple[Oneshot, Oneshot], name: str) -> None:
    one, two = pair
    with two.popen(["python3", "-c", SAY]) as saying:
        assert saying.stdout is not None
        saying.stdout.readline()
        assert one.run(["python3", "-c", HEAR.format(name)]).stdout == "hello\n"


def test_a_cable_is_pulled_and_put_back(pair: tuple[Oneshot, Oneshot]) -> None:
    one, two = pair
    wait_until(lambda: reaches(one, "two"))
    two.unplug()
    assert not reaches(one, "two")
    assert not reaches(two, "one")
    assert two.run(["cat", "/sys/class/net/eth0/operstate"]).stdout != "up\n"
    two.plug()
    wait_until(lambda: reaches(one, "two"))


def test_nothing_leads_out(pair: tuple[Oneshot, Oneshot]) -> None:
    one, _ = pair
    assert one.run(["ip", "-4", "route"]).stdout == "10.77.0.0/24 dev eth0 proto kernel scope link src 10.77.0.1 \n"
    done = one.run(["ping", "-c", "1", "-W", "1", "192.0.2.1"], check=False)
    assert "Network is unreachable" in done.stderr


def test_the_machine_outside_has_no_part_in_it(make_network: Callable[..., Network]) -> None:
    def links() -> str:
        return subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout

    before = links()
    make_network("one")
    assert links() == before


def test_two_networks_do_not_meet(make_network: Callable[..., Network], make_oneshot: Callable[..., Oneshot]) -> None:
    here = make_oneshot(name="one", network=make_network("one", "two"))
    make_oneshot(name="two", network=make_network("one", "two"))
    assert not reaches(here, "two")


def test_what_has_no_place_on_it_does_not_start(
    make_network: Callable[..., Network], make_oneshot: Callable[..., Oneshot]
) -> None:
    network = make_network("one")
    with pytest.raises(NetworkError, match="has places for one, and none for two"):
        make_oneshot(name="two", network=network)
    make_oneshot(name="one", network=network)
    with pytest.raises(NetworkError, match="File exists"):
        make_oneshot(name="one", network=network)


def test_a_host_without_a_network_has_no_cable(oneshot: Oneshot) -> None:
    with pytest.raises(HostError, match="is on no network"):
        oneshot.unplug()
    assert oneshot.run(["ip", "-4", "route"]).stdout == ""


def test_a_cable_stays_where_its_host_reboots_or_loses_power(
    make_network: Callable[..., Network], make_booted: Callable[..., Booted], make_oneshot: Callable[..., Oneshot]
) -> None:
    network = make_network("one", "two")
    make_oneshot(name="two", network=network)
    one = make_booted(name="one", network=network, lossy=True)
    one.reboot()
    assert reaches(one, "two")
    one.cut()
    one.start()
    assert reaches(one, "two"), "and it knows the name, although nobody synced its hosts file"


def test_it_ends_with_the_process_that_made_it_however_that_ends() -> None:
    made = "import sys; from tests.harness.network import Network; made = Network('one')"
    argv = [sys.executable, "-c", f"{made}; print(made._fabric.pid, flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True
    ) as maker:
        assert maker.stdout is not None
        fabric = Process.find(int(maker.stdout.readline()))
        assert fabric is not None
        os.kill(maker.pid, signal.SIGKILL)
        wait_until(lambda: not fabric.is_alive())
