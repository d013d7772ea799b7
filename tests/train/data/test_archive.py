"""The Open Checkers Archive, which is not part of this project: everything that docs/papers says of it.

CHECKERS_ARCHIVE=OCA_2.0.zip python -m pytest tests/train/data/test_archive.py
"""

import os
from pathlib import Path

import pytest

from examples.papers.checkers_imitation import positions as checkers_data
from tests.helpers.commands import last_json, run_command
from train.data import __main__ as data

ARCHIVE = "CHECKERS_ARCHIVE"


@pytest.mark.slow  # half a minute
@pytest.mark.skipif(ARCHIVE not in os.environ, reason=f"{ARCHIVE} must be the path of OCA_2.0.zip or OCA_2.0.pdn")
def test_archive_has_the_games_and_the_splits_of_the_docs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(data.main, os.environ[ARCHIVE], "--output", tmp_path / "pairs.npz") is None
    result = last_json(capsys)
    assert result["games"] == {
        "read": 22_621,
        "kept": 22_296,
        "duplicates": 325,
        "without_moves": 0,
        "refused": 0,
        "results": {"1-0": 3_620, "0-1": 4_795, "1/2-1/2": 13_881},
    }
    assert result["splits"] == {
        "train": {"games": 18_962, "positions": 997_945, "unseen": 0},
        "validation": {"games": 2_242, "positions": 117_657, "unseen": 58_110},
        "test": {"games": 1_092, "positions": 56_677, "unseen": 28_295},
        "external": {"games": 0, "positions": 0, "unseen": 0},
    }
    assert run_command(checkers_data.main, tmp_path / "pairs.npz") is None
    facts = last_json(capsys)
    assert [round(share, 3) for share in facts["seen"]["test"].values()] == [0.981, 0.754, 0.378, 0.125, 0.033]
    assert round(facts["splits"]["test"]["one legal action"], 3) == 0.235
