"""The way to a remote over ssh: a command line that says everything, so that no configuration of ssh is read.

Effects: looks at the key and the known hosts.
"""

import shlex
from typing import Final

from datum.repository.access import Reader, check_key, check_readable
from datum.repository.remote import Address, Remote, address, ssh_path
from datum.repository.route import ASK_MEMORY, GIT_ENVIRONMENT, NO_HOME, Route, bounded

# Only the key of the configuration counts, only for this one command, and only towards a server whose key is pinned.
_OPTIONS: Final = (
    *("AddKeysToAgent=no", "BatchMode=yes", "CanonicalizeHostname=no", "CheckHostIP=no", "ClearAllForwardings=yes"),
    *("ControlMaster=no", "ControlPath=none", "EscapeChar=none", "ForwardAgent=no", "ForwardX11=no"),
    *("GlobalKnownHostsFile=/dev/null", "GSSAPIAuthentication=no", "HostbasedAuthentication=no"),
    *("IdentitiesOnly=yes", "IdentityAgent=none", "KbdInteractiveAuthentication=no", "PasswordAuthentication=no"),
    *("PermitLocalCommand=no", "PreferredAuthentications=publickey", "PubkeyAuthentication=yes", "RequestTTY=no"),
    *("ServerAliveCountMax=3", "ServerAliveInterval=15", "StrictHostKeyChecking=yes", "UpdateHostKeys=no"),
    *("VerifyHostKeyDNS=no", "VisualHostKey=no"),
)
# Tells the fingerprint of a server's key, which a refusal of an unknown one does not, and where a server has the word.
_TALKATIVE: Final = "LogLevel=DEBUG1"
# No banner of a jump host stands among the words of the connection that leads through it.
_QUIET: Final = "LogLevel=ERROR"


def ssh_route(remote: Remote, reader: Reader | None) -> Route:
    """Return the way to a remote over ssh.

    Raises:
        RepositoryUnreachableError: the key or the known hosts cannot be used.
    """
    check_key(remote.key_file, reader)
    check_readable(remote.known_hosts_file)
    to = address(remote.url)
    path = ssh_path(remote.url)
    return Route(
        remote,
        (
            *(*bounded(remote, ASK_MEMORY), *_ssh(remote), "-o", "SendEnv=GIT_PROTOCOL"),
            *(*_end(to), f"git-upload-pack {_quoted(path)}"),
        ),
        remote.url,
        {
            **GIT_ENVIRONMENT,
            "GIT_ALLOW_PROTOCOL": "ssh",
            "GIT_SSH_COMMAND": shlex.join(_ssh(remote)),
            "GIT_SSH_VARIANT": "ssh",
            "HOME": NO_HOME,
        },
    )


def _ssh(remote: Remote) -> tuple[str, ...]:
    """Return ssh and its options, all but where to."""
    direct = _direct(remote, _TALKATIVE)
    if not remote.jump:
        return direct
    # ssh's own way of jumping would hand on none of these options.
    jump = (*_direct(remote, _QUIET), *_end(address(remote.jump))[:-1])
    through = shlex.join(word.replace("%", "%%") for word in jump)
    return (*direct, "-o", f"ProxyCommand={through} -W [%h]:%p -- {address(remote.jump).host}")


def _direct(remote: Remote, level: str) -> tuple[str, ...]:
    return (
        *("ssh", "-F", "none", "-T", "-a", "-x"),
        *(word for option in (*_OPTIONS, level) for word in ("-o", option)),
        *("-o", f"IdentityFile={_option(remote.key_file)}"),
        *("-o", f"UserKnownHostsFile={_option(remote.known_hosts_file)}"),
    )


def _end(to: Address) -> tuple[str, ...]:
    user = ("-l", to.user) if to.user else ()
    return ("-p", str(to.port), *user, to.host)


def _option(path: str) -> str:
    """Return a path as the value of an option."""
    return '"' + path.replace("%", "%%") + '"'


def _quoted(path: str) -> str:
    """Return a path as git quotes it for the server's shell."""
    return "'" + path.replace("'", "'\\''").replace("!", "'\\!'") + "'"
