"""What proofs of accounts on a real Debian declare, and read there."""

import json
from typing import Any

from tests.harness.machine import Machine


def line_of(machine: Machine, path: str, name: str) -> str:
    """Return the line of a name in an account file; empty where there is none."""
    lines = machine.read(path).decode("utf-8", "surrogateescape").splitlines()
    return next((line for line in lines if line.startswith(f"{name}:")), "")


def outcomes(said: str) -> dict[str, str]:
    """Return what became of each resource, by what a pass said."""
    return {entry["id"]: entry["outcome"] for entry in json.loads(said)["resources"]}


def user(**fields: Any) -> dict[str, Any]:
    """Declare the account of these proofs."""
    return {"user:deploy": fields}
