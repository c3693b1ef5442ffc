"""Certificates for tests, made by the openssl program: valid ones and each way of being wrong."""

import subprocess
from pathlib import Path
from typing import Final

_KEY: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """A certificate authority in a folder of the test's."""

    def __init__(self, folder: Path, name: str = "Authority of the tests") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.path = folder / "ca.pem"
        self._key = folder / "ca.key"
        extensions = ("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        _openssl(
            *("req", "-x509", *_KEY, "-keyout", self._key, "-out", self.path),
            *("-days", "2", "-subj", f"/CN={name}", *extensions),
        )

    def issue(self, *names: str, days: int = 1) -> Path:
        """Return a file with key and certificate for host names; with `days` below 0 it has expired."""
        stem = self._folder / f"{names[0]}{days}"
        request, extensions = stem.with_suffix(".csr"), stem.with_suffix(".ext")
        key, certificate, both = (stem.with_suffix(ending) for ending in (".key", ".crt", ".pem"))
        _openssl("req", "-new", *_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={names[0]}")
        extensions.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names) + "\n")
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.path, "-CAkey", self._key, "-CAcreateserial"),
            *("-out", certificate, "-days", str(days), "-extfile", extensions),
        )
        both.write_bytes(key.read_bytes() + certificate.read_bytes())
        return both


def _openssl(*argv: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, argv)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
