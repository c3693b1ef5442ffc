"""What the service manager is told to do: `ManagerWriter` of the running system. Effects: jobs, marks, unit files.

A job is heard of by its path: who asks is listening before it is there. The manager may execute itself anew while a job
runs: jobs go on, the connection does not. Then it is looked for on another one, and where it is gone by then, how it
ended is read off the unit.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from attrs import define

from datum.host.dbus import MANAGER, MANAGER_PATH, PROPERTIES, Call, Conversation, Refusal, Signal
from datum.host.jobs import DONE, job_failed, manager_refused
from datum.host.manager import SERVICE, UNIT, LocalManagerReader, converse, unit_path
from datum.host.unit_names import name_fault
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError
from datum.provider.manager import NEEDS_RELOAD, NEEDS_RESTART

_MARKS: Final = (NEEDS_RELOAD, NEEDS_RESTART)
# As systemctl(1) has it: a job takes the place of another one that contradicts it.
_MODE: Final = "replace"
# Seconds: reading all unit files again, on a host with many.
_RELOAD: Final = 300.0
# Seconds: how long a job is waited for before its manager is asked whether it is still there. A deadline ends the wait.
_PATIENCE: Final = 30.0
_UP: Final = frozenset({"active", "reloading"})


class LocalManagerWriter(LocalManagerReader):
    """The service manager, to be told."""

    def start(self, name: str) -> None:
        """Start a unit and wait for the job.

        Raises:
            HostError: `job-failed` with the job's result; `manager-refused`: there is no such unit, it is masked, its
                file is wrong.
        """
        self._job("start", "StartUnit", name)

    def stop(self, name: str) -> None:
        """Stop a unit and wait for the job. Errors as `start`."""
        self._job("stop", "StopUnit", name)

    def restart(self, name: str) -> None:
        """Restart a unit, or start it where it is not active, and wait for the job. Errors as `start`."""
        self._job("restart", "RestartUnit", name)

    def start_socket(self, name: str, services: Sequence[str], *, restart: bool) -> Mapping[str, HostError]:
        """Start a socket, or restart it, and restart the services around it that run; return what failed, by unit.

        Raises:
            HostError: `manager-unreachable`, `job-unfinished`; and what `start` raises for a name that is none.
        """
        verb = "restart" if restart else "start"
        # The services first: where the manager did one before it knew of the socket, that is refused, and no harm done.
        asked = [("restart", "TryRestartUnit", each) for each in services]
        asked.append((verb, f"{verb.capitalize()}Unit", name))
        jobs = [_job(*each) for each in asked]
        _run(jobs)
        return {job.name: failure for job in jobs if (failure := _failure_of(job)) is not None}

    def reload(self, name: str) -> None:
        """Reload a unit and wait for the job. Errors as `start`; `job-failed` with `invalid`: it is not active."""
        self._job("reload", "ReloadUnit", name)

    def reset_failed(self, name: str) -> None:
        """Forget that a unit failed, and how often it was started.

        Raises:
            HostError: `manager-refused`.
        """
        self._do(f"reset {name}", to_manager("ResetFailedUnit", "s", name))

    def mark(self, name: str, marks: Collection[str]) -> None:
        """Make these the marks of a unit; it keeps none while it is inactive.

        Raises:
            HostError: `manager-refused`: no such mark, or no marks at all (systemd before 248).
        """
        # one by one, since a set without a sign and without a member changes nothing
        signed = [f"{'+' if each in marks else '-'}{each}" for each in _MARKS]
        signed += [f"+{each}" for each in sorted(set(marks).difference(_MARKS))]
        properties = [("Markers", ("as", signed))]
        self._do(f"mark {name}", to_manager("SetUnitProperties", "sba(sv)", name, True, properties))  # noqa: FBT003

    def enable(self, names: Sequence[str]) -> None:
        """Enable unit files for good, as systemctl(1) does.

        Raises:
            HostError: `manager-refused`.
        """
        self._files("enable", "EnableUnitFiles", names, "asbb", (False, False))

    def disable(self, names: Sequence[str]) -> None:
        """Disable unit files, likewise. Errors as `enable`."""
        self._files("disable", "DisableUnitFiles", names, "asb", (False,))

    def mask(self, names: Sequence[str]) -> None:
        """Mask unit files for good, likewise. Errors as `enable`."""
        self._files("mask", "MaskUnitFiles", names, "asbb", (False, False))

    def unmask(self, names: Sequence[str]) -> None:
        """Unmask unit files, likewise. Errors as `enable`."""
        self._files("unmask", "UnmaskUnitFiles", names, "asb", (False,))

    def daemon_reload(self) -> None:
        """Have the manager read all unit files again, and wait for it.

        Raises:
            HostError: `manager-refused`; it did not end in five minutes.
        """
        self._do("read its unit files again", to_manager("Reload"), seconds=_RELOAD)

    def _files(self, verb: str, member: str, names: Sequence[str], signature: str, options: tuple[bool, ...]) -> None:
        self._do(f"{verb} {', '.join(names)}", to_manager(member, signature, list(names), *options))

    def _do(self, doing: str, call: Call, *, seconds: float = 60.0) -> None:
        """Make a call that may be made twice."""
        answer = converse(lambda conversation: conversation.ask([call], seconds=seconds)[0])
        if isinstance(answer, Refusal):
            raise _refused(doing, answer)

    def _job(self, verb: str, member: str, name: str) -> None:
        job = _job(verb, member, name)
        _run([job])
        if (failure := _failure_of(job)) is not None:
            raise failure


@define
class Job:
    """One job, from the call to its result."""

    # `start`, `stop`, `restart` or `reload`.
    verb: str
    # The unit.
    name: str
    # What makes the job.
    call: Call
    # Of the job, once it is there.
    path: str = ""
    # In the manager's word, once it ended.
    result: str = ""
    refusal: Refusal | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be heard of it."""
        return bool(self.result) or self.refusal is not None


def run_job(verb: str, name: str, call: Call) -> str:
    """Make a job, and return its result in the manager's word.

    Args:
        verb: `start`, `stop`, `restart` or `reload`.
        name: the unit.
        call: what makes the job.

    Raises:
        HostError: `manager-refused`, `manager-unreachable`.
    """
    job = Job(verb, name, call)
    converse(_Waiting([job]).talk)
    if job.refusal is not None:
        raise _refused(f"{verb} {name}", job.refusal)
    return job.result


class _Waiting:
    """Jobs that are made at once, and waited for."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs: Final = jobs
        self._was_asked = False
        # Results of all jobs that were heard of, by path.
        self._heard: dict[str, str] = {}

    def talk(self, conversation: Conversation) -> None:
        """See all of them to their ends; to be called again where the connection is lost."""
        conversation.ask([to_manager("Subscribe"), *_hearing(conversation)])
        is_new = not self._was_asked
        if is_new:
            self._make(conversation)
        for job in self._jobs:
            if not job.is_over and not job.path:
                # whether the manager took the call is not known; asked once more it may restart twice
                (found,) = conversation.ask([_get(unit_path(job.name), UNIT, "Job")])
                job.path = "" if isinstance(found, Refusal) or not found[0][1][0] else found[0][1][1]
            if not job.is_over:
                job.result = self._wait(conversation, job, is_new=is_new) if job.path else _read_off(conversation, job)

    def _make(self, conversation: Conversation) -> None:
        self._was_asked = True
        answers = conversation.ask([job.call for job in self._jobs])
        for job, answer in zip(self._jobs, answers, strict=True):
            if isinstance(answer, Refusal):
                job.refusal = answer
            else:
                job.path = answer[0]

    def _wait(self, conversation: Conversation, job: Job, *, is_new: bool) -> str:
        """Wait for a job; look for it first where it may have ended unheard."""
        is_known = is_new
        while True:
            if not is_known and not _is_there(conversation, job):
                self._listen(conversation)
                return self._heard.get(job.path) or _read_off(conversation, job)
            self._listen(conversation)
            if job.path in self._heard:
                return self._heard[job.path]
            is_known = self._hear(conversation.next_signal(seconds=_PATIENCE))

    def _listen(self, conversation: Conversation) -> None:
        """Take what was told while something was asked."""
        while conversation.signals:
            self._hear(conversation.signals.popleft())

    def _hear(self, signal: Signal | None) -> bool:
        if signal is not None and signal.member == "JobRemoved":
            self._heard[signal.arguments[1]] = str(signal.arguments[3])
        return signal is not None


def _is_there(conversation: Conversation, job: Job) -> bool:
    (answer,) = conversation.ask([_get(job.path, "org.freedesktop.systemd1.Job", "State")])
    return not isinstance(answer, Refusal)


def _read_off(conversation: Conversation, job: Job) -> str:
    """Return how a job that nobody heard of must have ended, by the unit."""
    path = unit_path(job.name)
    calls = [_get(path, UNIT, "ActiveState")]
    calls += [_get(path, SERVICE, each) for each in ("Result", "ReloadResult")]
    active, result, reload_result = (
        "" if isinstance(answer, Refusal) else answer[0][1] for answer in conversation.ask(calls)
    )
    if job.verb == "stop":
        is_done = active not in _UP
    elif job.verb == "reload":
        is_done = active in _UP and reload_result in {"", "success"}
    else:
        # one that ends by itself is not active when it has done its work
        is_done = active in _UP or (active == "inactive" and result == "success")
    return DONE if is_done else "failed"


def _job(verb: str, member: str, name: str) -> Job:
    fault = name_fault(name)
    if fault:
        raise manager_refused(f"{verb} {name}", fault)
    return Job(verb, name, to_manager(member, "ss", name, _MODE))


def _run(jobs: Sequence[Job]) -> None:
    """Make jobs at once and wait for all of them; the last one is what it is about."""
    try:
        converse(_Waiting(jobs).talk)
    except HostError as error:
        if error.failure is not FailureCause.DEADLINE:
            raise
        raise _unfinished(jobs[-1], error) from error


def _failure_of(job: Job) -> HostError | None:
    if job.refusal is not None:
        return _refused(f"{job.verb} {job.name}", job.refusal)
    return job_failed(job.verb, job.name, job.result, unit_result=_result_of(job.name)) if job.result != DONE else None


def to_manager(member: str, signature: str = "", *arguments: Any) -> Call:
    """Return a call of the manager itself."""
    return Call(MANAGER_PATH, MANAGER, member, signature, arguments)


def _result_of(name: str) -> str:
    """Return why a unit failed, in the manager's word; empty where it does not say."""
    call = _get(unit_path(name), SERVICE, "Result")
    try:
        answer = converse(lambda conversation: conversation.ask([call])[0])
    except HostError:
        return ""
    return "" if isinstance(answer, Refusal) else str(answer[0][1])


def _get(path: str, interface: str, name: str) -> Call:
    return Call(path, PROPERTIES, "Get", "ss", (interface, name))


def _hearing(conversation: Conversation) -> list[Call]:
    """Return what makes a bus pass the manager's signals on; its own socket does so anyway."""
    if not conversation.is_bus:
        return []
    rule = f"type='signal',sender='org.freedesktop.systemd1',interface='{MANAGER}',member='JobRemoved'"
    return [Call("/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", (rule,))]


def _refused(doing: str, refusal: Refusal) -> HostError:
    is_denied = refusal.name.endswith((".AccessDenied", ".InteractiveAuthorizationRequired"))
    return manager_refused(doing, refusal.text, hint="run datum as root" if is_denied else "")


def _unfinished(job: Job, error: HostError) -> HostError:
    """Return the failure of a job that goes on when its time is over."""
    return HostError(
        f"The job to {job.verb} {job.name} had not ended in time, and goes on. {error.detail}",
        code="job-unfinished",
        summary="A job of the service manager did not end in time.",
        cause=Cause.DEADLINE,
        failure=FailureCause.DEADLINE,
        hint=f"see `systemctl status {job.name}` for what it waits for; the next pass looks again",
    )
