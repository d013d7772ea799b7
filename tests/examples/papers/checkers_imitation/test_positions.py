"""The facts about recorded games, on a few of them."""

from pathlib import Path

from examples.papers.checkers_imitation import positions as checkers_data
from tests.helpers.commands import run_command
from train.data import __main__ as data

GAMES = """\
1. 11-15 22-18 15x22 26x17 1-0
1. 11-15 22-18 15x22 25x18 1/2-1/2
"""


def test_facts_are_those_of_two_games_and_the_share_that_is_seen_is_counted_by_ply(tmp_path: Path) -> None:
    """7 and 7 steps, then a forced capture, then 25x18 or 26x17. The games share their four positions."""
    (tmp_path / "games.pdn").write_text(GAMES)
    (tmp_path / "others.pdn").write_text("1. 11-15 23-19 *\n1. 9-13 *")
    files = (tmp_path / "games.pdn", "--external", tmp_path / "others.pdn")
    sizes = ("--train", 100, "--validation", 0)
    assert run_command(data.main, *files, *sizes, "--output", tmp_path / "pairs.npz") is None
    result, printed, _ = checkers_data.report(checkers_data.Arguments(tmp_path / "pairs.npz"))
    heads = "games | positions | different | seen in training | legal actions | one legal action | captures | drawn"
    assert f"| split | {heads} |" in printed
    assert "| train | 2 | 8 | 4 | 1.000 | 4.250 | 0.250 | 0.500 | 0.500 |" in printed
    assert result["splits"]["external"]["seen in training"] == 1.0
    assert result["seen"] == {"external": {"0-9": 1.0}, "validation": {}, "test": {}}
