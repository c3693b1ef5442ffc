"""A service whose listed file a second revision changes, and a pass to it that is struck at one call of the agent.

How often the agent asks the manager differs from run to run: what has to be struck exactly is no call to the manager.
"""

import random
import subprocess
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, Self

from attrs import frozen

from tests.harness.strace import Call, own_calls, parse
from tests.proofs.owed_host import CONF, OWN, UNIT_FILE, OwedHost, Resources, app, unit_text

SEED: Final = "datum"
# Comes back by itself when it crashes, and may be started as often as the strikes want.
UNIT: Final = unit_text(more="Restart=always\nRestartSec=50ms\n[Unit]\nStartLimitIntervalSec=0\n")
LOG: Final = "/dev/shm/strace.log"
_KILLED: Final = (-9, 137)
_SECONDS: Final = 60


def declare(text: str, **about: Any) -> dict[str, dict[str, Any]]:
    """Return a revision with the unit of this module."""
    return app(text, unit=UNIT, **about)


@frozen
class Points:
    """The agent's own system calls from the mark's send to the end of the refresh, in their order."""

    calls: tuple[Call, ...]
    # Where among them the listed file comes to its place or goes, and where the manager is told to refresh.
    write: int
    refresh: int
    # The last call of its name before the mark, and the one with which the agent says that it is about to refresh.
    staged: Call
    about_to_refresh: Call

    @classmethod
    def of(cls, calls: Sequence[Call], changes: tuple[str, str]) -> Self:
        """Find them in the trace of a whole pass: the refresh ends where the closing observation looks at the file.

        `changes` is the call that changes the host, by its name and the name of the file.
        """
        own = own_calls(calls)
        mark = _first(own, 0, "SetUnitProperties")
        write = _first(own, mark, f'"{changes[1]}"', name=changes[0])
        refresh = min(_first(own, write, f"{job}\\0") for job in ("RestartUnit", "ReloadUnit") if _has(own, job))
        end = _first(own, refresh, f'"{CONF.rpartition("/")[2]}"')
        staged = [call for call in own[:mark] if call.name in {"linkat", "pwrite64"}]
        said = [call for call in own[write:refresh] if call.name == "pwrite64" and "service:app" in call.arguments]
        assert staged
        assert said
        return cls(tuple(own[mark:end]), write - mark, refresh - mark, staged[-1], said[-1])

    @property
    def phases(self) -> tuple[tuple[Call, ...], ...]:
        """Up to the write, up to the refresh, and the rest; a call that ends a phase is in it: a kill keeps it away."""
        cuts = (0, self.write + 1, self.refresh + 1, len(self.calls))
        return tuple(self.calls[begin:end] for begin, end in pairwise(cuts))

    def choose(self, each: Sequence[int]) -> list[Call]:
        """Return so many of each phase, its last call among them; the same in every run."""
        rng = random.Random(SEED)
        return [
            call
            for phase, count in zip(self.phases, each, strict=True)
            for call in (*rng.sample(phase[:-1], count - 1), phase[-1])
        ]


def _has(calls: Sequence[Call], text: str) -> bool:
    return any(f"{text}\\0" in call.arguments for call in calls)


def _first(calls: Sequence[Call], begin: int, text: str, *, name: str = "") -> int:
    found = (place for place in range(begin, len(calls)) if _matches(calls[place], text, name))
    place = next(found, None)
    assert place is not None, f"the pass never says {text}"
    return place


def _matches(call: Call, text: str, name: str) -> bool:
    # Progress is written with the names of what is done; that is no look at the file.
    return name in ("", call.name) and text in f"{call.arguments})" and "progress" not in call.arguments


@frozen
class Scene:
    """A host at its first revision, whose source has the second one; what a clean pass between them calls."""

    host: OwedHost
    # The commit of the second revision.
    head: str
    points: Points

    @classmethod
    def prepare(
        cls, host: OwedHost, first: Resources, second: Resources, changes: tuple[str, str] = ("renameat", "app.conf")
    ) -> Self:
        """Enforce the first revision, keep what that left, and trace the pass to the second one."""
        host.begin(first)
        host.declare(second)
        head = host.repository.git("rev-parse", "HEAD")
        host.sh(f"cd /; tar -cf /root/{head}.tar {OWN} etc/app* {UNIT_FILE.lstrip('/')}")
        traced = ["-f", "-y", "-s", "400"]
        done = strace(host, traced)
        assert done.returncode == 0, done.stdout + done.stderr
        return cls(host, head, Points.of(parse(host.machine.read(LOG).decode(errors="replace")), changes))

    def reset(self) -> OwedHost:
        """Put the host back to the first revision, with a service that read its content and owes nothing."""
        self.host.repository.git("reset", "--quiet", "--hard", self.head)
        self.host.sh(f"""
            systemctl stop app; rm -rf /{OWN.replace(" ", " /")} /etc/app* /etc/.app* /run/app*
            tar -C / -xf /root/{self.head}.tar; systemctl daemon-reload; systemctl start app; rm /run/app.log
        """)
        assert (self.host.markers(), self.host.shown()["ActiveState"]) == (set(), "active")
        return self.host

    def kill(self, call: Call) -> bool:
        """Make the pass, killed at one call; return whether it came to that call."""
        done = strace(self.host, inject(call, "signal=KILL"))
        assert done.returncode in {*_KILLED, 0}, done.stdout + done.stderr
        return done.returncode in _KILLED

    def fail(self, call: Call, error: str) -> "subprocess.CompletedProcess[str]":
        """Make the pass, in which one call fails without happening."""
        done = strace(self.host, inject(call, f"error={error}"))
        assert "(INJECTED)" in self.host.machine.read(LOG).decode(errors="replace")
        return done

    def stop_and_go(self, call: Call, script: str) -> int:
        """Make the pass, stopped after one call while a script runs; return how it ends."""
        argv = ["strace", "-qq", "-o", LOG, *inject(call, "signal=STOP"), "--", *self.host.fleet.argv, "apply"]
        self.host.sh(f"rm -f {LOG}")
        with self.host.machine.popen(argv, env=self.host.fleet.env) as running:
            end = time.monotonic() + _SECONDS
            while "stopped by SIGSTOP" not in self.host.sh(f"cat {LOG}"):
                assert running.poll() is None, "the pass ended before it was stopped"
                assert time.monotonic() < end, "the pass was never stopped"
                time.sleep(0.05)
            try:
                self.host.machine.run(["sh", "-ec", script])
            finally:
                self.host.sh("pkill -CONT -x python3")
            running.communicate(timeout=_SECONDS)
        return running.returncode


def inject(call: Call, fault: str, shift: int = 0) -> list[str]:
    """Return what strikes at a call, or at one that comes so many of its name later."""
    # Children are not followed: each would be struck at its own n-th call.
    return ["-e", f"trace={call.name}", "-e", f"inject={call.name}:{fault}:when={call.nth + shift}"]


def strace(host: OwedHost, options: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Make a pass under strace, which writes to `LOG`."""
    argv = ["strace", "-qq", "-o", LOG, *options, "--", *host.fleet.argv, "apply"]
    return host.machine.run(argv, env=host.fleet.env, check=False, timeout=180)
