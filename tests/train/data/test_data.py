"""The command train.data: recorded games on the env's boards, which game is in which split, and labels of agents."""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from examples.papers.checkers_imitation import positions as checkers_data
from jaxgames.games.checkers.pdn import PdnGame, decode, read, record
from jaxgames.games.checkers.rules import EARLIEST_END, Checkers
from tests.games.checkers.record_pydraughts import FILE
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.positions import board, compiled, stacked
from tests.helpers.solved import solved_boxes
from train import agents
from train.data import __main__ as data
from train.data import game_collections, labels, positions
from train.data.game_collections import SPLITS, split_of, states_before
from train.data.positions import UNKNOWN, Positions

BOXES = "dots_and_boxes(rows=1, cols=2)"
SHORT_GAMES = """\
[Event "1"]
1. 11-15 22-18 2. 15x22 25x18 1-0

[Event "2, the moves of the first one"]
1. 11-15 22-18 15x22 25x18 0-1

[Event "3, an illegal move"]
1. 11-15
22-19 1-0

[Event "4, no moves"]
[Result "0-1"]

[Event "5"]
1. 11-16 24-19 *
[Event "6"]
1. 9-13 0-1
"""


@pytest.fixture(scope="module", autouse=True)
def small_programs() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(game_collections, "BATCH", 8)
        patch.setattr(game_collections, "PLIES", 16)
        patch.setattr(positions, "CHUNK", 256)
        patch.setattr(labels, "CHUNK", 32)
        patch.setattr(labels, "PATIENCE", 60)
        yield


def write(path: Path, text: str = SHORT_GAMES) -> Path:
    path.write_text(text)
    return path


def game(*moves: str) -> PdnGame:
    return PdnGame(actions=(0,) * len(moves), moves=moves)


# -- recorded games ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Positions, dict[str, Any]]:
    """The positions of recorded games, and the result of the command that wrote them."""
    output = tmp_path_factory.mktemp("data") / "new folder" / "pairs.npz"
    result = data.data(data.Arguments(games=(FILE,), output=output))
    return positions.load(output), result


def test_positions_are_those_of_the_recorded_games(pairs: tuple[Positions, dict[str, Any]]) -> None:
    found, result = pairs
    recorded = [game for game in read(decode(FILE.read_bytes())) if isinstance(game, PdnGame)]
    assert result["games"] | {"results": None} == {
        **{"read": 12, "kept": 12, "duplicates": 0, "without_moves": 0, "refused": 0, "results": None},
    }
    for number, game in enumerate(recorded):
        rows = found.game == number
        assert found.action[rows].tolist() == list(game.actions)
        assert found.ply[rows].tolist() == list(range(len(game.actions)))
        assert {SPLITS[split] for split in found.split[rows]} == {SPLITS[split_of(game)]}
        start = found.env.to_string(board(found.states, np.flatnonzero(rows)[0]))
        assert start == game.start
    assert len(found) == sum(len(game.actions) for game in recorded)
    assert sum(counts["positions"] for counts in result["splits"].values()) == len(found)


def test_value_is_the_result_for_the_mover(pairs: tuple[Positions, dict[str, Any]]) -> None:
    found, _ = pairs
    seat = np.asarray(found.states.current_player)
    for rows, black in ((found.game % 4 == 0, 1.0), (found.game % 4 == 1, -1.0), (found.game % 4 == 2, 0.0)):
        np.testing.assert_array_equal(found.value[rows], np.where(seat[rows] == 0, black, -black))
    assert np.isnan(found.value[found.game % 4 == 3]).all()


def test_games_that_are_left_out_are_counted_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "games.pdn")
    assert run_command(data.main, path, "--output", tmp_path / "pairs.npz") is None
    printed = capsys.readouterr()
    reason = "22-19 is not legal: White can play 21-17, 22-17, 22-18, 23-18, 23-19, 24-19, 24-20"
    assert f"{path}:9: {reason}" in printed.err.splitlines()
    assert "games: 6 read; 3 kept, 1 duplicates, 1 without moves, 1 refused" in printed.out.splitlines()
    result = json.loads(printed.out.splitlines()[-1])["games"]
    counts = {name: result[name] for name in ("read", "kept", "duplicates", "without_moves", "refused")}
    assert counts == {"read": 6, "kept": 3, "duplicates": 1, "without_moves": 1, "refused": 1}
    assert result["results"] == {"1-0": 1, "*": 1, "0-1": 1}
    assert sorted(set(positions.load(tmp_path / "pairs.npz").game)) == [0, 4, 5]  # numbers in the file


def test_archives_are_read_and_games_of_the_second_collection_are_external(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as archive:
        archive.writestr("READ.ME", "nothing")
        archive.writestr("one/GAMES.PDN", SHORT_GAMES)
        for name in ("two.pdn/", "__MACOSX/one/._GAMES.PDN", "one/._GAMES.PDN", "one/.DS_Store"):
            archive.writestr(name, b"" if name.endswith("/") else b"\0\5\x16\7Mac OS X")
    others = write(tmp_path / "others.pdn", f"{SHORT_GAMES}\n1. 12-16 1-0\n1. 12-16 0-1\n1. 10-14\n")
    arguments = (tmp_path / "games.zip", "--external", others, "--output", tmp_path / "pairs.npz")
    assert run_command(data.main, *arguments) is None
    printed = capsys.readouterr()
    assert f"{tmp_path / 'games.zip'}/one/GAMES.PDN:9: " in printed.err
    *text, line = printed.out.splitlines()
    result = json.loads(line)
    of_splits = {row.split()[1]: row.split("|")[3].strip() for row in text if row.startswith("| ")}
    known = {name: str(numbers["positions"]) for name, numbers in result["splits"].items() if numbers["positions"]}
    assert of_splits == {"split": "positions"} | known
    assert (result["games"]["kept"], result["external"]["kept"], result["external"]["duplicates"]) == (3, 2, 5)
    assert result["splits"]["external"] == {
        "games": 2,
        "positions": 2,
        "unseen": 0 if _starts_in_train(tmp_path) else 2,
    }
    found = positions.load(tmp_path / "pairs.npz").of("external")
    assert found.game.tolist() == [12, 14]


def _starts_in_train(folder: Path) -> bool:
    """Returns whether the start, with which every game begins, is in the training set."""
    return bool((positions.load(folder / "pairs.npz").of("train").ply == 0).any())


def test_games_are_split_into_the_shares() -> None:
    buckets = [game("11-15", "22-18", f"{number}") for number in range(2000)]
    for shares, expected in (((85, 10), (0.85, 0.10, 0.05)), ((50, 0), (0.5, 0.0, 0.5)), ((60, 40), (0.6, 0.4, 0.0))):
        counts = np.bincount([split_of(one, *shares) for one in buckets], minlength=3)
        np.testing.assert_allclose(counts / len(buckets), expected, atol=0.03)


@pytest.mark.parametrize(
    ("moves", "digits", "split"),
    [
        ("11-16", "1d9e42e6", "train"),  # 78
        ("9-13", "3c44c6be", "validation"),  # 86
        ("12-16 24-19", "07e42310", "test"),  # 96
    ],
)
def test_split_of_known_moves(moves: str, digits: str, split: str) -> None:
    """The digits are those that `printf 11-16 | sha256sum` begins with; their number modulo 100 is behind them."""
    assert SPLITS[split_of(game(*moves.split()))] == split
    assert hashlib.sha256(moves.encode()).hexdigest().startswith(digits)


# -- labels of an agent ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solver_labels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Positions, Any]:
    folder = tmp_path_factory.mktemp("labels")
    solution = solved_boxes(1, 2)
    solution.save(folder / "12.npz")
    arguments = data.Arguments(
        output=folder / "table.npz", label=f"solver({folder / '12.npz'})", env=BOXES, positions=70, train=80
    )
    result = data.data(arguments)
    return positions.load(folder / "table.npz"), result


def test_solver_labels_each_position_once_with_its_value(solver_labels: tuple[Positions, Any]) -> None:
    found, result = solver_labels
    solution = solved_boxes(1, 2)
    assert len(found) == len({*positions.keys(found).tolist()}) == 70
    own, others = (
        (np.asarray(found.states.owner) == seat[:, None]).sum(1)
        for seat in (found.states.current_player, 1 - found.states.current_player)
    )
    np.testing.assert_array_equal(found.value, np.sign(own - others + solution.value(found.states)))
    assert found.probabilities is None  # they would all be 1 for one action
    assert (solution.best_actions(found.states)[np.arange(70), found.action]).all()
    assert [result["splits"][name]["positions"] for name in ("train", "validation")] == [
        int((found.split == number).sum()) for number in (0, 1)
    ]
    assert 0.6 < (found.split == 0).mean() < 0.95


def test_all_positions_of_a_small_game_are_found(solver_labels: tuple[Positions, Any], tmp_path: Path) -> None:
    """Seven edges: every set of them but the full one can be on the board, with boxes owned by either seat."""
    env = solver_labels[0].env
    found = labels.played_positions(env, agents.make("random", env), 1000, seed=3)
    edges = {bytes(row) for row in np.asarray(found.states.edges)}
    assert len(edges) == 2**7 - 1
    assert len(found) < 1000


def test_positions_of_a_part_of_the_game_have_its_plies() -> None:
    env = solved_boxes(1, 2).env
    found = labels.played_positions(env, agents.make("random", env), 1000, seed=3, between=(2, 3))
    assert set(found.ply.tolist()) == {2, 3}
    assert set(np.asarray(found.states.edges).sum(1).tolist()) == {2, 3}
    assert len({bytes(row) for row in np.asarray(found.states.edges)}) == 21 + 35


def test_agent_without_probabilities_labels_with_its_actions() -> None:
    env = solved_boxes(1, 2).env
    boards = labels.played_positions(env, agents.make("random", env), 40, seed=0)

    class Last:
        on_device = False

        def act(self, key: jax.Array, states: Any) -> np.ndarray:
            mask = np.asarray(jax.vmap(env.legal_action_mask)(states))
            return mask.shape[1] - 1 - mask[:, ::-1].argmax(1)

    found = labels.labelled(boards, Last(), train=100)  # pyright: ignore[reportArgumentType]  # on the host: NumPy's actions
    assert found.probabilities is None
    assert np.isnan(found.value).all()
    positions.check_rules(found)
    assert (found.action == positions.legal_actions(boards).cumsum(1).argmax(1)).all()


def test_probabilities_of_several_actions_are_kept() -> None:
    env = solved_boxes(1, 2).env
    boards = labels.played_positions(env, agents.make("random", env), 40, seed=0)
    found = labels.labelled(boards, agents.make("greedy", env), train=100)
    assert found.probabilities is not None
    assert (found.action == UNKNOWN).all()
    np.testing.assert_allclose(found.probabilities.sum(1), 1, atol=1e-6)
    assert (found.probabilities.max(1) < 1).any()


def test_labels_can_be_values_alone(solver_labels: tuple[Positions, Any], tmp_path: Path) -> None:
    found, _ = solver_labels
    file = tmp_path / "12.npz"
    solved_boxes(1, 2).save(file)
    values = labels.labelled(found, agents.make(f"solver('{file}')", found.env), train=80, only_values=True)
    assert values.probabilities is None
    assert (values.action == UNKNOWN).all()
    np.testing.assert_array_equal(values.value, found.value)
    np.testing.assert_array_equal(values.split, found.split)
    with pytest.raises(ValueError, match="greedy has no values: leave out --only-values"):
        labels.labelled(found, agents.make("greedy", found.env), train=85, only_values=True)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_arguments_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    output = ("--output", tmp_path / "pairs.npz")
    path = write(tmp_path / "games.pdn")
    empty = write(tmp_path / "empty.pdn", "1. 11-14 *")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("games.txt", SHORT_GAMES)
    cut, damaged = tmp_path / "cut.zip", tmp_path / "damaged.zip"
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("games.pdn", SHORT_GAMES)
    content = damaged.read_bytes()
    cut.write_bytes(content[: len(content) // 2])
    damaged.write_bytes(content.replace(b"1.", b"2.", 1))
    for arguments, problem in (
        ((), "expected either files of games, or --label AGENT"),
        (("--external", path, "--label", "greedy"), "--external needs games that are not external"),
        ((path, "--env", "minichess"), "files of games are of checkers, not of minichess"),
        ((path, "--train", 90, "--validation", 20), "together at most 100 percent, not 90 and 20"),
        (("--label", "random", "--between", 3, 2), "two numbers in ascending order from 0, not 3 2"),
        (("--label", "greedy", "--env", BOXES, "--between", 9, 9), "no position was found after 9 to 9 plies"),
        ((empty,), "empty.pdn has no game that can be used, and 1 were refused: expected games in PDN"),
        ((cut,), "cut.zip cannot be unpacked (File is not a zip file)"),
        ((damaged,), "damaged.zip cannot be unpacked (Bad CRC-32 for file 'games.pdn')"),
        ((tmp_path / "no.pdn",), "No such file"),
        ((tmp_path / "empty.zip",), "empty.zip has no game that can be used"),
    ):
        assert problem in error_of(data.main, *arguments, *output)
    assert not (tmp_path / "pairs.npz").exists()


CUT_OFF = Checkers(draw_rule="openspiel", max_plies=100)


def recorded_games() -> list[PdnGame]:
    return [game for game in read(decode(FILE.read_bytes())) if isinstance(game, PdnGame)]


def test_boards_are_those_of_one_step_after_the_other() -> None:
    """Games of unequal length, some from a position of their own, and one without actions."""
    games = [*recorded_games(), record([])]
    replayed: list[int] = []
    states = states_before(Checkers(), games, on_replayed=replayed.append)
    assert sum(replayed) == len(games) == 13
    expected: list[Any] = []
    for game in games:
        state = Checkers().from_string(game.start)
        for action in game.actions:
            expected.append(state)
            state = compiled(Checkers()).step(state, np.int32(action))
    jax.tree.map(np.testing.assert_array_equal, states, stacked(expected))


def king_steps(plies: int) -> PdnGame:
    """A game in which two kings go to and fro."""
    text = " ".join(("1-5", "32-28", "5-1", "28-32")[ply % 4] for ply in range(plies))
    (game,) = read(f'[FEN "B:WK32:BK1"]\n{text}')
    assert isinstance(game, PdnGame)
    return game


@pytest.mark.parametrize("env", [Checkers(), CUT_OFF, Checkers(draw_rule="adjudicated")], ids=lambda env: env.draw_rule)
def test_game_goes_on_after_the_plies_that_make_a_draw(env: Checkers) -> None:
    limit = EARLIEST_END[env.draw_rule]
    states = states_before(env, [king_steps(100)])
    assert not states.terminated.any()
    np.testing.assert_array_equal(states.quiet, np.arange(100).clip(max=limit - 1))
    np.testing.assert_array_equal(states.ply, np.arange(100))


@pytest.mark.parametrize(
    ("env", "game", "problem"),
    [
        (Checkers(), PdnGame((87, 3), ("11-16", "?"), line=7), "game 0, line 7: action 3 at ply 1 is not legal in"),
        (CUT_OFF, king_steps(102), "game 0, line 1: action .* at ply 100 is not legal in .*max_plies=100"),
    ],
)
def test_illegal_action_is_named(env: Checkers, game: PdnGame, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        states_before(env, [game])


def test_no_games_have_no_boards() -> None:
    assert states_before(Checkers(), []).own.shape == (0,)


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
    facts = checkers_data.facts(positions.load(tmp_path / "pairs.npz"))
    assert [round(share, 3) for share in facts["seen"]["test"].values()] == [0.981, 0.754, 0.378, 0.125, 0.033]
    assert round(facts["splits"]["test"]["one legal action"], 3) == 0.235
