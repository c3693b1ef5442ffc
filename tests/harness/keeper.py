"""The process that holds a host's disk and network, and starts its process 1 again and again.

A keeper is forked from the test process and ends, with the host and its cgroups, as soon as the
other end of its socket closes: however the test process ends, nothing stays behind. All mounts are
made in the keeper's own mount namespace, so that none is ever seen outside.

The socket carries one message each way at a time: ``start`` and ``cut`` go in; ``up PID START``,
``down STATUS`` and ``failed TEXT`` come out.
"""

import contextlib
import hashlib
import os
import select
import signal
import socket
import stat
import subprocess
import time
import warnings
from pathlib import Path
from typing import Final, NoReturn

from tests.harness.inside import become_init
from tests.harness.linux import (
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    MS_PRIVATE,
    MS_REC,
    Process,
    bring_loopback_up,
    mount,
    rejoin_own_pid_namespace,
    shut_ext4_down,
    unmount,
    unshare,
)
from tests.harness.network import hosts_file
from tests.harness.spec import ENVIRONMENT, Spec

CONSOLE: Final = "console"  # what the host's process 1 prints
LAYER: Final = "layer"  # what the harness itself adds to the image
DISK: Final = "disk"
UPPER: Final = "disk/upper"  # what the host changes
WORK: Final = "disk/work"
ROOT: Final = "root"
_EXT4: Final = "disk.ext4"


def fork_keeper(spec: Spec) -> tuple[int, socket.socket]:
    """Start a keeper; return its pid and the socket to talk to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with warnings.catch_warnings():
        # newer Pythons warn of threads; the child takes none of the locks that one could hold
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _in_child(spec, theirs)
    theirs.close()
    return pid, ours


def _in_child(spec: Spec, channel: socket.socket) -> NoReturn:
    """Run the keeper; whatever happens, this copy of the test process goes no further."""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _close_files_but(channel.fileno())
        Keeper(spec, channel).keep()
    except BaseException as error:
        with contextlib.suppress(OSError):
            channel.send(f"failed {type(error).__name__}: {error}".encode())
    finally:
        os._exit(0)


def _close_files_but(kept: int) -> None:
    """Let go of the test process's files: its pipes and locks must not outlive it in here."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd, inheritable=True)
    os.close(null)


class Keeper:
    """One host, seen from the process that owns it."""

    def __init__(self, spec: Spec, channel: socket.socket) -> None:
        self._spec = spec
        self._channel = channel
        self._init = 0  # the pid of the host's process 1; 0 while the host is off

    def keep(self) -> None:
        """Set the host's disk up, start it, and serve until the socket closes."""
        make_disk(self._spec)
        attach_disk(self._spec)
        self._start()
        try:
            while self._serve():
                pass
        finally:
            self._kill()
            if self._spec.cgroup:
                remove_cgroup(Path(self._spec.cgroup))

    def _serve(self) -> bool:
        """Wait for one event and answer it; False when the test process is gone."""
        watched = [self._channel.fileno()]
        if self._init:
            watched.append(os.pidfd_open(self._init))
        try:
            ready, _, _ = select.select(watched, [], [])
        finally:
            for fd in watched[1:]:
                os.close(fd)
        if watched[0] not in ready:
            self._buried(os.waitpid(self._init, 0)[1])
            return True
        message = self._channel.recv(64)
        if message == b"start":
            self._start()
        elif message == b"cut":
            self._cut()
            self._tell("down", "cut")
        return bool(message)

    def _buried(self, status: int) -> None:
        """Process 1 ended by itself: reboot(2) shows as SIGHUP, a power-off as SIGINT."""
        self._init = 0
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGHUP and self._spec.cgroup:
            self._start()
        else:
            self._tell("down", str(code))

    def _kill(self) -> None:
        """End every process of the host at once: they go with their pid namespace."""
        if self._init:
            os.kill(self._init, signal.SIGKILL)
            os.waitpid(self._init, 0)
            self._init = 0

    def _cut(self) -> None:
        """Pull the plug; a disk that can lose something is made ready for the next start."""
        if self._spec.lossy:
            shut_ext4_down(DISK)
        self._kill()
        if self._spec.lossy:
            unmount(ROOT)
            unmount(DISK)
            _await_detached()
            attach_disk(self._spec)

    def _start(self) -> None:
        """Start process 1, and wait until it is the host's own init or says why not."""
        if self._init:
            return
        reading, writing = os.pipe()  # closed by a successful exec, which is then its end of file
        unshare(CLONE_NEWPID)
        self._init = os.fork()
        if self._init == 0:
            self._become_init(writing)
        rejoin_own_pid_namespace()
        os.close(writing)
        with os.fdopen(reading) as pipe:
            trouble = pipe.read()
        process = Process.find(self._init)
        if trouble or process is None:
            self._kill()
            self._tell("failed", trouble or "process 1 ended at once")
        else:
            self._tell("up", f"{process.pid} {process.start}")

    def _become_init(self, writing: int) -> NoReturn:
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            console = os.open(self._spec.mount_point / CONSOLE, os.O_WRONLY | os.O_APPEND)
            os.dup2(console, 1, inheritable=True)
            os.dup2(console, 2, inheritable=True)
            become_init(self._spec, str(self._spec.mount_point / ROOT))
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(1)

    def _tell(self, word: str, text: str) -> None:
        self._channel.send(f"{word} {text}".encode())


def make_disk(spec: Spec) -> None:
    """Make a tmpfs for all of the host, in a mount and network namespace of this process's own."""
    unshare(CLONE_NEWNS | CLONE_NEWNET)
    mount("", "/", flags=MS_REC | MS_PRIVATE)
    bring_loopback_up()
    os.umask(0o022)
    limit = "" if spec.lossy else f",size={spec.size}"
    mount("datum-tests", str(spec.mount_point), "tmpfs", data=f"mode=755{limit}")
    os.chdir(spec.mount_point)
    for name in (LAYER, DISK, ROOT):
        Path(name).mkdir()
    Path(CONSOLE).touch()
    _make_layer(spec)
    if spec.lossy:
        _command("truncate", "-s", spec.size, _EXT4)
        _command("mkfs.ext4", "-q", "-m", "0", _EXT4)


def _await_detached() -> None:
    """Wait until nobody holds the disk that was shut down: to mount it before would give that one again.

    Who entered the host with nsenter still stands in its mount namespace until its command is seen to have ended.
    """
    end = time.monotonic() + 10.0
    while _command("losetup", "--associated", _EXT4):
        if time.monotonic() > end:
            raise TimeoutError("the disk is still in use ten seconds after the power cut")
        time.sleep(0.005)


def attach_disk(spec: Spec) -> None:
    """Lay the overlay out on the disk, which keeps what an earlier start left there."""
    if spec.lossy:
        _command("mount", "-o", "loop", _EXT4, DISK)
    for name in (UPPER, WORK):
        Path(name).mkdir(exist_ok=True)
    image = str(spec.image)
    for special in "\\:,":
        image = image.replace(special, "\\" + special)
    lower = f"lowerdir={LAYER}:{image}"
    # whole copies and no redirects, so that the upper folder alone tells what was changed
    plain = "redirect_dir=off,metacopy=off"
    mount("overlay", ROOT, "overlay", data=f"{lower},upperdir={UPPER},workdir={WORK},{plain}")


def _command(*argv: str) -> str:
    done = subprocess.run(argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def _make_layer(spec: Spec) -> None:
    """Make what tells this host from the image, and the places that things are bound to."""
    _make_folder(spec.image, "etc")
    Path(LAYER, "etc/hostname").write_text(f"{spec.name}\n")
    Path(LAYER, "etc/hosts").write_text(hosts_file(spec.name, spec.places))
    machine_id = hashlib.sha256(spec.name.encode()).hexdigest()[:32]
    Path(LAYER, "etc/machine-id").write_text(f"{machine_id}\n")
    for item in spec.binds:
        target = item.target.strip("/")
        if Path(item.source).is_dir():
            _make_folder(spec.image, target)
        else:
            _make_folder(spec.image, str(Path(target).parent))
            Path(LAYER, target).touch()


def _make_folder(image: Path, path: str) -> None:
    """Make a folder and its parents in the layer, each as the image has it."""
    made = Path(LAYER)
    for part in Path(path).parts:
        made /= part
        twin = image / made.relative_to(LAYER)
        mode = twin.lstat().st_mode if os.path.lexists(twin) else stat.S_IFDIR | 0o755
        if not stat.S_ISDIR(mode):
            raise OSError(f"/{path} cannot be bound to: /{made.relative_to(LAYER)} is no folder")
        if not made.exists():
            made.mkdir()
            made.chmod(stat.S_IMODE(mode))


def make_cgroup() -> Path:
    """Make the cgroup folder of one host, below the cgroup of this process; old ones are removed.

    Raises:
        OSError: there is no cgroup2 hierarchy, or this process may not write it.
    """
    parent = _own_cgroup() / "datum-tests"
    _sweep(parent)
    me = Process.find(os.getpid())
    assert me is not None
    for number in range(1000):
        made = parent / f"{me.pid}-{me.start}-{number}"
        # the parent goes with the last host, which may be another process's, at any moment
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            parent.mkdir(exist_ok=True)
            made.mkdir()
            (made / "host").mkdir()
            return made
    raise OSError(f"{parent} is full of this process's own hosts")


def _sweep(parent: Path) -> None:
    """Remove the cgroups of test processes that are gone and whose keepers were killed too."""
    with contextlib.suppress(FileNotFoundError):
        for left in parent.iterdir():
            pid, _, rest = left.name.partition("-")
            if left.is_dir() and not Process(int(pid), int(rest.partition("-")[0])).is_alive():
                remove_cgroup(left, tries=1)


def remove_cgroup(path: Path, tries: int = 1000) -> None:
    """Remove a host's cgroups; killed processes take a moment to leave them."""
    for _ in range(tries):
        for folder, _, _ in os.walk(path, topdown=False):
            with contextlib.suppress(OSError):
                Path(folder).rmdir()
        if not path.exists():
            break
        time.sleep(0.005)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def _own_cgroup() -> Path:
    """Return the folder of this process's cgroup in the cgroup2 hierarchy."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        if right.split()[0] == "cgroup2":
            for entry in Path("/proc/self/cgroup").read_text().splitlines():
                if entry.startswith("0::"):
                    return Path(left.split()[4] + entry.removeprefix("0::").rstrip("/"))
    raise OSError("no cgroup2 hierarchy is mounted")
