"""`datum init` from the command line: what was not said is asked for, the first plan is shown, then the timer runs.

Knows nothing of Typer. Nothing is asked where stdin or stderr is no terminal.
"""

import grp
from contextlib import suppress
from typing import Final

from attrs import evolve, frozen

from datum.agent import keys, units
from datum.agent.accounts import make_source_account
from datum.agent.commands import PlanMade, plan
from datum.agent.config_file import is_commit
from datum.agent.configuration import Told, write_configuration
from datum.agent.enrol import Enrolment, Intent, Seen, enrol, look, names, prepare, still_enrolled
from datum.agent.hints import whereabouts
from datum.agent.one_pass import Request
from datum.agent.places import absolute, below, from_here
from datum.agent.ports import Ports
from datum.agent.remotes import Said
from datum.agent.resolver.identity import RESOLVER_ACCOUNT
from datum.agent.settings import Options, config_said, root_of, settings_from
from datum.agent.wiring import require_root, source_account
from datum.cli import asking
from datum.cli.declined import declined, no_anchor, no_use_of_key
from datum.cli.effects import machine_name, own_command, pass_ports
from datum.cli.views import enrolment as view
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, HostNotInFleetError, RevisionNotFoundError, UsageError
from datum.model.identity import HostName
from datum.provider.host import ProgramRunner
from datum.repository.access import check_key, check_readable
from datum.repository.account import SourceAccount
from datum.repository.remote import Remote, Transport, full_names, normal_remote
from datum.repository.transport import ask_remote

_NAME: Final = "Name of this host in the fleet"
_MAKE_KEY: Final = f"No --key-file was said. Make a key at {keys.KEY_FILE}?"
_MAIN: Final = "main"
# For a path on this host.
_SECONDS: Final = 30.0


@frozen
class Wish:
    """What the command line asks `init` for."""

    told: Told
    options: Options
    rename: str = ""
    wait: float | None = None
    has_timer: bool = True
    has_account: bool = True
    has_plan: bool = True
    makes_key: bool = False
    trusts_on_first_use: bool = False
    is_json: bool = False


def run_init(wish: Wish) -> int:
    """Enrol this host and return the exit code.

    Raises:
        DatumError: it is not enrolled; or it is, and the timer could not be enabled.
    """
    with pass_ports(wish.options) as ports:
        Enrolling(wish, ports).run()
    return 0


class Enrolling:
    """One `init`; `run` is called once."""

    def __init__(self, wish: Wish, ports: Ports) -> None:
        self._wish = wish
        self._ports = ports
        self._told = wish.told
        self._root = root_of(wish.options)
        self._is_terminal = asking.is_terminal()
        # Whether the person answers questions: then everything that is not said is asked for.
        self._is_asked = False
        self._is_host_asked = False
        self._remarks: list[str] = []

    def run(self) -> None:
        """Ask, check, enrol, show the first plan, enable the timer."""
        wish = self._wish
        self._refuse_trust_without_terminal()
        self._check_files()
        self._ask_missing()
        self._get_keys()
        intent = self._prepared()
        has_timer = wish.has_timer and intent.settings.is_running_system
        if has_timer:
            # Before anything is written: it says so where no timer can run.
            units.require_switchable(intent.settings, self._ports.run, executable=own_command())
        self._make_account(intent)
        intent = self._trust(self._ask_ref(intent))
        done = enrol(intent, self._ports, wait=wish.wait)
        if wish.rename and not done.is_new:
            self._remarks.append(f"nothing was renamed: the pointer is of {done.settings.host} already")
        made, problems = self._first_plan(intent, done)
        warnings = self._make_account_of_resolver()
        host_key = keys.host_key(below(self._root, keys.HOST_KEY))
        shown = view.Shown(done, made, problems, host_key, tuple(self._remarks), warnings)
        if not wish.is_json:
            view.show_enrolment(shown)
        if intent.settings.is_running_system and not wish.has_timer and not wish.is_json:
            view.tell_timers(units.timers_on(done.settings, self._ports.run))
        timer = self._start_timer(done) if has_timer and self._may_run_passes() else None
        view.finish(shown, timer, has_timer=has_timer, is_json=wish.is_json)

    def _refuse_trust_without_terminal(self) -> None:
        if self._wish.trusts_on_first_use and not self._is_terminal:
            raise UsageError(
                Diagnostic(
                    code="trust-needs-a-terminal",
                    summary="Trust on first use is for people.",
                    detail="--trust-on-first-use shows what the source names and asks, and stdin is no terminal.",
                    hint="--anchor $(git rev-parse main), run in a clone that you trust",
                )
            )

    # --- what was not said

    def _ask_missing(self) -> None:
        said = config_said(self._wish.options)
        has_repo = self._told.repos or any(key == "repo" or key.startswith("source.remotes") for key in said.values)
        has_host = self._told.host or said.text("host")
        if (has_repo and has_host) or not self._is_terminal:
            return
        require_root(self._root)
        self._is_asked = True
        if not has_repo:
            repo = asking.ask("Fleet repository (https://…, ssh://…, or a path on this host)", self._check_repo)
            self._told = evolve(self._told, repos=(repo,))
        if not has_host:
            self._is_host_asked = True
            host = asking.ask(_NAME, HostName, suggestion=machine_name())
            self._told = evolve(self._told, host=host)

    def _check_files(self) -> None:
        """Look at the files that were named before the first question: who answers must not do so in vain.

        Raises:
            RepositoryUnreachableError: one cannot be read.
        """
        paths = [path for key, path in self._told.access.items() if key.endswith("_file")]
        if self._is_terminal and paths:
            require_root(self._root)
            for path in paths:
                check_readable(str(below(self._root, path)))

    def _check_repo(self, text: str) -> None:
        """Refuse what is no remote, and a path where no repository is; a server cannot be asked before its keys."""
        remote = Remote(normal_remote(from_here(text)))
        if remote.transport is Transport.FILE:
            with suppress(RevisionNotFoundError):
                ask_remote(self._ports.run, remote, _MAIN, timeout=_SECONDS)

    def _ask_ref(self, intent: Intent) -> Intent:
        """Return the intent with the ref that a person named, and the source has."""
        if not self._is_asked or self._told.ref or config_said(self._wish.options).text("ref"):
            return intent
        with suppress(RevisionNotFoundError):
            # A source that cannot be asked ends it here: no answer would be the right one.
            names(intent, self._ports)
        ref = asking.ask("Branch or tag to follow", self._check_ref, suggestion=_MAIN)
        self._told = evolve(self._told, ref=ref)
        return self._prepared()

    def _check_ref(self, ref: str) -> None:
        full_names(ref)
        names(prepare(evolve(self._told, ref=ref), self._wish.options, rename=self._wish.rename), self._ports)

    def _prepared(self) -> Intent:
        return prepare(self._told, self._wish.options, rename=self._wish.rename)

    def _get_keys(self) -> None:
        """Get a deploy key and the keys of the server where a remote of ssh needs them and nothing says them."""
        url = next((repo for repo in self._told.repos if repo.startswith("ssh://")), "")
        access = self._told.access
        is_written = bool(config_said(self._wish.options).values)
        if self._wish.makes_key and not url and not is_written:
            raise no_use_of_key()
        if not url or is_written:
            return
        url = normal_remote(url)
        if not access.get("key_file"):
            if self._wish.makes_key or (self._is_terminal and asking.confirm(_MAKE_KEY)):
                self._make_key(url)
            elif self._is_terminal:
                self._name_key(url)
        if not self._told.access.get("known_hosts_file") and not access.get("jump") and self._is_terminal:
            self._pin_server(url)

    def _name_key(self, url: str) -> None:
        require_root(self._root)
        account = self._account_for(url)
        path = asking.ask(
            "File of the private key, as this host has it",
            lambda text: check_key(str(below(self._root, self._path(text))), account),
        )
        self._told = evolve(self._told, access={**self._told.access, "key_file": self._path(path)})

    def _path(self, text: str) -> str:
        if self._root != "/" and not text.startswith("/"):
            raise ValueError(f"'{text}' does not begin with /: paths are as {self._root} has them")
        return str(absolute(text))

    def _make_key(self, url: str) -> None:
        require_root(self._root)
        group = self._account_of_source()
        host = self._told.host or "host"
        place = below(self._root, keys.KEY_FILE)
        made = keys.make_key(place, self._ports.run, comment=f"datum@{host}", group=group)
        self._told = evolve(self._told, access={**self._told.access, "key_file": keys.KEY_FILE})
        if self._is_terminal:
            asking.say(view.deploy_key(made.public, url))
            if made.is_new:
                asking.ask("Enter when it is registered", str, may_be_empty=True)
        elif made.is_new:
            where = whereabouts(root=self._root, config=self._wish.options.config, state_dir=None)
            raise UsageError(
                Diagnostic(
                    code="deploy-key-made",
                    summary="A deploy key was made; the host is not enrolled yet.",
                    detail=f"{url} does not know it yet: {made.public}",
                    hint=f"register it there with the right to read, and run datum init again{where and f' ({where})'}",
                )
            )

    def _pin_server(self, url: str) -> None:
        require_root(self._root)
        place = below(self._root, keys.KNOWN_HOSTS)
        if not place.exists():
            self._account_of_source()
            found = keys.scan(url, self._source_run(url))
            asking.say(view.server_keys(found))
            if not asking.confirm("Are these the keys of that server?"):
                raise declined(f"The keys of {found.server.host} were not confirmed.", "--known-hosts-file FILE")
            write_configuration(place, found.lines)
        self._told = evolve(self._told, access={**self._told.access, "known_hosts_file": keys.KNOWN_HOSTS})

    def _source_run(self, url: str) -> ProgramRunner:
        """Return the door for programs that talk to a server before there is a configuration; secrets are hidden."""
        account = self._account_for(url)
        return account.run if account else self._ports.run

    def _account_for(self, url: str) -> SourceAccount | None:
        bare = evolve(self._wish.options, repo="/", host="unknown")
        paths = {key: str(below(self._root, path)) for key, path in self._told.access.items() if key.endswith("_file")}
        return source_account(evolve(settings_from(Said(), bare), remotes=(Remote(url, **paths),)))

    # --- account and trust

    def _make_account(self, intent: Intent) -> None:
        if intent.is_remote:
            self._account_of_source(intent.settings.source_account)

    def _make_account_of_resolver(self) -> tuple[Diagnostic, ...]:
        """Make the account under which the next command reads revisions; without it they are read as nobody's account.

        What this command reads them by has begun without it, so it is made when that has done its work.
        """
        if self._root != "/" or not self._wish.has_account:
            return ()
        try:
            is_made = make_source_account(self._ports.run, RESOLVER_ACCOUNT)
        except DatumError as error:
            return error.diagnostics
        if is_made:
            self._remarks.append(f"made the account {RESOLVER_ACCOUNT}, under which revisions are read")
        return ()

    def _account_of_source(self, name: str = "") -> int | None:
        """Make the account under which servers are talked to; return its group, None where there is none."""
        if self._root != "/" or not self._wish.has_account:
            return None
        is_made = make_source_account(self._ports.run, name) if name else make_source_account(self._ports.run)
        if is_made:
            self._remarks.append(f"made the account {name or 'datum-source'}, under which servers are talked to")
        with suppress(KeyError):
            return grp.getgrnam(name or "datum-source").gr_gid
        return None

    def _trust(self, intent: Intent) -> Intent:
        """Return the intent with what this host may trust, confirmed by a person where nobody said it."""
        wish = self._wish
        if not intent.needs_trust or not (intent.is_remote or self._is_asked or wish.trusts_on_first_use):
            return self._with_known_name(intent)
        if not self._is_terminal:
            raise no_anchor(intent)
        if not wish.trusts_on_first_use:
            anchor = asking.ask(
                "Anchor: the whole id of a commit that you trust (nothing: look at what the source names now)",
                _check_anchor,
                may_be_empty=True,
            )
            if anchor:
                self._told = evolve(self._told, anchor=anchor)
                return self._with_known_name(self._prepared())
        intent, seen = self._look(intent)
        asking.say(view.evidence(seen, intent))
        if not asking.confirm("Trust this commit as the anchor of this host?"):
            raise declined(f"{seen.revision} is not trusted.", "--anchor COMMIT")
        return intent.trusting(seen.revision)

    def _with_known_name(self, intent: Intent) -> Intent:
        """Return the intent with a name that the fleet has, where a person typed it."""
        return self._look(intent)[0] if self._is_host_asked else intent

    def _look(self, intent: Intent) -> tuple[Intent, Seen]:
        """Look at what the source names; a typed name that the fleet does not have is asked for again."""
        while True:
            try:
                return intent, look(intent, self._ports)
            except HostNotInFleetError as error:
                if not self._is_host_asked:
                    raise
                asking.complain(error)
                self._told = evolve(self._told, host=asking.ask(_NAME, HostName))
                intent = self._prepared()

    # --- plan and timer

    def _first_plan(self, intent: Intent, done: Enrolment) -> tuple[PlanMade | None, tuple[Diagnostic, ...]]:
        """Return the plan of the first pass; it leaves no trace, and one that fails does not undo the enrolment."""
        if not self._wish.has_plan:
            return None, ()
        try:
            made = plan(intent.options, Request(), self._ports, settings=done.settings)
        except DatumError as error:
            return None, error.diagnostics
        finally:
            asking.clear_line()
        return made, ()

    def _may_run_passes(self) -> bool:
        """Ask whether passes shall run by themselves, now that the plan was seen."""
        if not self._is_asked:
            return True
        try:
            return asking.confirm("Let the timer run passes from now on? The first one does this plan.")
        except UsageError:
            return False

    def _start_timer(self, done: Enrolment) -> units.TimerSwitch:
        with still_enrolled(done.settings, wait=self._wish.wait):
            return self._switch_on(done)

    def _switch_on(self, done: Enrolment) -> units.TimerSwitch:
        units.install_units(done.settings, self._ports.run, executable=own_command())
        return units.enable_timer(done.settings, self._ports.run)


def _check_anchor(text: str) -> None:
    if wrong := is_commit(text):
        raise ValueError(wrong)
