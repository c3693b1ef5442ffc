"""Hosts with so many packages, services and accounts, and what declares all of it as it is."""

from typing import Any, Final

from attrs import frozen

STATUS: Final = "/var/lib/dpkg/status"


@frozen
class Size:
    """How much of each there is."""

    packages: int
    services: int
    accounts: int

    def resources(self) -> dict[str, dict[str, Any]]:
        """Return what declares all of it."""
        found: dict[str, dict[str, Any]] = {
            f"package:p{number}": {"version": "1.0-1"} for number in range(self.packages)
        }
        found |= {f"service:s{number}": {"running": True, "enabled": True} for number in range(self.services)}
        found |= {f"user:u{number}": {"shell": "/bin/sh", "groups": ["games"]} for number in range(self.accounts)}
        found |= {f"group:u{number}": {"gid": 3000 + number} for number in range(self.accounts)}
        return found

    def make(self) -> str:
        """Return a script that makes a host have all of it."""
        return f"""
        for one in $(seq 0 {self.packages - 1}); do
            printf 'Package: p%s\\nStatus: install ok installed\\nMaintainer: x\\nArchitecture: all\\n' $one
            printf 'Version: 1.0-1\\nDescription: x\\n\\n'
            : > /var/lib/dpkg/info/p$one.list
        done >> {STATUS}
        cd /etc/systemd/system
        names=
        for one in $(seq 0 {self.services - 1}); do
            printf '[Service]\\nExecStart=/bin/sleep infinity\\n' > s$one.service
            printf '[Install]\\nWantedBy=multi-user.target\\n' >> s$one.service
            names="$names s$one.service"
        done
        systemctl daemon-reload; systemctl --quiet enable --now $names
        members=
        for one in $(seq 0 {self.accounts - 1}); do
            id=$((3000 + one))
            echo "u$one:x:$id:$id::/home/u$one:/bin/sh" >> /etc/passwd
            echo "u$one:*:19000:0:99999:7:::" >> /etc/shadow
            echo "u$one:x:$id:" >> /etc/group
            echo "u$one:!::" >> /etc/gshadow
            members="$members${{members:+,}}u$one"
        done
        sed -i "s/^\\(games:.*:\\)$/\\1$members/" /etc/group /etc/gshadow
        """
