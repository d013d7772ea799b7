"""The agent `solver(FILE)`: perfect play, its values for each seat, and the texts that name it."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, solvers
from tests.games.chinese_checkers_diamond.pictures import game as diamond
from tests.games.dots_and_boxes.pictures import game as boxes
from tests.helpers.positions import board, read_all
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.helpers.texts import NAME

BOXES, DIAMOND = boxes(2, 2), diamond(3, 3)

act: Any = jax.jit(lambda agent, states: agent.act(jax.random.key(0), states))
analyse: Any = jax.jit(agents.analyse)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files."""
    folder = tmp_path_factory.mktemp("solutions")
    solved_diamond(3, 3).save(folder / "33.npz")
    solved_boxes(2, 2).save(folder / "22.npz")
    (folder / "text.npz").write_text("text")
    return folder


@pytest.fixture(autouse=True)
def in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def live(solution: solvers.Solution[Any]) -> tuple[np.ndarray, Any]:
    """The indices of all legal positions of unfinished games, and the positions."""
    states = solution.states_at(np.arange(solution.num_states))
    indices = np.flatnonzero(solution.is_legal(states) & ~np.asarray(states.terminated))
    return indices, board(states, indices)


# -- play and analysis ---------------------------------------------------------------------------------------------


def test_agent_plays_the_first_of_the_actions_that_keep_the_margin() -> None:
    _, states = live(solved_boxes(2, 2))
    actions = act(agents.make("solver(22.npz)", BOXES), states)
    assert actions.dtype == jnp.int32
    np.testing.assert_array_equal(actions, solved_boxes(2, 2).best_actions(states).argmax(1))


def test_agent_with_random_ties_gives_all_best_actions_the_same_probability_and_plays_each() -> None:
    _, states = live(solved_boxes(2, 2))
    agent = agents.make("solver(22.npz, ties=random)", BOXES)
    best = solved_boxes(2, 2).best_actions(states)
    np.testing.assert_allclose(analyse(agent, states).probabilities, best / best.sum(1, keepdims=True), atol=1e-6)
    start = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), states)
    played = np.bincount(np.asarray(act(agent, start)), minlength=12)
    np.testing.assert_array_equal(played > 0, best[0])


def test_agent_plays_the_first_of_the_fastest_moves_and_analyses_it() -> None:
    solution, agent = solved_diamond(3, 3), agents.make("solver(33.npz)", DIAMOND)
    indices, states = live(solution)
    moves = solution.children(indices)
    after = solution.plies(solution.states_at(moves.children.ravel())).reshape(moves.children.shape)
    best = moves.live & (after == solution.plies(states)[:, None] - 1)
    best &= solution.best_actions(states)[np.arange(len(indices))[:, None], moves.actions]
    assert best.any(1).all()
    expected = moves.actions[np.arange(len(indices)), best.argmax(1)]
    np.testing.assert_array_equal(act(agent, states), expected)

    probabilities, values = analyse(agent, states)
    np.testing.assert_array_equal(probabilities, np.arange(DIAMOND.num_actions) == expected[:, None])
    value = solution.value(states)
    np.testing.assert_array_equal(values, np.stack([value, -value], 1))
    assert (probabilities.dtype, values.dtype) == (jnp.float32, jnp.float32)


def test_other_seat_plays_the_same_on_the_rotated_board() -> None:
    pictures = ("00./0.1/.11", "0../001/1.1", ".0./0.1/101")
    rotated = [picture[::-1].translate(str.maketrans("01", "10")) for picture in pictures]
    texts = [f"{picture} 0 0" for picture in pictures] + [f"{picture} 1 0" for picture in rotated]
    size = len(live(solved_diamond(3, 3))[0])  # of the other batch: one program
    states = jax.tree.map(lambda leaf: np.resize(leaf, (size, *leaf.shape[1:])), read_all(DIAMOND, texts))
    probabilities, values = analyse(agents.make("solver(33.npz)", DIAMOND), states)
    np.testing.assert_array_equal(probabilities[:3], probabilities[3:6])
    np.testing.assert_array_equal(values[:3], values[3:6, ::-1])


@pytest.mark.parametrize(("reward", "expected"), [("win_loss", [-1, 1]), ("margin", [-2, 2]), ("boxes", [-3, 3])])
def test_values_of_dots_and_boxes_are_in_the_unit_of_the_reward(reward: str, expected: list[int]) -> None:
    """Seat 0 has one box. Seat 1 moves and takes the other three: they are one chain."""
    env = boxes(2, 2, reward)
    states = read_all(env, ["111011111101 0... 1", "111111111111 0000 0"])
    probabilities, values = analyse(agents.make("solver(22.npz)", env), states)
    np.testing.assert_array_equal(values, [expected, [0, 0]])
    np.testing.assert_array_equal(probabilities.sum(1), [1, 0])


def test_agent_plays_boards_that_restart() -> None:
    env = jaxgames.auto_reset(BOXES)
    states = read_all(env, ["111111110111 0.11 1"])
    assert act(agents.make("solver(22.npz)", env), states).tolist() == [8]


# -- texts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["solver(22.npz)", 'solver(file="22.npz")', " solver ( ./22.npz, epsilon=0.5 ) "])
def test_quotes_of_a_file_may_be_left_out(text: str) -> None:
    agent = str(agents.make(text, BOXES))
    assert agent in ("solver(22.npz)", "solver(./22.npz, epsilon=0.5)")
    assert str(agents.make(agent, BOXES)) == agent


@pytest.mark.parametrize(
    ("path", "written"),
    [
        *[(path, path) for path in ("runs/a-b.c/22.npz", "with space.npz", "43")],
        *[(path, repr(path)) for path in ("a=b.npz", "a,b.npz", " it's", '"x".npz', "a(b", "b\\n)", f"{NAME}.npz")],
    ],
)
def test_path_is_written_in_quotes_where_it_needs_them(
    path: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    solved_boxes(2, 2).save(path)
    for text in (f"solver({path!r})", f"solver({written})", f"solver(file={written})"):
        assert str(agents.make(text, BOXES)) == f"solver({written})"


@pytest.mark.parametrize(
    ("text", "needles"),
    [
        ("solver", ["solver needs file", "solver(file=...)"]),
        ("solver(none.npz)", ["none.npz", "python -m jaxgames.solvers"]),
        ("solver(33.npz)", ["33.npz", "chinese_checkers_diamond(", "not dots_and_boxes("]),
        ("solver(22.npz, ties=last)", ["ties", "'random'", "'last'"]),
        ("solver(text.npz)", ["text.npz", "jaxgames.solvers"]),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(text: str, needles: list[str]) -> None:
    with pytest.raises(jaxgames.ParameterError) as error:
        agents.make(text, BOXES)
    assert all(needle in str(error.value) for needle in needles)
