"""What figures depend on, for the file that their raw samples are in."""

import platform
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path


def machine() -> Mapping[str, str]:
    """Return what is known of this machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return {
        "cpu": f"{len(model)} x {model[0] if model else platform.machine()}",
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def command(module: str) -> str:
    """Return the command line of a measurement, without the places of this machine."""
    words = sys.argv[1:]
    if "--out" in words:
        place = words.index("--out")
        del words[place : place + 2]
    return f"python -m {module} {shlex.join(words)}".strip()
