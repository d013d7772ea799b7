"""Exact solutions, in one contract of both games: what they answer, perfect play, files and refusals."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, auto_reset, solvers
from jaxgames._files import write_file
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.solvers.exact import solution as solutions
from tests.helpers.commands import NAME
from tests.helpers.positions import batched, board, in_chunks, read_all, stacked
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.solvers import slow_solutions as slow

SOLVED: dict[str, Callable[[], solvers.Solution[Any]]] = {
    "boxes": lambda: solved_boxes(2, 2),
    "diamond": lambda: solved_diamond(3, 3),
}
SLOWLY = {"boxes": lambda: slow.solved_boxes(2, 2), "diamond": lambda: slow.solved_diamond(3, 3)}
FILES = {"boxes": "22.npz", "diamond": "33.npz"}
BOXES, DIAMOND = DotsAndBoxes(2, 2), ChineseCheckersDiamond(3, 3)
each_game = pytest.mark.parametrize("game", SOLVED)

act: Any = jax.jit(lambda agent, states: agent.act(jax.random.key(0), states))
analyse: Any = jax.jit(agents.analyse)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files."""
    folder = tmp_path_factory.mktemp("solutions")
    for game, file in FILES.items():
        SOLVED[game]().save(folder / file)
    (folder / "text.npz").write_text("text")
    return folder


@pytest.fixture(autouse=True)
def in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def every_state(solution: solvers.Solution[Any]) -> Any:
    """All positions, in the order of their indices."""
    return solution.states_at(np.arange(solution.num_states))


def live(solution: solvers.Solution[Any]) -> tuple[np.ndarray, Any]:
    """The indices of all legal positions of unfinished games, and the positions."""
    states = every_state(solution)
    indices = np.flatnonzero(solution.is_legal(states) & ~np.asarray(states.terminated))
    return indices, board(states, indices)


# -- what a solution answers -------------------------------------------------------------------------------------------


@each_game
def test_states_have_their_own_indices_and_are_those_of_their_texts(game: str) -> None:
    solution = SOLVED[game]()
    states = every_state(solution)
    indices = solution.index(states)
    assert indices.dtype == np.uint32
    np.testing.assert_array_equal(indices, np.arange(solution.num_states))
    for row in range(0, solution.num_states, 97):
        state = board(states, row)
        jax.tree.map(np.testing.assert_array_equal, solution.env.from_string(solution.env.to_string(state)), state)


@each_game
def test_children_values_and_best_actions_follow_from_the_steps_of_the_env(game: str) -> None:
    """The value is the best of all moves: their rewards, and the value after them, of the mover or the opponent."""
    solution = SOLVED[game]()
    env, states = solution.paying_env, every_state(solution)
    live = solution.is_legal(states) & ~np.asarray(states.terminated)
    masks = in_chunks(1000, batched(env).mask, states) & live[:, None]
    actions, children, is_move = solution.children(np.arange(solution.num_states))
    rows, slots = np.nonzero(is_move)
    np.testing.assert_array_equal(np.argwhere(masks), np.stack([rows, actions[rows, slots]], -1))
    after = in_chunks(1000, batched(env).step, board(states, rows), actions[rows, slots])
    np.testing.assert_array_equal(children[rows, slots], solution.index(after))
    assert (actions[~is_move] == -1).all()
    assert (children[~is_move] == 0).all()
    assert (actions.dtype, children.dtype, is_move.dtype) == (np.int32, np.uint32, np.bool_)
    assert is_move.sum(1).max() == solution.max_moves

    to_go = np.where(after.terminated, 0, np.where(after.current_player == 0, 1, -1) * solution.value(after))
    worth = np.full(masks.shape, -np.inf)
    worth[masks] = after.rewards[:, 0] + to_go
    np.testing.assert_array_equal(solution.value(states)[live], worth.max(1)[live])
    best = masks & (worth == worth.max(1, keepdims=True))
    np.testing.assert_array_equal(solution.best_actions(states), best)
    assert best.sum() < masks.sum()


@functools.cache
def live_nodes(game: str, seat: int) -> tuple[list[slow.Node], Any]:
    """The live positions with a seat to move, as nodes of the slow solution and as states."""
    indices, states = live(SOLVED[game]())
    states = jax.device_get(dataclasses.replace(states, current_player=np.full(len(indices), seat, np.int32)))
    texts = [SOLVED[game]().env.to_string(board(states, row)) for row in range(len(indices))]
    return [(text.split()[0], seat) for text in texts], states


@each_game
@pytest.mark.parametrize("seat", [0, 1])
def test_values_and_plies_are_those_of_plain_python(game: str, seat: int) -> None:
    solution, rules, (nodes, states) = SOLVED[game](), SLOWLY[game](), live_nodes(game, seat)
    assert {*nodes} == {node for node in rules.moves if node[1] == seat}
    assert solution.value(states).tolist() == [rules.value[node] for node in nodes]
    if solution.has_plies:
        assert solution.plies(states).tolist() == [rules.plies[node] for node in nodes]


@each_game
def test_empty_batches_have_empty_results(game: str) -> None:
    solution = SOLVED[game]()
    none = solution.states_at(np.zeros(0, np.uint32))
    assert solution.value(none).shape == (0,)
    assert solution.best_actions(none).shape == (0, solution.env.num_actions)
    assert solution.children(solution.index(none)).children.shape == (0, solution.max_moves)


def test_owners_of_boxes_alternate() -> None:
    owner = np.asarray(every_state(solved_boxes(2, 2)).owner)
    assert {*((owner == 0).sum(1) - (owner == 1).sum(1)).tolist()} == {0, 1}


def test_value_of_boxes_depends_on_the_drawn_edges_alone() -> None:
    solution, owners = solved_boxes(2, 2), ("0.1. 0", "1.1. 1", "0.0. 1")
    for reward in ("win_loss", "margin", "boxes"):
        states = read_all(DotsAndBoxes(2, 2, reward), [f"111010110110 {owner}" for owner in owners])
        assert solution.value(states).tolist() == [slow.solved_boxes(2, 2).value["111010110110", 0]] * 3


def test_no_action_is_best_on_a_board_that_was_forfeited() -> None:
    one_edge = DotsAndBoxes(2, 2).from_string("010000000000 .... 0")
    forfeited = dataclasses.replace(one_edge, terminated=np.bool_(True))
    assert solved_boxes(2, 2).best_actions(stacked([one_edge, forfeited])).any(1).tolist() == [True, False]


# -- perfect play ------------------------------------------------------------------------------------------------------


@each_game
@pytest.mark.parametrize("seat", [0, 1])
def test_agent_plays_the_first_of_the_best_actions_and_the_fastest_of_the_diamond(game: str, seat: int) -> None:
    rules, (nodes, states) = SLOWLY[game](), live_nodes(game, seat)
    agent = agents.make(f"solver({FILES[game]})", SOLVED[game]().env)
    expected = [min(rules.fastest(node) if game == "diamond" else rules.best(node)) for node in nodes]
    actions, (probabilities, values) = act(agent, states), analyse(agent, states)
    assert (actions.dtype, probabilities.dtype, values.dtype) == (jnp.int32, jnp.float32, jnp.float32)
    assert actions.tolist() == expected
    np.testing.assert_array_equal(probabilities, np.eye(probabilities.shape[1])[expected])
    np.testing.assert_array_equal(values[:, 0], -values[:, 1])
    if game == "diamond":
        np.testing.assert_array_equal(values[:, seat], [rules.value[node] for node in nodes])


def test_agent_with_random_ties_gives_all_best_actions_the_same_probability_and_plays_each() -> None:
    _, states = live(solved_boxes(2, 2))
    agent = agents.make("solver(22.npz, ties=random)", BOXES)
    best = solved_boxes(2, 2).best_actions(states)
    np.testing.assert_allclose(analyse(agent, states).probabilities, best / best.sum(1, keepdims=True), atol=1e-6)
    start = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), states)
    played = np.bincount(np.asarray(act(agent, start)), minlength=12)
    np.testing.assert_array_equal(played > 0, best[0])


@pytest.mark.parametrize(("reward", "expected"), [("win_loss", [-1, 1]), ("margin", [-2, 2]), ("boxes", [-3, 3])])
def test_values_of_dots_and_boxes_are_in_the_unit_of_the_reward(reward: str, expected: list[int]) -> None:
    """Seat 0 has one box. Seat 1 moves and takes the other three: they are one chain."""
    env = DotsAndBoxes(2, 2, reward)
    states = read_all(env, ["111011111101 0... 1", "111111111111 0000 0"])
    probabilities, values = analyse(agents.make("solver(22.npz)", env), states)
    np.testing.assert_array_equal(values, [expected, [0, 0]])
    np.testing.assert_array_equal(probabilities.sum(1), [1, 0])


def test_agent_plays_boards_that_restart() -> None:
    env = auto_reset(BOXES)
    agent = agents.make("solver(22.npz, epsilon=0)", env)
    assert act(agent, read_all(env, ["111111110111 0.11 1"])).tolist() == [8]


# -- files -------------------------------------------------------------------------------------------------------------


@each_game
def test_saved_solution_is_read_back(game: str, tmp_path: Path) -> None:
    solution = SOLVED[game]()
    solution.save(tmp_path / "new" / "file.npz")
    loaded = solvers.load(tmp_path / "new" / "file.npz", auto_reset(solution.env))
    assert (loaded.env, loaded.counts()) == (solution.env, solution.counts())
    np.testing.assert_array_equal(loaded.table, solution.table)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        *[(path, path) for path in ("runs/a-b.c/22.npz", "with space.npz", "43")],
        *[(path, repr(path)) for path in ("a=b.npz", "a,b.npz", " it's", '"x".npz', "a(b", "b\\n)", f"{NAME}.npz")],
    ],
)
def test_path_is_written_in_quotes_where_an_agent_needs_them(
    path: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    solved_boxes(2, 2).save(path)
    for text in (f"solver({path!r})", f"solver({written})", f"solver(file={written})", f" solver ( {written} ) "):
        assert str(agents.make(text, BOXES)) == f"solver({written})"


def test_altered_file_is_refused(tmp_path: Path) -> None:
    """One byte wherever it is, in the table, in the directory of the archive, in the checksum; a part; another file."""
    path = tmp_path / "33.npz"
    solved_diamond(3, 3).save(path)
    data = path.read_bytes()
    altered = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in [*range(0, len(data), 8), len(data) - 1]]
    for content in (*altered, data[:-1], b"PKs are fine", b""):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"was altered|jaxgames\.solvers"):
            solvers.load(path)


@pytest.mark.parametrize(
    ("game", "table", "needles"),
    [
        (DIAMOND, np.zeros(1681, np.uint8), ["uint8[1680]", "not uint8[1681]"]),
        (BOXES, np.zeros(1024, np.int8), ["int8[4096]", "not int8[1024]"]),
        (DotsAndBoxes(1, 3), solved_boxes(1, 3).table, ["rows=1, cols=3", "size=3"]),
    ],
)
def test_file_of_another_table_or_game_is_refused(tmp_path: Path, game: Any, table: Any, needles: list[str]) -> None:
    write_file(solutions.SOLUTION_FILE, tmp_path / "33.npz", game, {"table": table, "max_moves": np.array(8)})
    with pytest.raises(ValueError, match=r".") as error:
        solvers.load(tmp_path / "33.npz", DIAMOND)
    assert all(needle in str(error.value) for needle in needles)


# -- wrong questions ---------------------------------------------------------------------------------------------------


def read(text: str, size: int = 3, pieces: int = 3) -> Any:
    """A batch of one diamond."""
    return read_all(ChineseCheckersDiamond(size, pieces), [text])


@pytest.mark.parametrize(
    ("call", "needles"),
    [
        (lambda: solved_boxes(2, 2).plies(every_state(solved_boxes(2, 2))), ["dots_and_boxes", "value(states)"]),
        (lambda: solved_boxes(2, 2).value(stacked([DotsAndBoxes(2, 3).init()])), ["rows=2, cols=2", "a batch"]),
        (lambda: solved_boxes(2, 2).value(DotsAndBoxes(2, 2).init()), ["a batch", "one board"]),
        (lambda: solved_boxes(2, 2).children(np.array([4096])), ["indices", "0 to 4095"]),
        (lambda: solved_boxes(2, 2).states_at(np.array([0.5])), ["integers", "[B]", "float64[1]"]),
        (lambda: solved_diamond(3, 3).states_at(np.array([-1])), ["indices", "0 to 1679"]),
        (lambda: solved_diamond(3, 3).value(ChineseCheckersDiamond(3, 3).init()), ["a batch", "size=3"]),
        (lambda: solved_diamond(3, 3).index(read("00./0.1/..1 0 0")), ["3 pieces", "state 0"]),
        (lambda: solved_diamond(3, 3).index(read("00.0/0.11/.111/00.1 0 0", 4, 6)), ["9 cells", "size=3"]),
        (lambda: solvers.solve(ChineseCheckersDiamond(5, 6)), ["4,805,077,200 positions", "9 GiB", "2.7 hours"]),
        (lambda: solvers.solve(jaxgames.make("checkers")), ["chinese_checkers_diamond", "not checkers"]),
        (lambda: solvers.solve(DotsAndBoxes(4, 4)), ["2^40", "32 edges", "1,024 GiB", "hours"]),
        (lambda: solvers.solve(DotsAndBoxes(16, 16)), ["2^544"]),
        (lambda: agents.make("solver", BOXES), ["solver needs file", "solver(file=...)"]),
        (lambda: agents.make("solver(none.npz)", BOXES), ["none.npz", "python -m jaxgames.solvers"]),
        (lambda: agents.make("solver(33.npz)", BOXES), ["33.npz", "chinese_checkers_diamond(", "not dots_and_boxes("]),
        (lambda: agents.make("solver(22.npz, ties=last)", BOXES), ["ties", "'random'", "'last'"]),
        (lambda: agents.make("solver(text.npz)", BOXES), ["text.npz", "jaxgames.solvers"]),
    ],
)
def test_wrong_question_is_refused(call: Callable[[], Any], needles: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        call()
    assert all(needle in str(error.value) for needle in needles)


def test_wrapped_env_is_solved_as_its_game() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    assert solvers.solve(auto_reset(env), progress=False).env == env
