"""A private network for test hosts: one bridge in a network namespace of its own, from which nothing leads out.

The namespace lives as long as a process that waits for the end of a pipe from the test process: however that ends, the
pipe closes, the process ends, and bridge and cables go with the namespace. Each host's namespace is that of its keeper,
so its cable stays where the host reboots or loses power.
"""

import subprocess
from collections.abc import Mapping
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import frozen

from tests.harness.spec import ENVIRONMENT

SEGMENT: Final = IPv4Network("10.77.0.0/24")
DOMAIN: Final = "example.org"
_BRIDGE: Final = "segment"
_INSIDE: Final = "eth0"


class NetworkError(AssertionError):
    """The network could not be made; the text has what ip(8) said."""


class Network:
    """A segment with a place for each name; use it as a context manager.

    Every host on it knows all names, alone and in the domain `example.org`, whether the others are there or not.
    """

    def __init__(self, *names: str) -> None:
        """Make one.

        Raises:
            NetworkError: this machine lets nobody make one.
        """
        # It ends with its input.
        self._fabric = subprocess.Popen(
            ["unshare", "--net", "--", "cat"], env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._places = dict(zip(names, SEGMENT.hosts(), strict=False))
        try:
            self._await_made()
            self._ip("link", "add", _BRIDGE, "type", "bridge")
            self._ip("link", "set", _BRIDGE, "up")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take it away, with all cables; calling it again does nothing."""
        for pipe in (self._fabric.stdin, self._fabric.stdout):
            assert pipe is not None
            pipe.close()
        self._fabric.wait()

    @property
    def names(self) -> Mapping[str, str]:
        """The address of each name."""
        return {name: str(address) for name, address in self._places.items()}

    def connect(self, name: str, pid: int) -> "Cable":
        """Lay a cable into the network namespace of a process, and plug it in at the place of a name.

        Raises:
            NetworkError: there is no such place, or it is taken.
        """
        if name not in self._places:
            raise NetworkError(f"the network has places for {', '.join(self._places)}, and none for {name}")
        port = f"port-{list(self._places).index(name)}"
        self._ip("link", "add", port, "type", "veth", "peer", "name", _INSIDE, "netns", str(pid))
        self._ip("link", "set", port, "master", _BRIDGE)
        address = IPv4Interface((self._places[name], SEGMENT.prefixlen))
        _ip_of(pid, "address", "add", str(address), "dev", _INSIDE)
        _ip_of(pid, "link", "set", _INSIDE, "up")
        cable = Cable(self._fabric.pid, port)
        cable.plug()
        return cable

    def _await_made(self) -> None:
        """Wait until unshare has become the process that waits: it is in the new namespace by then."""
        assert self._fabric.stdin is not None
        assert self._fabric.stdout is not None
        self._fabric.stdin.write(b"\n")
        self._fabric.stdin.flush()
        if self._fabric.stdout.readline() != b"\n":
            raise NetworkError("no network namespace can be made here")

    def _ip(self, *words: str) -> None:
        _ip_of(self._fabric.pid, *words)


@frozen
class Cable:
    """What leads from one host to the bridge."""

    fabric: int
    port: str

    def plug(self) -> None:
        """Plug it in."""
        _ip_of(self.fabric, "link", "set", self.port, "up")

    def unplug(self) -> None:
        """Pull it: the host has no carrier, and nothing that is on its way arrives."""
        _ip_of(self.fabric, "link", "set", self.port, "down")


def hosts_file(name: str, places: Mapping[str, str]) -> str:
    """Return the hosts(5) of a host of this name, among others."""
    lines = ["127.0.0.1 localhost", f"127.0.1.1 {name}", "::1 localhost"]
    lines += [f"{address} {other}.{DOMAIN} {other}" for other, address in places.items() if other != name]
    return "".join(f"{line}\n" for line in lines)


def _ip_of(pid: int, *words: str) -> None:
    """Run ip(8) in the network namespace of a process."""
    inside = ["nsenter", f"--net={Path('/proc', str(pid), 'ns/net')}", "ip", *words]
    done = subprocess.run(
        inside, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NetworkError(f"ip {' '.join(words)}: {done.stderr.strip()}")
