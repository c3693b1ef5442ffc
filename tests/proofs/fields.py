"""For every field of every type: what is declared, how it is seen on a Debian, and what spoils just that."""

import json
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

Resources = Mapping[str, Mapping[str, Any]]

FILES: Final = {
    "files/bytes": b"\x00\xff\r\n$ ${host.name}",
    "templates/motd": b"{{ host.name | upper }}\n",
    "files/tree/plain": b"plain\n",
    "files/tree/sub/deep": b"deep\n",
}
PROGRAMS: Final = {"files/tree/run": "#!/bin/sh\n"}
LINKS: Final = {"files/linked/link": "plain", "files/linked/dangling": "/no/where"}
CONTRIBUTE: Final = {"lines": {"20-two": "two", "10-one": "one"}}
_NAME: Final = "@NAME@"
_AT: Final = f"/srv/{_NAME}"
_SHOW: Final = "cat AT || cat AT/out || echo none"


@frozen
class Proof:
    """One field; its resources are named after it, and what they hold lies at a path of its own."""

    resources: Resources
    # A script, and what it prints while all is as declared, in one line.
    show: str
    shown: str
    # A script after which it prints something else.
    spoil: str = ""
    # A script that runs before the first pass.
    before: str = ""

    def at(self, field: str) -> dict[str, Any]:
        """Return the resources of this proof for a field."""
        found = json.loads(text_at(json.dumps(self.resources), field))
        assert isinstance(found, dict)
        return found


def text_at(text: str, field: str) -> str:
    """Return a script, or what it prints, for the place of a field."""
    return text.replace("AT", _AT).replace(_NAME, f"proof-{field}")


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def _file(show: str, shown: str, spoil: str = "echo spoilt > AT", **attributes: Any) -> Proof:
    return Proof({f"file:{_AT}": attributes}, show, shown, spoil)


def _text(show: str, shown: str, spoil: str, **attributes: Any) -> Proof:
    return _file(show, shown, spoil, content="text\n", **attributes)


def _directory(show: str, shown: str, spoil: str, before: str = "", **attributes: Any) -> Proof:
    return Proof({f"directory:{_AT}": attributes}, show, shown, spoil, before)


def _link(show: str, shown: str, spoil: str, **attributes: Any) -> Proof:
    return Proof({f"link:{_AT}": {"target": "/no/where", **attributes}}, show, shown, spoil)


def _tree(show: str, shown: str, spoil: str, before: str = "", **attributes: Any) -> Proof:
    return Proof({f"tree:{_AT}": {"source": "files/tree", **attributes}}, show, shown, spoil, before)


def _command(script: str, shown: str, spoil: str = "rm AT", more: Resources | None = None, **about: Any) -> Proof:
    command = {"run": _sh(text(script)), **about}
    show = f"{_SHOW}; stat -c %U AT.owned" if "provides" in about else _SHOW
    return Proof({f"command:{_NAME}": command, **(more or {})}, show, shown, spoil)


def _check(script: str, more: Resources | None = None, shown: str = "text", **about: Any) -> Proof:
    guarded = {f"file:{_AT}": {"content": "text\n"}, **(more or {})}
    check = {"run": _sh(text(script)), "guards": sorted(guarded), **about}
    return Proof({**guarded, f"check:{_NAME}": check}, _SHOW, shown, "echo spoilt > AT")


def _account(kind: str, show: str, shown: str, spoil: str, **about: Any) -> Proof:
    return Proof({f"{kind}:{_NAME}": about}, show, shown, spoil)


def _user(show: str, shown: str, spoil: str, **about: Any) -> Proof:
    return _account("user", show, shown, spoil, **about)


def _passwd(number: int, shown: str, spoil: str, **about: Any) -> Proof:
    return _user(f"grep ^{_NAME}: /etc/passwd | cut -d: -f{number}", shown, f"{spoil} {_NAME}", **about)


def _shadow(number: int, shown: str, spoil: str, **about: Any) -> Proof:
    return _user(f"grep ^{_NAME}: /etc/shadow | cut -d: -f{number}", shown, f"{spoil} {_NAME}", **about)


def _key(user: str, shown: str, spoil: str, **about: Any) -> Proof:
    key = {"key": _KEY, "path": _AT, **about}
    return Proof({f"authorized_key:{user}/{_NAME}": key}, "cat AT", f"# own {shown}", spoil, "echo '# own' > AT")


# Offers packages named after a field: `deb NAME VERSION [MORE FIELDS]`, `offer` after the last of them.
_ARCHIVE: Final = r"""
mkdir -p /srv/archive; cd /srv/archive; echo 'deb [trusted=yes] copy:/srv/archive ./' > /etc/apt/sources.list
deb() {
  work=$(mktemp -d); chmod 755 $work; mkdir $work/DEBIAN
  printf 'Package: %s\nVersion: %s\nDescription: d\nMaintainer: N <n@example.org>\n' $1 $2 > $work/DEBIAN/control
  printf 'Architecture: all\n%s\n' "${3:-Section: misc}" >> $work/DEBIAN/control
  dpkg-deb --root-owner-group -Znone -b $work . > /dev/null; rm -r $work
}
offer() {
  for file in *.deb; do
    dpkg-deb -f $file; printf 'Filename: ./%s\nSize: %s\n' $file $(stat -c %s $file)
    printf 'SHA256: %s\n\n' $(sha256sum $file | cut -d' ' -f1)
  done > Packages
}
"""


def _package(show: str, shown: str, spoil: str, before: str, **about: Any) -> Proof:
    script = f"{_ARCHIVE}\n{before}\noffer"
    return Proof({f"package:{_NAME}": about}, show, shown, spoil, script)


def text(script: str) -> str:
    """Return a script that stands in a manifest."""
    return script.replace("AT", _AT)


_MADE: Final[dict[str, Any]] = {"creates": _AT}
_ON_HOSTS_NETWORK: Final = '[ "$(readlink /proc/self/ns/net)" = "$(readlink /proc/1/ns/net)" ]'
_GID: Final = f"getent group {_NAME} | cut -d: -f3"
_GROUPS: Final = f"id -Gn {_NAME} | tr ' ' '\\n' | sort"
_HASH: Final = "$6$saltsalt$" + "a" * 86
_KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIvVRUcBvbXkHdYbbhGJ9aHWkqqg5rA1cD1Zy3E9mO9q"
_FROM: Final = 'from="10.0.0.0/8,!10.1.0.0/16"'
_GREP: Final = ["/bin/grep", "-q", "^text", "{path}"]

PROVEN_FIELDS: Final[Mapping[str, Proof]] = {
    "file.content": _file("cat AT", "text", content="text\n"),
    "file.source": _file("base64 AT", "AP8NCiQgJHtob3N0Lm5hbWV9", source="files/bytes"),
    "file.template": _file("cat AT", "WEB1", template="templates/motd"),
    "file.base64": _file("base64 AT", "AP8NCg==", base64="AP8NCg=="),
    "file.parts": _file(
        "base64 AT", "YQpXRUIxCgD/DQokICR7aG9zdC5uYW1lfQ==",
        parts=[{"content": "a\n"}, {"template": "templates/motd"}, {"source": "files/bytes"}],
    ),
    "file.assemble": _file("cat AT", "one two", assemble="lines"),
    "file.seed": Proof(
        {f"file:{_AT}": {"content": "seed\n", "seed": True}, f"file:{_AT}.own": {"content": "seed\n", "seed": True}},
        "cat AT AT.own", "seed own", "rm AT", "echo own > AT.own",
    ),
    "file.mode": _text("stat -c %a AT", "4750", "chmod 0600 AT", mode="4750"),
    "file.owner": _text("stat -c %U AT", "games", "chown root AT", owner="games"),
    "file.group": _text("stat -c %G AT", "mail", "chgrp root AT", group=8),
    "file.validate": _text("cat AT", "text", "echo spoilt > AT", validate=_GREP),
    "directory.mode": _directory("stat -c %a AT", "2775", "chmod 0700 AT", mode="2775"),
    "directory.owner": _directory("stat -c %U AT", "games", "chown root AT", owner="games"),
    "directory.group": _directory("stat -c %G AT", "mail", "chgrp root AT", group=8),
    "directory.exclusive": Proof(
        {f"directory:{_AT}": {"exclusive": True}, f"file:{_AT}/own": {"content": ""}},
        "ls -A AT", "full own", "touch AT/stray", "mkdir -p AT/full; touch AT/.stray AT/full/a",
    ),
    "directory.recurse": _directory(
        "ls -A AT", "", "mkdir AT/new; touch AT/new/a", "mkdir -p AT/full; touch AT/full/a",
        exclusive=True, recurse=True,
    ),
    "directory.keep": _directory(
        "ls -A AT", "kept.x", "touch AT/stray", "mkdir AT; touch AT/kept.x AT/x.kept", exclusive=True, keep=["kept.*"],
    ),
    "directory.recursive": _directory(
        "stat -c %U:%G AT AT/sub/a", "games:root games:root", "chown root AT/sub/a", "mkdir -p AT/sub; touch AT/sub/a",
        owner="games", recursive=["owner"],
    ),
    "link.target": _link("readlink AT", "/no/where", "ln -sfn /else AT"),
    "link.owner": _link("stat -c %U AT", "games", "chown -h root AT", owner="games"),
    "link.group": _link("stat -c %G AT", "mail", "chgrp -h root AT", group=8),
    "tree.source": _tree("cd AT; find . -type f | sort; cat sub/deep", "./plain ./run ./sub/deep deep", "rm -r AT/sub"),
    "tree.mode": _tree("stat -c %a AT/plain AT/run", "604 755", "chmod 0600 AT/plain", mode="0604"),
    "tree.executable_mode": _tree("stat -c %a AT/plain AT/run", "644 711", "chmod 0600 AT/run", executable_mode="0711"),
    "tree.directory_mode": _tree("stat -c %a AT AT/sub", "751 751", "chmod 0700 AT/sub", directory_mode="0751"),
    "tree.owner": _tree("stat -c %U AT AT/sub/deep", "games games", "chown root AT/sub/deep", owner="games"),
    "tree.group": _tree("stat -c %G AT AT/sub/deep", "mail mail", "chgrp root AT/sub/deep", group=8),
    "tree.links": _tree(
        "readlink AT/link AT/dangling", "plain /no/where", "rm AT/link", source="files/linked", links="keep",
    ),
    "tree.rules": _tree(
        "stat -c %U:%a AT/plain AT/run AT/sub", "root:644 games:4755 root:700", "chown root AT/run",
        rules=[{"match": "r*", "owner": "games", "mode": "4755"}, {"match": "sub/", "mode": "0700"}],
    ),
    "tree.exclusive": _tree("ls -A AT AT/sub", "AT: plain run sub AT/sub: deep", "touch AT/sub/stray", exclusive=True),
    "tree.keep": _tree(
        "ls -A AT", "kept plain run sub", "touch AT/stray", "mkdir -p AT/kept; touch AT/kept/a AT/found",
        exclusive=True, keep=["kept"],
    ),
    "command.run": _command("echo made > AT", "made", **_MADE),
    "command.creates": _command("echo again >> AT", "again", **_MADE),
    "command.unless": _command("echo made > AT", "made", unless=_sh(f"[ -s {_AT} ]")),
    "command.only_if": _command("echo made > AT", "made", only_if=_sh(f"[ ! -s {_AT} ]")),
    "command.inputs": _command(
        "cat AT.in > AT", "input", "echo old > AT; touch -d 2001-01-01 AT",
        {f"file:{_AT}.in": {"content": "input\n"}}, inputs=[f"{_AT}.in"], outputs=[_AT],
    ),
    "command.outputs": _command(
        "cat AT.in | tee AT AT.too", "input", "rm AT.too AT",
        {f"file:{_AT}.in": {"content": "input\n"}}, inputs=[f"{_AT}.in"], outputs=[_AT, f"{_AT}.too"],
    ),
    "command.user": _command(
        "id -un > AT/out", "games", "rm AT/out", {f"directory:{_AT}": {"owner": "games"}},
        creates=f"{_AT}/out", user="games", requires=[f"directory:{_AT}"],
    ),
    "command.directory": _command("pwd > AT", "/usr/share", directory="/usr/share", **_MADE),
    "command.environment": _command("echo $A > AT", "one two", environment={"A": "one two"}, **_MADE),
    "command.stdin": _command("cat > AT", "read", stdin="read\n", **_MADE),
    "command.timeout": _command("sleep 0.2; echo made > AT", "made", timeout=30, **_MADE),
    "command.provides": _command(
        "useradd made-here && echo made > AT", "made made-here", "chown root AT.owned",
        {f"file:{_AT}.owned": {"content": "", "owner": "made-here", "requires": [f"command:{_NAME}"]}},
        provides=["user:made-here"], **_MADE,
    ),
    "check.run": _check("grep -qx text AT"),
    "check.guards": _check("grep -qx text AT && [ -h AT.link ]", {f"link:{_AT}.link": {"target": "/no/where"}}),
    "check.environment": _check('[ "$A" = "one two" ]', environment={"A": "one two"}),
    "check.timeout": _check("sleep 0.2", timeout=30),
    "check.network": _check(_ON_HOSTS_NETWORK, network=True),
    "user.uid": _passwd(3, "4001", "usermod -u 9001", uid=4001),
    "user.group": _user(f"id -gn {_NAME}", "games", f"usermod -g mail {_NAME}", group="games"),
    "user.groups": _user(_GROUPS, f"games mail {_NAME}", f"gpasswd -d {_NAME} games", groups=["games", "mail"]),
    "user.groups_mode": _user(
        _GROUPS, f"games {_NAME}", f"usermod -aG mail {_NAME}", groups=["games"], groups_mode="exact",
    ),
    "user.comment": _passwd(5, "Ünd, more", "usermod -c other", comment="Ünd, more"),
    "user.home": _passwd(6, _AT, "usermod -d /srv/other", home=_AT),
    "user.shell": _passwd(7, "/bin/bash", "usermod -s /bin/dash", shell="/bin/bash"),
    "user.password": _shadow(2, _HASH, "usermod -p '*'", password=_HASH),
    "user.locked": _shadow(2, f"!{_HASH}", "usermod -U", password=_HASH, locked=True),
    "user.expires": _shadow(8, "22644", "usermod -e ''", expires="2031-12-31"),
    "user.min_days": _shadow(4, "3", "chage -m 0", min_days=3),
    "user.max_days": _shadow(5, "90", "chage -M 9", max_days=90),
    "user.warn_days": _shadow(6, "5", "chage -W 9", warn_days=5),
    "user.inactive_days": _shadow(7, "10", "chage -I -1", inactive_days=10),
    "user.system": _user(f"[ $(id -u {_NAME}) -lt 1000 ] && echo small", "small", f"userdel {_NAME}", system=True),
    "user.create_home": _user(f"stat -c %U /home/{_NAME}", _NAME, f"userdel -r {_NAME}", create_home=True),
    "group.gid": _account("group", _GID, "4100", f"groupmod -g 9101 {_NAME}", gid=4100),
    "group.members": _account(
        "group", f"getent group {_NAME} | cut -d: -f4", "games,mail", f"gpasswd -d games {_NAME}",
        members=["mail", "games"],
    ),
    "group.system": _account(
        "group", f"[ $({_GID}) -lt 1000 ] && echo small", "small", f"groupdel {_NAME}", system=True,
    ),
    "authorized_key.key": _key("games", _KEY, "echo '# own' > AT"),
    "authorized_key.options": _key(
        "mail", f"{_FROM},no-pty {_KEY}", "sed -i s/^from.*no-pty.// AT", options=[_FROM, "no-pty"],
    ),
    "authorized_key.comment": _key("news", f"{_KEY} me", "sed -i s/me$/you/ AT", comment="me"),
    "authorized_key.exclusive": Proof(
        {
            f"authorized_key:man/{_NAME}": {"key": _KEY, "path": _AT},
            "authorized_key:man": {"exclusive": True, "path": _AT},
        },
        "cat AT", f"# own {_KEY}", f"echo '{_KEY[:-4]}AAAA any' >> AT", "echo '# own' > AT",
    ),
    "authorized_key.path": _key("lp", _KEY, "echo '# own' > AT"),
    "package.version": _package(
        f"dpkg-query -W -f '${{Version}}' {_NAME}", "1.2-1", f"apt-get -y --allow-downgrades install {_NAME}=1.0-1",
        f"deb {_NAME} 1.0-1; deb {_NAME} 1.2-1; deb {_NAME} 2.0-1", version=">=1.1, <2~",
    ),
    "package.hold": _package(
        f"apt-mark showhold {_NAME}", _NAME, f"apt-mark unhold {_NAME}", f"deb {_NAME} 1.0-1", hold=True,
    ),
    "package.manual": _package(
        f"apt-mark showauto {_NAME}", _NAME, f"apt-mark manual {_NAME}", f"deb {_NAME} 1.0-1", manual=False,
    ),
    "package.recommends": _package(
        f"dpkg-query -W -f '${{db:Status-Abbrev}}' {_NAME}-more", "ii", f"apt-get -y purge {_NAME} {_NAME}-more",
        f"deb {_NAME} 1.0-1 'Recommends: {_NAME}-more'; deb {_NAME}-more 1.0-1", recommends=True,
    ),
    "package.purge": _package(
        f"dpkg-query -W -f '${{db:Status-Abbrev}}' {_NAME} | grep ii || echo none", "none",
        f"dpkg -i /srv/archive/{_NAME}_1.0-1_all.deb",
        f"deb {_NAME} 1.0-1; dpkg -i {_NAME}_1.0-1_all.deb", purge=True, allow=["data_loss"],
    ),
}  # fmt: skip

# The same fields where they make a pass fail.
FAILING_FIELDS: Final[Mapping[str, Proof]] = {
    "file.validate": _text(_SHOW, "none", "", validate=["/bin/grep", "-q", "^other", "{path}"]),
    "command.run": _command("exit 3", "none", **_MADE),
    "command.timeout": _command("sleep 60; echo made > AT", "none", timeout=0.3, **_MADE),
    "check.run": _check("! grep -qx text AT", shown="none"),
    "check.guards": _check("[ ! -h AT.link ]", {f"link:{_AT}.link": {"target": "/no/where"}}, "none"),
    "check.timeout": _check("sleep 60", shown="none", timeout=0.3),
}
