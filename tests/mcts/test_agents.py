"""Agents that search, UCT's rollouts, and the rules of selection by their formulas: UCT, PUCT with forced playouts."""

import builtins
import dataclasses
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError, agents, auto_reset
from jaxgames.mcts import SearchAgent, SearchConfig, bytes_per_node, rollouts, search
from jaxgames.mcts import agents as searching
from jaxgames.mcts.rollouts import UctConfig, rollout_returns
from jaxgames.mcts.selection import Puct, Rule, Uct
from jaxgames.mcts.tree import PADDING, Slots
from jaxgames.sampling import MASKED_LOGIT
from tests.helpers.positions import batched, repeated, stacked
from tests.helpers.scripted_agents import OnHost, analysis_of
from tests.helpers.sticks import LuckySticks, Sticks
from tests.mcts.evaluations import Linear, random_boards

STICKS = Sticks(num_players=2, sticks=10)
BOXES = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
PLAIN = SearchConfig(search="puct", pb_c_init=1.25)
FORCED = dataclasses.replace(PLAIN, forced_playouts=2.0)
ROWS, SLOTS = 200, 5

act: Any = jax.jit(lambda agent, key, states: agent.act(key, states))


# -- agents ------------------------------------------------------------------------------------------------------------


def uct_actions() -> list[int]:
    """UCT plays with 10, 9, 7, 3 and 2 sticks. A player who leaves a multiple of 4 wins."""
    states = jax.vmap(STICKS.at)(jnp.array([10, 9, 7, 3, 2]), jnp.array([0, 1, 0, 1, 0]))
    return act(agents.make("mcts(simulations=400)", STICKS), jax.random.key(0), states).tolist()


def test_uct_leaves_a_multiple_of_four_sticks() -> None:
    assert uct_actions() == [1, 0, 2, 2, 1]


def test_text_of_an_agent_has_the_simulations() -> None:
    assert str(agents.make("mcts", BOXES)) == "mcts(simulations=1000)"


def test_agent_plays_by_its_params_and_analyses_by_its_weights() -> None:
    """Finished boards have neither, nor have those that a limit cut off, which the evaluation would value."""
    evaluate, config = Linear(BOXES), SearchConfig(simulations=4)
    states = random_boards(BOXES, 16, 12)
    states = dataclasses.replace(states, truncated=jnp.arange(16) % 4 == 3)
    chosen = [
        SearchAgent(BOXES, evaluate, config, evaluate.params(seed)).act(jax.random.key(0), states) for seed in (0, 1)
    ]
    assert (chosen[0] != chosen[1]).any()
    probabilities, values = analysis_of(SearchAgent(BOXES, evaluate, config, evaluate.params(0)), states)
    live = ~np.asarray(states.terminated | states.truncated)
    assert 4 < live.sum() < 12
    np.testing.assert_allclose(probabilities.sum(-1), live, atol=1e-5)
    assert (np.asarray(probabilities)[~np.asarray(batched(BOXES).mask(states))] == 0).all()
    assert values is not None
    np.testing.assert_allclose(values[:, 0], -values[:, 1], atol=1e-6)
    assert (np.asarray(values).any(-1) == live).all()


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


# -- rules of selection ------------------------------------------------------------------------------------------------


def node(priors: list[float], visits: list[int], values: list[float]) -> Slots:
    """One node whose value is 0; a slot whose prior is 0 is padding."""
    actions = [PADDING if prior == 0 else place for place, prior in enumerate(priors)]
    logits = jnp.where(jnp.array(priors) == 0, MASKED_LOGIT, jnp.log(jnp.array(priors)))
    rows = [jnp.array(row)[None] for row in (actions, logits, visits, values)]
    return Slots(*rows, raw_value=jnp.zeros(1))


@pytest.mark.parametrize(
    ("rule", "slots", "slot"),
    [
        (Uct(0.3), node([0.3, 0.3, 0.4], [5, 3, 2], [0.1, 0.3, 0.2]), 1),  # the bounds are 0.30, 0.56 and 0.52
        (Uct(2.0), node([0.3, 0.3, 0.4], [5, 3, 2], [0.1, 0.3, 0.2]), 2),  # 1.46, 2.05 and 2.35
        (Uct(0.0), node([0.3, 0.3, 0.4], [5, 3, 0], [0.9, 0.2, 0.0]), 2),  # without visits
        (Uct(9.0), node([0.5, 0.5, 0.0], [5, 3, 0], [0.9, 0.2, 0.0]), 1),  # padding
        (Puct(PLAIN), node([0.6, 0.2, 0.2], [60, 1, 6], [0.9, -0.9, 0.0]), 0),
        (Puct(FORCED), node([0.6, 0.2, 0.2], [60, 1, 6], [0.9, -0.9, 0.0]), 1),  # sqrt(2 * 0.2 * 67) = 5.2
        (Puct(FORCED), node([0.9, 0.05, 0.05], [60, 0, 6], [0.9, 0.0, 0.0]), 0),  # only once it has a visit
    ],
)
def test_rule_selects_by_its_formula(rule: Rule, slots: Slots, slot: int) -> None:
    assert rule.at_root(slots).tolist() == [slot]


def test_uct_decides_for_the_most_visits() -> None:
    best, shares = Uct(1.0).decide(node([0.25] * 4, [5, 3, 2, 0], [0.1, 0.3, 0.2, 0.0]))
    assert best.tolist() == [0]
    np.testing.assert_allclose(shares[0], [0.5, 0.3, 0.2, 0])


def random_nodes() -> Slots:
    rng = np.random.default_rng(0)
    visits = rng.integers(0, 30, (ROWS, SLOTS)) * (rng.random((ROWS, SLOTS)) < 0.8)
    visits[:, 0] += 1
    actions, logits = np.tile(np.arange(SLOTS), (ROWS, 1)), rng.normal(size=(ROWS, SLOTS)).astype(np.float32)
    actions[:20, -1], logits[:20, -1], visits[:20, -1] = PADDING, MASKED_LOGIT, 0
    values = np.where(visits > 0, rng.uniform(-1, 1, (ROWS, SLOTS)), 0).astype(np.float32)
    return Slots(*map(jnp.asarray, (actions, logits, visits, values, rng.uniform(-1, 1, ROWS).astype(np.float32))))


def normalised(visits: np.ndarray, values: np.ndarray, raw_value: float) -> np.ndarray:
    """The values of a node between 0 and 1, as PUCT reads them.

    The lowest and the highest are those of the node and of its visited slots. The value of the node is the mean of its
    own and of its visits.
    """
    of_node = (raw_value + (visits * values).sum()) / (visits.sum() + 1)
    known = [of_node, *values[visits > 0]]
    return (np.where(visits > 0, values, min(known)) - min(known)) / max(max(known) - min(known), FORCED.value_epsilon)


def test_policy_leaves_out_forced_visits_down_to_the_score_of_the_best() -> None:
    """The formulas of KataGo, slot by slot: no slot is worth more than the best after what it loses."""
    slots = random_nodes()
    best, shares = (np.asarray(each) for each in jax.jit(Puct(FORCED).decide)(slots))
    plain_best, plain = (np.asarray(each) for each in jax.jit(Puct(PLAIN).decide)(slots))
    np.testing.assert_array_equal(best, plain_best)
    visits, logits = np.asarray(slots.visits), np.asarray(slots.logits, np.float64)
    priors = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    changed = 0
    for row in range(ROWS):
        total = visits[row].sum()
        values = normalised(visits[row], np.asarray(slots.values, np.float64)[row], float(slots.raw_value[row]))
        weights = np.sqrt(total + 1) * (1.25 + np.log((total + 19654) / 19652)) * priors[row]
        score = (values + weights / (1 + visits[row]))[best[row]]
        kept = visits[row].copy()
        for slot in set(range(SLOTS)) - {best[row]}:
            least = visits[row, slot] - np.sqrt(2 * priors[row, slot] * total)
            while kept[slot] and kept[slot] - 1 >= least and values[slot] + weights[slot] / kept[slot] <= score:
                kept[slot] -= 1
            if kept[slot] <= 1:
                kept[slot] = 0
        np.testing.assert_allclose(shares[row], kept / kept.sum(), atol=1e-6)
        changed += (kept != visits[row]).any()
    assert ROWS // 4 < changed < ROWS
    np.testing.assert_allclose(plain, visits / visits.sum(1, keepdims=True), atol=1e-6)


# -- rollouts ----------------------------------------------------------------------------------------------------------


def test_rollouts_are_cut_off_after_their_steps_and_their_mean_counts() -> None:
    """One stick is left to seat 0, or four: then one step pays nothing."""
    states, playout = jax.vmap(STICKS.at)(jnp.array([1, 4, 0]), jnp.array([0, 0, 0])), agents.make("random", STICKS)

    def returns(max_rollout_steps: int) -> Any:
        config = UctConfig(rollouts=64, max_rollout_steps=max_rollout_steps)
        return np.asarray(rollout_returns(STICKS, playout, config, jax.random.key(0), states))

    assert returns(0).tolist() == [[0, 0]] * 3
    once, whole = returns(1), returns(9)
    assert once[0].tolist() == whole[0].tolist() != [0, 0]
    assert once[1:].tolist() == [[0, 0]] * 2
    assert 0 < abs(whole[1, 0]) < 1
    np.testing.assert_allclose(whole.sum(1), 0, atol=1e-6)


def test_constant_of_exploration_is_multiplied_by_half_the_range_of_a_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards are from -1 to 1 with two seats, from -1 to 2 with three. Only traced."""
    constants: list[float] = []
    monkeypatch.setattr(rollouts, "Uct", lambda c: constants.append(c) or Uct(c))  # pyright: ignore[reportUnknownLambdaType]
    for env in (Sticks(num_players=2), Sticks(num_players=3)):
        agent = agents.make("mcts(simulations=2, uct_c=0.5)", env)
        jax.eval_shape(agent.act, jax.random.key(0), repeated(env.init(), 1))
    assert constants == [0.5, 0.75]


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "needles"),
    [
        (partial(SearchConfig, simulations=0), ["simulations", "1"]),
        (partial(SearchConfig, search="alpha"), ["search", "'puct'", "'alpha'"]),
        (partial(SearchConfig, slots=0), ["slots", "1"]),
        (partial(SearchConfig, max_considered=0), ["max_considered", "1"]),
        (partial(SearchConfig, seats="max"), ["seats", "'max_n'", "'max'"]),
        (partial(SearchConfig, dirichlet_fraction=1.5), ["dirichlet_fraction", "1.5"]),
        (partial(SearchConfig, dirichlet_alpha=0), ["dirichlet_alpha", "0"]),
        (partial(SearchConfig, gumbel_scale=-1), ["gumbel_scale", "-1"]),
        (partial(SearchConfig, gamma=float("nan")), ["gamma", "nan"]),
        (partial(SearchConfig, search="puct", forced_playouts=-1), ["forced_playouts", "-1"]),
        (partial(SearchConfig, forced_playouts=2.0), ["forced_playouts", "'puct'"]),
        (partial(UctConfig, rollouts=0), ["rollouts", "1"]),
        (partial(UctConfig, max_rollout_steps=-1), ["max_rollout_steps", "-1"]),
        (partial(UctConfig, uct_c=-1), ["uct_c", "-1"]),
        (partial(UctConfig, slots=0), ["slots", "1"]),
        (partial(UctConfig, seats="all"), ["seats", "'max_n'", "'all'"]),
        (partial(agents.make, "mcts(playout=first_class)", BOXES), ["'first_class'"]),
        (partial(agents.make, "mcts(first_class=3)", BOXES), ["'first_class'"]),
        (partial(agents.make, "mcts(playout=alphabeta)", BOXES), ["playout", "device", "'alphabeta'"]),
        (partial(agents.make, "mcts(playout=on_host)", BOXES), ["playout", "device", "'on_host'"]),
        (partial(agents.make, "mcts(playout=greedy)", STICKS), ["greedy", "sticks"]),
        (partial(agents.make, "mcts", LuckySticks()), ["chance", "sticks"]),
    ],
)
def test_wrong_setting_is_refused_with_what_is_allowed(call: Callable[[], Any], needles: list[str]) -> None:
    agents.register("on_host", OnHost)
    with pytest.raises(ParameterError) as error:
        call()
    assert all(needle in str(error.value) for needle in needles)
