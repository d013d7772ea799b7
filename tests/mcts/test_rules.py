"""The rules of selection and UCT's rollouts by their formulas: UCT, PUCT with forced playouts, the improved policy."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError, agents
from jaxgames.mcts import SearchConfig, rollouts, search
from jaxgames.mcts.rollouts import UctConfig, rollout_returns
from jaxgames.mcts.selection import Puct, Rule, Uct
from jaxgames.mcts.tree import PADDING, Slots
from jaxgames.sampling import MASKED_LOGIT
from tests.helpers.positions import repeated
from tests.helpers.sticks import Sticks
from tests.mcts.evaluations import Linear, random_boards

PLAIN = SearchConfig(search="puct", pb_c_init=1.25)
FORCED = dataclasses.replace(PLAIN, forced_playouts=2.0)
ROWS, SLOTS = 200, 5


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


@pytest.mark.slow  # compiles a search
def test_search_visits_every_tried_action_often_enough_and_its_policy_is_one() -> None:
    env = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
    evaluate, states = Linear(env), random_boards(env, 64, steps=5)
    config = dataclasses.replace(FORCED, simulations=48, pb_c_init=2.5)
    result = jax.device_get(search(env, evaluate, config, jax.random.key(0), evaluate.params(0), states))
    live = ~np.asarray(states.terminated)
    np.testing.assert_allclose(result.weights.sum(1)[live], 1, atol=1e-5)
    logits = jax.device_get(evaluate(evaluate.params(0), states).logits)
    of_slots = np.take_along_axis(logits, np.maximum(result.slots, 0), axis=1)
    priors = np.asarray(jax.nn.softmax(np.where(result.slots == PADDING, MASKED_LOGIT, of_slots)))
    least = np.floor(np.sqrt(2 * priors * 48)) - 1  # the last forced visit can come too late
    tried = (result.visits > 0) & live[:, None]
    assert (result.visits >= least)[tried].all()
    assert ((result.weights == 0) & tried).any()


# -- rollouts ----------------------------------------------------------------------------------------------------------


def test_rollouts_are_cut_off_after_their_steps_and_their_mean_counts() -> None:
    """One stick is left to seat 0, or four: then one step pays nothing."""
    env = Sticks(num_players=2, sticks=10)
    states = jax.vmap(env.at)(jnp.array([1, 4, 0]), jnp.array([0, 0, 0]))
    playout = agents.make("random", env)

    def returns(max_rollout_steps: int) -> Any:
        config = UctConfig(rollouts=64, max_rollout_steps=max_rollout_steps)
        return np.asarray(rollout_returns(env, playout, config, jax.random.key(0), states))

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
    ("config", "wrong", "needles"),
    [
        (SearchConfig, {"simulations": 0}, ["simulations", "1"]),
        (SearchConfig, {"search": "alpha"}, ["search", "'puct'", "'alpha'"]),
        (SearchConfig, {"slots": 0}, ["slots", "1"]),
        (SearchConfig, {"max_considered": 0}, ["max_considered", "1"]),
        (SearchConfig, {"seats": "max"}, ["seats", "'max_n'", "'max'"]),
        (SearchConfig, {"dirichlet_fraction": 1.5}, ["dirichlet_fraction", "1.5"]),
        (SearchConfig, {"dirichlet_alpha": 0}, ["dirichlet_alpha", "0"]),
        (SearchConfig, {"gumbel_scale": -1}, ["gumbel_scale", "-1"]),
        (SearchConfig, {"gamma": float("nan")}, ["gamma", "nan"]),
        (SearchConfig, {"search": "puct", "forced_playouts": -1}, ["forced_playouts", "-1"]),
        (SearchConfig, {"forced_playouts": 2.0}, ["forced_playouts", "'puct'"]),
        (UctConfig, {"rollouts": 0}, ["rollouts", "1"]),
        (UctConfig, {"max_rollout_steps": -1}, ["max_rollout_steps", "-1"]),
        (UctConfig, {"uct_c": -1}, ["uct_c", "-1"]),
        (UctConfig, {"slots": 0}, ["slots", "1"]),
        (UctConfig, {"seats": "all"}, ["seats", "'max_n'", "'all'"]),
    ],
)
def test_wrong_setting_is_refused_with_what_is_allowed(config: Any, wrong: dict[str, Any], needles: list[str]) -> None:
    with pytest.raises(ParameterError) as error:
        config(**wrong)
    assert all(needle in str(error.value) for needle in needles)
