"""What is promised of a first convergence is what the recorded run shows (ADR 0032)."""

import json
from pathlib import Path
from statistics import median

import pytest

RECORDED = Path(__file__).resolve().parents[2] / "bench/results/first.json"
GOAL = 3.0


@pytest.mark.parametrize("kind", ["file", "tree"])
def test_ten_thousand_files_take_at_most_three_times_the_plain_loop(kind: str) -> None:
    samples = json.loads(RECORDED.read_text())["samples"]["10000"]
    loop, passes = (samples[name]["wall"] for name in ("plain loop", f"datum apply, {kind}"))
    assert len(loop) == len(passes) >= 3
    assert median(passes) <= GOAL * median(loop)
