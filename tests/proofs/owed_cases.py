"""Two revisions of a service, what somebody does between them, and what the service has to do in the second pass.

From design 4.1 and rows 1, 2, 7-11, 13, 22 and 23 of what users of such tools complain of.
"""

from typing import Any, Final

from attrs import frozen

from tests.proofs.owed_host import CONF, MORE, UNIT_FILE, Resources, app, unit_text

START: Final = ("start one",)
_DROP_IN: Final = "unit:app.service/own"
_LISTED: Final = [f"file:{CONF}", f"file:{MORE}"]


@frozen
class Case:
    """What is declared first and then, and what the service does about the second pass."""

    # Everywhere below `app` stands for the name of the case's own unit.

    name: str
    first: Resources
    then: Resources
    # What the unit notes.
    does: tuple[str, ...]
    by_hand: str = ""
    # A script, and what it prints after the second pass.
    shows: tuple[str, str] = ("", "")
    # Only at its turn a mark can know that nothing runs which could owe anything.
    is_marked_in_vain: bool = False


def _more(text: str, listed: Resources | None = None) -> dict[str, dict[str, Any]]:
    return {**(listed or {}), f"file:{MORE}": {"content": f"{text}\n"}}  # type: ignore[dict-item]


def _by_hand(name: str, script: str, *, shows: tuple[str, str] = ("", "")) -> Case:
    return Case(name, app(), app(), (), by_hand=script, shows=shows)


def _drop_in(value: int, **about: Any) -> dict[str, dict[str, Any]]:
    return {**app(), _DROP_IN: {"content": f"[Service]\nNice={value}\n", **about}}


def _reloads(text: str = "one", **about: Any) -> dict[str, dict[str, Any]]:
    return app(text, restart_on=[], reload_on=[f"file:{CONF}"], **about)


def _both(text: str, more: str) -> dict[str, dict[str, Any]]:
    return _more(more, app(text, restart_on=[f"file:{MORE}"], reload_on=[f"file:{CONF}"]))


def _in_folder(*names: str) -> dict[str, dict[str, Any]]:
    listed = [f"file:/etc/app.d/{name}" for name in names]
    files = {name: {"content": "x\n"} for name in listed}
    return {**app(restart_on=[f"file:{CONF}", *listed]), "directory:/etc/app.d": {"mode": "0755"}, **files}


def _listing(name: str, **about: Any) -> dict[str, dict[str, Any]]:
    return {**app(restart_on=[name]), name: about}


def _built(text: str) -> dict[str, dict[str, Any]]:
    run = ["/bin/sh", "-c", f"cat {MORE} > /srv/app.built"]
    made = {"run": run, "inputs": [MORE], "outputs": ["/srv/app.built"], "requires": [f"file:{MORE}"]}
    return _more(text, _listing("command:build", **made))


def _absent(text: str) -> dict[str, dict[str, Any]]:
    return {**app(text), "service:app": {"absent": True, "allow": ["outage"]}}


_NICE: Final = "systemctl show -p Nice --value app"
_ACTIVE: Final = "systemctl is-active app"

CHANGES: Final = (
    Case("changed", app(), app("two"), ("start two",)),
    Case("changed-by-somebody", app(), app(), START, by_hand=f"echo drift > {CONF}"),
    Case("mode-by-the-fleet", app(), {**app(), f"file:{CONF}": {"content": "one\n", "mode": "0600"}}, START),
    Case("created", app(), _more("x", app(restart_on=_LISTED)), START),
    Case("merely-listed", _more("x", app()), _more("x", app(restart_on=_LISTED)), ()),
    Case(
        "two-triggers",
        _more("x", app(restart_on=_LISTED)),
        _more("y", app("two", restart_on=_LISTED)),
        ("start two",),
    ),
    Case("not-listed", _more("x", app()), _more("y", app()), ()),
    Case("dropped", _in_folder("a", "b"), _in_folder("a"), START, shows=("ls /etc/app.d", "a")),
    Case("dropped-but-kept", _more("x", app(restart_on=_LISTED)), app(), (), shows=(f"cat {MORE}", "x")),
    Case(
        "absent",
        _more("x", app(restart_on=_LISTED)),
        {**app(restart_on=_LISTED), f"file:{MORE}": {"absent": True, "allow": ["data_loss"]}},
        START,
        shows=(f"ls {MORE}", ""),
    ),
    Case("reload", _reloads(), _reloads("two"), ("reload two",)),
    Case(
        "reload-where-there-is-none",
        _reloads(unit=unit_text(reloads=False)),
        _reloads("two", unit=unit_text(reloads=False)),
        ("start two",),
    ),
    Case("reload-and-restart", _both("one", "x"), _both("two", "y"), ("start two",)),
    Case("reload-alone-of-both", _both("one", "x"), _both("two", "x"), ("reload two",)),
    Case(
        "one-file-in-both-lists",
        app(reload_on=[f"file:{CONF}"]),
        app("two", reload_on=[f"file:{CONF}"]),
        ("start two",),
    ),
    Case("link", _listing("link:/etc/app.link", target="a"), _listing("link:/etc/app.link", target="b"), START),
    Case("command", _built("x"), _built("y"), START),
    Case("start-satisfies", app(), app("two"), ("start two",), by_hand="systemctl stop app"),
    Case("restarted-by-somebody", app(), app("two"), (), by_hand=f"echo two > {CONF}; systemctl restart app"),
    Case("stale-is-no-drift", app(), app("two"), (), by_hand=f"echo two > {CONF}"),
    Case("undeclared-and-runs", app(), app("two", running=None), ("start two",)),
    Case(
        "undeclared-and-stopped",
        app(running=None),
        app("two", running=None),
        (),
        by_hand="systemctl stop app",
        shows=(_ACTIVE, "inactive"),
        is_marked_in_vain=True,
    ),
    # What shall not run any more owes nothing, though it runs when the file changes.
    Case("stopped", app(), app("two", running=False, allow=["outage"]), (), shows=(_ACTIVE, "inactive")),
    Case("service-absent", app(), _absent("two"), (), shows=(_ACTIVE, "inactive")),
)  # fmt: skip

BY_HAND: Final = (
    _by_hand("chmod", f"chmod 0600 {CONF}", shows=(f"stat -c %a {CONF}", "644")),
    _by_hand("setfacl", f"setfacl -m u:games:r {CONF}"),
    _by_hand("hard-link", f"ln {CONF} /etc/app.copy"),
    _by_hand("tar", f"tar --atime-preserve=replace -cf /dev/null -C /etc app.conf; tar -cf /srv/app.tar {CONF}"),
    _by_hand("touch", f"touch -d tomorrow {CONF}"),
    Case(
        "chown",
        {**app(), f"file:{CONF}": {"content": "one\n", "owner": "root", "group": "root"}},
        {**app(), f"file:{CONF}": {"content": "one\n", "owner": "root", "group": "root"}},
        (),
        by_hand=f"chown games:games {CONF}",
        shows=(f"stat -c %U:%G {CONF}", "root:root"),
    ),
    # The bytes are those that it read, although another file has them now.
    _by_hand("copied-back", f"cp -a {CONF} /etc/app.old; mv /etc/app.old {CONF}"),
)

UNITS: Final = (
    # What it does by hand loads every unit, so it comes first.
    Case(
        "unit-put-back",
        app(),
        app(),
        (),
        by_hand=f"cp {UNIT_FILE} /run/app.unit; sed -i 's/^ExecReload/Nice=5\\nExecReload/' {UNIT_FILE}; "
        f"systemctl daemon-reload; cp /run/app.unit {UNIT_FILE}; touch -d tomorrow {UNIT_FILE}",
    ),
    Case("unit", app(), app(unit=unit_text(more="Nice=3\n")), START, shows=(_NICE, "3")),
    Case("unit-by-somebody", app(), app(), START, by_hand=f"echo '#' >> {UNIT_FILE}"),
    Case("unit-and-file", app(), app("two", unit=unit_text(more="Nice=3\n")), ("start two",)),
    # The wanted text, but the manager has not loaded it; then: it has loaded something else.
    Case("unit-touched", app(), app(), (), by_hand=f"touch -d tomorrow {UNIT_FILE}"),
    Case("drop-in-created", app(), _drop_in(3), START, shows=(_NICE, "3")),
    Case("drop-in-changed", _drop_in(3), _drop_in(4), START, shows=(_NICE, "4")),
    Case("drop-in-dropped", _drop_in(3), app(), START, shows=(_NICE, "0")),
    Case("drop-in-reloads", _drop_in(3), _drop_in(4, on_change="reload"), ("reload one",)),
    Case(
        "drop-in-may-wait",
        _drop_in(3, on_change="nothing"),
        _drop_in(4, on_change="nothing"),
        (),
        shows=("systemctl show -p Nice --value app; systemctl show -p NeedDaemonReload --value app", "4\nno"),
    ),
    Case(
        "unit-may-wait",
        app(),
        {**app(), "unit:app.service": {"content": unit_text(more="Nice=3\n"), "on_change": "nothing"}},
        (),
    ),
    Case(
        "drop-in-of-somebody",
        app(),
        app(),
        (),
        by_hand=f"mkdir {UNIT_FILE}.d; printf '[Service]\\nNice=7\\n' > {UNIT_FILE}.d/mine.conf",
    ),
)


_PACKAGED: Final = "/usr/lib/systemd/system/app.service"
_SET_UP: Final = "systemctl daemon-reload; systemctl start app; : > /run/app.log"


def _found(name: str, *, by_hand: str = "true") -> Case:
    """Everything is there as it is wanted, but for what somebody did, when the host is seen for the first time."""
    written = f"echo one > {CONF}; cat > {UNIT_FILE} <<'END'\n{unit_text()}END\n"
    shows = (f"stat -c %a {CONF}", "644")
    return Case(f"adopted-{name}", {}, app(), (), by_hand=f"{written}{_SET_UP}; {by_hand}", shows=shows)


def _off(name: str, shown: str = "inactive", **about: Any) -> Case:
    """Something runs that shall not, and the file that it lists changes in the same pass."""
    written = f"echo one > {CONF}; cat > {_PACKAGED} <<'END'\n{unit_text()}END\n"
    service = {"restart_on": [f"file:{CONF}"], "allow": ["outage"], **about}
    then = {f"file:{CONF}": {"content": "two\n"}, "service:app": service}
    return Case(f"shall-be-{name}", {}, then, (), by_hand=f"{written}{_SET_UP}", shows=(_ACTIVE, shown))


# Of hosts that no pass has seen: `by_hand` comes before the first one, which is the only one.
FOUND: Final = (
    _found("as-wanted"),
    _found("other-mode", by_hand=f"chmod 0600 {CONF}"),
    _found("newer-files", by_hand=f"touch -d tomorrow {CONF}"),
    _found("written-after-the-start", by_hand=f"echo one > {CONF}.new; mv {CONF}.new {CONF}"),
    _off("stopped", running=False),
    _off("stopped-and-disabled", running=False, enabled=False),
    _off("masked-and-stopped", running=False, enabled="masked"),
    _off("masked", "active", enabled="masked"),
)
