"""Agents that search: by name, as arguments of a compiled function, in parts, with and without mctx."""

import builtins
import dataclasses
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError, agents, arena, auto_reset
from jaxgames.mcts import SearchAgent, SearchConfig, bytes_per_node, search
from jaxgames.mcts import agents as searching
from tests.helpers.positions import batched, repeated, stacked
from tests.helpers.scripted_agents import analysis_of
from tests.helpers.sticks import Sticks
from tests.mcts.evaluations import Linear, Nothing, random_boards

STICKS = Sticks(num_players=2, sticks=10)
BOXES = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
act: Any = jax.jit(lambda agent, key, states: agent.act(key, states))


def uct_actions() -> list[int]:
    """UCT plays with 10, 9, 7, 3 and 2 sticks. A player who leaves a multiple of 4 wins."""
    states = jax.vmap(STICKS.at)(jnp.array([10, 9, 7, 3, 2]), jnp.array([0, 1, 0, 1, 0]))
    return act(agents.make("mcts(simulations=400)", STICKS), jax.random.key(0), states).tolist()


def test_uct_leaves_a_multiple_of_four_sticks() -> None:
    assert uct_actions() == [1, 0, 2, 2, 1]


@pytest.mark.slow
def test_uct_beats_random_play_for_any_number_of_seats() -> None:
    """Random play would win at most 60 and 40 of the 120 games."""
    for env, least in ((BOXES, 85), (Sticks(num_players=3), 60)):
        players = [agents.make("mcts(simulations=50)", env), agents.make("random", env)]
        seats = arena.seating((1, env.num_players - 1), "alternating", 120)
        games = arena.play(env, players, seats, jax.random.key(0))
        assert arena.results(env, games, seats)["wins"] > least


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("mcts", "mcts(simulations=1000)"),
        ("mcts(playout=greedy, rollouts=4, simulations=7)", "mcts(simulations=7, rollouts=4, playout='greedy')"),
        ("mcts(seats=paranoid, epsilon=0.1)", "mcts(simulations=1000, seats='paranoid', epsilon=0.1)"),
    ],
)
def test_text_of_an_agent_makes_the_same_agent(text: str, written: str) -> None:
    assert str(agents.make(text, BOXES)) == written
    assert str(agents.make(written, BOXES)) == written


@pytest.mark.parametrize("text", ["mcts(playout=first_class)", "mcts(first_class=3)"])
def test_wrong_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(ParameterError, match="'first_class'"):
        agents.make(text, BOXES)


def test_agent_plays_by_its_params_and_analyses_by_its_weights() -> None:
    evaluate, config = Linear(BOXES), SearchConfig(simulations=4)
    states = random_boards(BOXES, 16, 6)
    chosen = [
        SearchAgent(BOXES, evaluate, config, evaluate.params(seed)).act(jax.random.key(0), states) for seed in (0, 1)
    ]
    assert (chosen[0] != chosen[1]).any()
    probabilities, values = analysis_of(SearchAgent(BOXES, evaluate, config, evaluate.params(0)), states)
    mask = batched(BOXES).mask(states)
    np.testing.assert_allclose(probabilities.sum(-1), 1, atol=1e-5)
    assert (np.asarray(probabilities)[~np.asarray(mask)] == 0).all()
    assert values is not None
    assert values.shape == (16, 2)


def test_analysis_of_uct_has_shares_of_simulations_and_mean_returns() -> None:
    """With one edge left, for either seat; of the start; of a finished board, and of one that a limit cut off."""
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    states = [env.from_string(text) for text in ("1111110 0. 0", "1111110 1. 0", "1010100 .. 0", "1111111 00 0")]
    batch = stacked([*states, dataclasses.replace(states[0], truncated=jnp.bool_(True))])
    probabilities, values = map(np.asarray, analysis_of(agents.make("mcts(simulations=50)", env), batch))
    np.testing.assert_allclose(probabilities.sum(1), [1, 1, 1, 0, 0], rtol=1e-5)
    assert not probabilities[2, [0, 2, 4]].any()
    for row in (0, 1):
        assert probabilities[row].max() == 1
        np.testing.assert_allclose(values[row], env.step(states[row], 6).rewards, atol=1e-5)
    np.testing.assert_allclose(values.sum(1), 0, atol=1e-5)
    assert not values[3:].any()


def test_finished_boards_have_no_probabilities_and_values_of_0() -> None:
    """Also a board that a limit cut off, where the evaluation would give a value of its own."""
    live = STICKS.at(5, 0)
    states = stacked([live, STICKS.at(0, 1), dataclasses.replace(live, truncated=jnp.bool_(True))])
    agent = SearchAgent(STICKS, Nothing(STICKS), SearchConfig(simulations=2), jnp.array([0.7, -0.7]))
    probabilities, values = jax.jit(analysis_of)(agent, states)
    np.testing.assert_allclose(probabilities.sum(1), [1, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(values, [[0.7, -0.7], [0, 0], [0, 0]], rtol=1e-6)


def test_large_batch_is_searched_in_parts_with_the_same_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts of six boards; two boards fill up the last part."""
    evaluate, config, searched = Linear(BOXES), SearchConfig(simulations=4), list[int]()
    agent = SearchAgent(BOXES, evaluate, config, evaluate.params(0))
    states = random_boards(BOXES, 16, 6)
    expected = agent.act(jax.random.key(0), states)

    def watched(*arguments: Any) -> Any:
        searched.append(len(arguments[-1].terminated))
        return search(*arguments)

    monkeypatch.setattr(searching, "search", watched)
    monkeypatch.setattr(searching, "MAX_TREE_BYTES", 6 * 4 * bytes_per_node(BOXES, config))
    in_parts = jax.jit(lambda agent: agent.act(jax.random.key(0), states))
    assert (in_parts(agent) == expected).all()
    assert searched == [6]


def test_without_mctx_the_error_names_what_to_install_and_uct_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_mctx(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == "mctx":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.delitem(sys.modules, "mctx", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_mctx)
    evaluate = Linear(BOXES)
    states = repeated(BOXES.init(), 5)
    with pytest.raises(ImportError, match=r'pip install "jaxgames\[search\]"'):
        SearchAgent(BOXES, evaluate, SearchConfig(simulations=3), evaluate.params(0)).act(jax.random.key(0), states)
    assert uct_actions() == [1, 0, 2, 2, 1]


def test_uct_plays_the_live_boards_of_an_env_that_restarts() -> None:
    game = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    env = auto_reset(game)
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 3))
    expected = agents.make("mcts(simulations=8)", game).act(jax.random.key(1), states.board)
    assert (agents.make("mcts(simulations=8)", env).act(jax.random.key(1), states) == expected).all()
