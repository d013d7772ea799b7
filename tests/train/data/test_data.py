"""The command train.data: boards and splits of recorded games, labels of agents, and files of positions."""

import dataclasses
import json
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.games.checkers.pdn import PdnGame, decode, read
from jaxgames.games.checkers.rules import EARLIEST_END, Checkers
from tests.games.checkers.test_pdn import FILE
from tests.helpers.commands import error_of, run_command
from tests.helpers.positions import compiled, stacked
from tests.helpers.solved import ENV, random_positions, solved_boxes
from train import agents
from train.data import __main__ as data
from train.data import game_collections, labels, positions
from train.data.game_collections import SPLITS, split_of, states_before
from train.data.positions import UNKNOWN, Positions

BOXES = "dots_and_boxes(rows=1, cols=2)"
RECORDED = [game for game in read(decode(FILE.read_bytes())) if isinstance(game, PdnGame)]
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


# -- recorded games ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Positions, dict[str, Any]]:
    """The positions of recorded games, and the result of the command that wrote them."""
    output = tmp_path_factory.mktemp("data") / "new folder" / "pairs.npz"
    result = data.data(data.Arguments(games=(FILE,), output=output))
    return positions.load(output), result


def test_positions_are_those_of_the_recorded_games(pairs: tuple[Positions, dict[str, Any]]) -> None:
    """Games of unequal length, some from a position of their own, one step after the other."""
    found, result = pairs
    assert (result["games"]["read"], result["games"]["kept"]) == (12, 12)
    expected: list[Any] = []
    for number, game in enumerate(RECORDED):
        rows = found.game == number
        assert found.action[rows].tolist() == list(game.actions)
        assert found.ply[rows].tolist() == list(range(len(game.actions)))
        assert {SPLITS[split] for split in found.split[rows]} == {SPLITS[split_of(game)]}
        state = Checkers().from_string(game.start)
        for action in game.actions:
            expected.append(state)
            state = compiled(Checkers()).step(state, np.int32(action))
    jax.tree.map(np.testing.assert_array_equal, found.states, stacked(expected))
    assert sum(counts["positions"] for counts in result["splits"].values()) == len(found)


def test_value_is_the_result_for_the_mover(pairs: tuple[Positions, dict[str, Any]]) -> None:
    found, _ = pairs
    seat = np.asarray(found.states.current_player)
    for rows, black in ((found.game % 4 == 0, 1.0), (found.game % 4 == 1, -1.0), (found.game % 4 == 2, 0.0)):
        np.testing.assert_array_equal(found.value[rows], np.where(seat[rows] == 0, black, -black))
    assert np.isnan(found.value[found.game % 4 == 3]).all()


def test_games_that_are_left_out_are_counted_and_reported_and_a_second_collection_is_external(
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
    reason = "22-19 is not legal: White can play 21-17, 22-17, "
    assert f"{tmp_path / 'games.zip'}/one/GAMES.PDN:9: {reason}" in printed.err
    assert "games: 6 read; 3 kept, 1 duplicates, 1 without moves, 1 refused" in printed.out.splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.out.splitlines()]
    assert ["external", "2", "2", ""] in cells  # of its two positions, none is not in the training set
    result = json.loads(printed.out.splitlines()[-1])
    counts = {"read": 6, "kept": 3, "duplicates": 1, "without_moves": 1, "refused": 1}
    assert result["games"] == counts | {"results": {"1-0": 1, "*": 1, "0-1": 1}}
    assert (result["external"]["kept"], result["external"]["duplicates"]) == (2, 5)
    assert result["splits"]["external"] == {"games": 2, "positions": 2, "unseen": 0}  # both begin at the start
    found = positions.load(tmp_path / "pairs.npz")
    assert sorted({*found.game.tolist()}) == [0, 4, 5, 12, 14]  # numbers in the files
    assert found.of("external").game.tolist() == [12, 14]


def test_split_of_known_moves_has_the_shares() -> None:
    """The first eight digits of `printf 11-16 | sha256sum` are 1d9e42e6, a number that ends with 78 in decimals."""
    for moves, splits in (
        ("11-16", "train test validation"),  # 78
        ("9-13", "validation test test"),  # 86
        ("12-16 24-19", "test test test"),  # 96
    ):
        words = tuple(moves.split())
        game = PdnGame(actions=(0,) * len(words), moves=words)
        assert [SPLITS[split_of(game, *shares)] for shares in ((85, 10), (50, 0), (78, 8))] == splits.split()


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
    seat = found.states.current_player[:, None]
    own, others = ((found.states.owner == of_seat).sum(1) for of_seat in (seat, 1 - seat))
    np.testing.assert_array_equal(found.value, np.sign(own - others + solution.value(found.states)))
    assert found.probabilities is None  # they would all be 1 for one action
    assert (solution.best_actions(found.states)[np.arange(70), found.action]).all()
    sizes = [result["splits"][name]["positions"] for name in ("train", "validation")]
    assert sizes == np.bincount(found.split).tolist()
    assert 0.6 < (found.split == 0).mean() < 0.95


BOX_ENV = jaxgames.make(BOXES)


@pytest.mark.parametrize(
    ("between", "sets"), [(None, 2**7 - 1), ((2, 3), 21 + 35)], ids=["the whole game", "after two or three edges"]
)
def test_all_positions_of_a_small_game_are_found(between: tuple[int, int] | None, sets: int) -> None:
    """Seven edges: every set of them but the full one can be on the board, with boxes owned by either seat."""
    found = labels.played_positions(BOX_ENV, agents.make("random", BOX_ENV), 1000, seed=3, between=between)
    edges = np.asarray(found.states.edges)
    np.testing.assert_array_equal(found.ply, edges.sum(1))
    assert len({bytes(row) for row in edges}) == sets
    assert len(found) < 1000


@pytest.fixture(scope="module")
def boards() -> Positions:
    return labels.played_positions(BOX_ENV, agents.make("random", BOX_ENV), 40, seed=0)


def test_agent_without_probabilities_labels_with_its_actions(boards: Positions) -> None:
    class Last:
        on_device = False

        def act(self, key: jax.Array, states: Any) -> np.ndarray:
            mask = np.asarray(jax.vmap(BOX_ENV.legal_action_mask)(states))
            return mask.shape[1] - 1 - mask[:, ::-1].argmax(1)

    found = labels.labelled(boards, Last(), train=100)  # pyright: ignore[reportArgumentType]  # on the host: NumPy's actions
    assert found.probabilities is None
    assert np.isnan(found.value).all()
    positions.check_rules(found)
    assert (found.action == positions.legal_actions(boards).cumsum(1).argmax(1)).all()


def test_probabilities_of_several_actions_are_kept(boards: Positions) -> None:
    found = labels.labelled(boards, agents.make("greedy", BOX_ENV), train=100)
    assert found.probabilities is not None
    assert (found.action == UNKNOWN).all()
    np.testing.assert_allclose(found.probabilities.sum(1), 1, atol=1e-6)
    assert (found.probabilities.max(1) < 1).any()


def test_labels_can_be_values_alone(solver_labels: tuple[Positions, Any]) -> None:
    found, result = solver_labels
    values = labels.labelled(found, agents.make(result["label"], found.env), train=80, only_values=True)
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
    damaged = tmp_path / "damaged.zip"
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("games.pdn", SHORT_GAMES)
    damaged.write_bytes(damaged.read_bytes().replace(b"1.", b"2.", 1))
    for arguments, problem in (
        ((), "expected either files of games, or --label AGENT"),
        (("--external", path, "--label", "greedy"), "--external needs games that are not external"),
        ((path, "--env", "minichess"), "files of games are of checkers, not of minichess"),
        ((path, "--train", 90, "--validation", 20), "together at most 100 percent, not 90 and 20"),
        (("--label", "random", "--between", 3, 2), "two numbers in ascending order from 0, not 3 2"),
        (("--label", "greedy", "--env", BOXES, "--between", 9, 9), "no position was found after 9 to 9 plies"),
        ((empty,), "empty.pdn has no game that can be used, and 1 were refused: expected games in PDN"),
        ((damaged,), "damaged.zip cannot be unpacked (Bad CRC-32 for file 'games.pdn')"),
        ((tmp_path / "empty.zip",), "empty.zip has no game that can be used"),
    ):
        assert problem in error_of(data.main, *arguments, *output)
    assert not (tmp_path / "pairs.npz").exists()


CUT_OFF = Checkers(draw_rule="openspiel", max_plies=100)


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


def test_illegal_action_is_named() -> None:
    with pytest.raises(ValueError, match="game 0, line 7: action 3 at ply 1 is not legal in"):
        states_before(Checkers(), [PdnGame((87, 3), ("11-16", "?"), line=7)])
    with pytest.raises(ValueError, match=r"game 0, line 1: action .* at ply 100 is not legal in .*max_plies=100"):
        states_before(CUT_OFF, [king_steps(102)])


# -- files of positions -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def some() -> Positions:
    return random_positions()


def test_file_has_all_that_was_saved(some: Positions, tmp_path: Path) -> None:
    """The state of minichess has a position in it, and no history with these rules."""
    both = dataclasses.replace(some, probabilities=np.eye(ENV.num_actions)[some.action])
    for saved in (random_positions(8, jaxgames.make("minichess(rules=king_capture)")), both, some):
        saved.save(tmp_path / "pairs.npz")
        found = positions.load(tmp_path / "pairs.npz", saved.env)
        assert type(found.states) is type(saved.env.init())
        jax.tree.map(np.testing.assert_array_equal, vars(found) | vars(found.states), vars(saved) | vars(saved.states))
    with pytest.raises(ValueError, match=r"'wcdf'.* not of .*'openspiel'"):
        positions.load(tmp_path / "pairs.npz", jaxgames.make("checkers(draw_rule=openspiel)"))


def test_equal_positions_make_equal_files_and_other_labels_another_fingerprint(some: Positions, tmp_path: Path) -> None:
    for name, saved in (("a", some), ("b", some), ("c", dataclasses.replace(some, value=some.value / 2))):
        saved.save(tmp_path / name)
    a, b, c = (positions.fingerprint(tmp_path / name) for name in "abc")
    assert a == b != c


def test_split_has_its_rows_in_order(some: Positions) -> None:
    assert some.of("validation").ply.tolist() == list(range(1, 40, 2))
    assert positions.evenly_spaced(some, 4).ply.tolist() == [0, 10, 20, 30]
    assert len(positions.evenly_spaced(some, 0)) == len(positions.evenly_spaced(some, 500)) == 40
    with pytest.raises(ValueError, match="split must be one of train, validation, not 'test'"):
        some.of("test")


def test_keys_differ_exactly_where_observation_or_legal_actions_do() -> None:
    some = random_positions(300, seed=1)
    observe = jax.jit(jax.vmap(ENV.observe))
    seen = np.asarray(observe(some.states)).reshape(300, -1)
    rows = np.concatenate([seen, positions.legal_actions(some)], 1)
    same = (rows[:, None] == rows).all(-1)
    keys = positions.keys(some)
    assert keys.dtype == np.uint64
    np.testing.assert_array_equal(keys[:, None] == keys, same)
    assert 300 < same.sum() < 300 * 300  # every game begins with the same board
    np.testing.assert_array_equal(positions.keys(some.take(np.arange(7))), keys[:7])  # whatever the chunks


def test_labels_that_break_the_rules_are_refused(some: Positions, tmp_path: Path) -> None:
    action = some.action.copy()
    action[30] = 0  # from the corner up-right, off the board
    everywhere = np.full((40, ENV.num_actions), 1 / ENV.num_actions)
    ended = some.states.terminated.copy()
    ended[3] = True
    for wrong, problem in (
        ({"action": action}, "position 30: an action is illegal"),
        ({"action": np.full(40, UNKNOWN), "probabilities": everywhere}, "position 0: an action is illegal"),
        ({"states": dataclasses.replace(some.states, terminated=ended)}, "position 3: the board is finished"),
    ):
        dataclasses.replace(some, **wrong).save(tmp_path / "wrong.npz")
        with pytest.raises(ValueError, match=problem):
            positions.load(tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    ("name", "array", "needles"),
    [
        ("action", np.full(40, 128), ("action", "-1 to 127", "128")),
        ("action", np.full(40, 2**32 + 3), ("action", "whole numbers")),
        ("action", np.full(40, "3"), ("action", "numbers", "<U1")),
        ("value", np.zeros(39), ("value", "float32[40]", "float32[39]")),
        ("value", np.full(40, np.inf), ("value", "finite")),
        ("splits", ("train", "train"), ("splits", "different", "train, train")),
        ("probabilities", np.ones((40, 3)), ("probabilities", "float32[40, 128]", "float32[40, 3]")),
        ("probabilities", np.ones((40, 128)), ("probabilities", "add up to 1")),
        ("own", np.zeros(40, np.int32), ("state.own", "uint32[40]", "int32[40]")),
        ("current_player", np.full(40, 2, np.int32), ("current_player", "0 to 1", "2 to 2")),
    ],
)
def test_arrays_that_do_not_fit_are_refused(some: Positions, name: str, array: Any, needles: tuple[str, ...]) -> None:
    is_label = name in {field.name for field in dataclasses.fields(Positions)}
    changes = {name: array} if is_label else {"states": dataclasses.replace(some.states, **{name: array})}
    with pytest.raises(ValueError, match=name) as caught:
        dataclasses.replace(some, **changes)
    assert [needle for needle in needles if needle not in str(caught.value)] == []
