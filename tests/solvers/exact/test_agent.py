"""The agent `solver(FILE)`: perfect play, its values for each seat, and the texts that name it."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
import train.agents
from jaxgames import agents, solvers
from jaxgames._specs import split_list
from jaxgames.solvers.exact.agent import SolverAgent
from tests.games.chinese_checkers_diamond.pictures import game as diamond
from tests.games.dots_and_boxes.pictures import game as boxes
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.helpers.texts import NAME

GAMES = {"33.npz": diamond(3, 3), "22.npz": boxes(2, 2)}

act: Any = jax.jit(lambda agent, states: agent.act(jax.random.key(0), states))
analyse: Any = jax.jit(agents.analyse)


def solved(file: str) -> solvers.Solution[Any]:
    return solved_diamond(3, 3) if file == "33.npz" else solved_boxes(2, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files."""
    folder = tmp_path_factory.mktemp("solutions")
    for file in GAMES:
        solved(file).save(folder / file)
    return folder


@pytest.fixture(autouse=True)
def in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def live(file: str) -> tuple[np.ndarray, Any]:
    """The indices of all legal positions of unfinished games, and the positions."""
    solution = solved(file)
    states = solution.states_at(np.arange(solution.num_states))
    indices = np.flatnonzero(solution.is_legal(states) & ~np.asarray(states.terminated))
    return indices, jax.tree.map(lambda leaf: leaf[indices], states)


# -- play ----------------------------------------------------------------------------------------------------------


def test_agent_plays_the_first_of_the_actions_that_keep_the_margin() -> None:
    solution, (_, states) = solved("22.npz"), live("22.npz")
    actions = act(agents.make("solver(22.npz)", GAMES["22.npz"]), states)
    assert actions.dtype == jnp.int32
    np.testing.assert_array_equal(actions, solution.best_actions(states).argmax(1))


def test_agent_with_random_ties_gives_all_best_actions_the_same_probability_and_plays_each() -> None:
    solution, (_, states) = solved("22.npz"), live("22.npz")
    agent = agents.make("solver(22.npz, ties=random)", GAMES["22.npz"])
    assert str(agent) == "solver(22.npz, ties=random)"
    best = solution.best_actions(states)
    np.testing.assert_allclose(analyse(agent, states).probabilities, best / best.sum(1, keepdims=True), atol=1e-6)
    start = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), states)
    played = np.bincount(np.asarray(act(agent, start)), minlength=12)
    np.testing.assert_array_equal(played > 0, best[0])


def test_agent_plays_the_first_of_the_fastest_moves() -> None:
    solution, (indices, states) = solved("33.npz"), live("33.npz")
    actions = np.asarray(act(agents.make("solver(33.npz)", GAMES["33.npz"]), states))
    moves = solution.children(indices)
    after = solution.plies(solution.states_at(moves.children.ravel())).reshape(moves.children.shape)
    best = moves.live & (after == solution.plies(states)[:, None] - 1)
    best &= solution.best_actions(states)[np.arange(len(indices))[:, None], moves.actions]
    np.testing.assert_array_equal(actions, moves.actions[np.arange(len(indices)), best.argmax(1)])
    assert best.any(1).all()


def test_other_seat_plays_the_same_on_the_rotated_board() -> None:
    env = GAMES["33.npz"]
    pictures = ("00./0.1/.11", "0../001/1.1", ".0./0.1/101")
    rotated = [picture[::-1].translate(str.maketrans("01", "10")) for picture in pictures]
    texts = [f"{picture} 0 0" for picture in pictures] + [f"{picture} 1 0" for picture in rotated]
    size = len(live("33.npz")[0])  # of the other batches: one program
    states = jax.tree.map(lambda leaf: np.resize(leaf, (size, *leaf.shape[1:])), batch(*map(env.from_string, texts)))
    probabilities, values = analyse(agents.make("solver(33.npz)", env), states)
    np.testing.assert_array_equal(probabilities[:3], probabilities[3:6])
    np.testing.assert_array_equal(values[:3], values[3:6, ::-1])


@pytest.mark.slow
def test_first_player_wins_every_game_where_the_start_is_won() -> None:
    env = GAMES["22.npz"]
    assert solved("22.npz").facts()["start_value"] > 0
    players = [agents.make("solver(22.npz)", env), agents.make("random", env)]
    agent_of_seat = jaxgames.arena.seating((1, 1), "fixed", 64)
    games = jaxgames.arena.play(env, players, agent_of_seat, jax.random.key(0))
    assert jaxgames.arena.results(env, games, agent_of_seat)["wins"] == 64


# -- analysis ------------------------------------------------------------------------------------------------------


def test_analysis_of_the_diamond_agrees_with_the_solution() -> None:
    env, (_, states) = GAMES["33.npz"], live("33.npz")
    agent = agents.make("solver(33.npz)", env)
    probabilities, values = analyse(agent, states)
    assert probabilities.shape == (len(values), env.num_actions)
    np.testing.assert_array_equal(probabilities.argmax(1), act(agent, states))
    np.testing.assert_array_equal(probabilities.sum(1), 1)
    value = solved("33.npz").value(states)
    np.testing.assert_array_equal(values, np.stack([value, -value], 1))
    assert (probabilities.dtype, values.dtype) == (jnp.float32, jnp.float32)


@pytest.mark.parametrize(("reward", "expected"), [("win_loss", [-1, 1]), ("margin", [-2, 2]), ("boxes", [-3, 3])])
def test_values_of_dots_and_boxes_are_in_the_unit_of_the_reward(reward: str, expected: list[int]) -> None:
    """Seat 0 has one box. Seat 1 moves and takes the other three: they are one chain."""
    env = boxes(2, 2, reward)
    states = batch(env.from_string("111011111101 0... 1"), env.from_string("111111111111 0000 0"))
    probabilities, values = analyse(agents.make("solver(22.npz)", env), states)
    np.testing.assert_array_equal(values, [expected, [0, 0]])
    np.testing.assert_array_equal(probabilities.sum(1), [1, 0])


# -- texts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["solver(22.npz)", "solver(file=22.npz)", "solver('22.npz')", 'solver(file="22.npz")', " solver ( ./22.npz ) "],
)
def test_quotes_of_a_file_may_be_left_out(text: str) -> None:
    agent = agents.make(text, GAMES["22.npz"])
    assert isinstance(agent, SolverAgent)
    assert str(agent) in ("solver(22.npz)", "solver(./22.npz)")
    assert str(agents.make(str(agent), GAMES["22.npz"])) == str(agent)


@pytest.mark.parametrize("path", ["a=b.npz", "a,b.npz", " it's", '"x".npz', "a(b", "b\\n)", f"{NAME}.npz"])
def test_path_with_any_sign_is_written_in_quotes(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    solved("22.npz").save(path)
    agent = agents.make(f"solver({path!r}, ties=random)", GAMES["22.npz"])
    assert str(agent) == f"solver({path!r}, ties=random)"
    assert str(agents.make(str(agent), GAMES["22.npz"])) == str(agent)


@pytest.mark.parametrize("path", ["runs/a-b.c/22.npz", "../up/22", "with space.npz", "43"])
def test_path_needs_no_quotes(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    solved("22.npz").save(path)
    for text in (f"solver({path})", f"solver(file={path})", f"solver('{path}')"):
        assert str(agents.make(text, GAMES["22.npz"])) == f"solver({path})"


def test_text_is_taken_by_the_commands() -> None:
    assert split_list("solver(runs/22.npz), random") == ["solver(runs/22.npz)", "random"]
    assert str(train.agents.make("solver(22.npz)", GAMES["22.npz"])) == "solver(22.npz)"


def test_epsilon_mixes_random_moves_in() -> None:
    agent = agents.make("solver(22.npz, epsilon=0.5)", GAMES["22.npz"])
    assert str(agent) == "solver(22.npz, epsilon=0.5)"
    probabilities, _ = analyse(agent, batch(GAMES["22.npz"].init()))
    np.testing.assert_allclose(probabilities.max(), 0.5 + 0.5 / 12, rtol=1e-6)
    assert (probabilities > 0).all()


def test_agent_plays_boards_that_restart() -> None:
    env = jaxgames.auto_reset(GAMES["22.npz"])
    agent = agents.make("solver(22.npz)", env)
    assert act(agent, batch(env.from_string("111111110111 0.11 1"))).tolist() == [8]


def test_game_that_restarts_is_played() -> None:
    wrapped = jaxgames.auto_reset(GAMES["22.npz"])
    assert isinstance(agents.make("solver(22.npz)", wrapped), SolverAgent)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("solver", r"solver needs file: write solver\(file=...\)"),
        ("solver()", "solver needs file"),
        ("solver(none.npz)", "none.npz cannot be read .No such file or directory.: .* python -m jaxgames.solvers"),
        (".", "expected an agent such as"),
        ("solver(33.npz)", r"33.npz solves chinese_checkers_diamond\(.*\), not dots_and_boxes\("),
        ("solver(22.npz, depth=3)", "solver has no parameter 'depth'; its parameters are file, ties, epsilon"),
        ("solver(22.npz, epsilon=2)", "epsilon must be a finite number from 0 to 1, not 2"),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(jaxgames.ParameterError, match=message):
        agents.make(text, GAMES["22.npz"])


def test_file_that_is_no_solution_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(jaxgames.ParameterError, match=r"text.npz is not a file of jaxgames.solvers"):
        agents.make(f"solver({tmp_path / 'text.npz'})", GAMES["22.npz"])


def batch(*states: Any) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
