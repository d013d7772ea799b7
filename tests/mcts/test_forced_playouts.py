"""Forced playouts of PUCT: the visits that they bring, and those that the improved policy leaves out for them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.mcts import SearchConfig, search, selection
from jaxgames.mcts.selection import Puct
from jaxgames.mcts.tree import PADDING, Slots
from jaxgames.sampling import MASKED_LOGIT
from tests.mcts.evaluations import Linear, random_boards

PLAIN = SearchConfig(search="puct", pb_c_init=1.25)
FORCED = dataclasses.replace(PLAIN, forced_playouts=2.0)
ROWS, SLOTS = 200, 5


def node(priors: list[float], visits: list[int], values: list[float]) -> Slots:
    """One node whose value is 0."""
    rows = [jnp.array(row)[None] for row in (jnp.arange(len(priors)), jnp.log(jnp.array(priors)), visits, values)]
    return Slots(*rows, raw_value=jnp.zeros(1))


def random_nodes() -> Slots:
    rng = np.random.default_rng(0)
    visits = rng.integers(0, 30, (ROWS, SLOTS)) * (rng.random((ROWS, SLOTS)) < 0.8)
    visits[:, 0] += 1
    actions, logits = np.tile(np.arange(SLOTS), (ROWS, 1)), rng.normal(size=(ROWS, SLOTS)).astype(np.float32)
    actions[:20, -1], logits[:20, -1], visits[:20, -1] = PADDING, MASKED_LOGIT, 0
    values = np.where(visits > 0, rng.uniform(-1, 1, (ROWS, SLOTS)), 0).astype(np.float32)
    return Slots(*map(jnp.asarray, (actions, logits, visits, values, rng.uniform(-1, 1, ROWS).astype(np.float32))))


@pytest.mark.slow  # compiles a search of its own
def test_action_with_too_few_visits_is_forced_once_it_has_one() -> None:
    priors, values = [0.6, 0.2, 0.2], [0.9, -0.9, 0.0]
    low, none = node(priors, [60, 1, 6], values), node(priors, [60, 0, 6], values)
    assert [int(rule.at_root(low)[0]) for rule in (Puct(PLAIN), Puct(FORCED))] == [0, 1]  # sqrt(2 * 0.2 * 67) = 5.2
    assert int(Puct(FORCED).at_root(none)[0]) == int(Puct(PLAIN).at_root(none)[0])
    assert int(Puct(FORCED).below(low)[0]) == 0


def test_policy_leaves_out_forced_visits_down_to_the_score_of_the_best() -> None:
    """The formulas of KataGo, slot by slot: no slot is worth more than the best after what it loses."""
    slots = random_nodes()
    best, shares = (np.asarray(each) for each in jax.jit(Puct(FORCED).decide)(slots))
    plain_best, plain = (np.asarray(each) for each in jax.jit(Puct(PLAIN).decide)(slots))
    np.testing.assert_array_equal(best, plain_best)
    visits, logits = np.asarray(slots.visits), np.asarray(slots.logits, np.float64)
    priors = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    values = np.asarray(jax.vmap(normalised)(slots), np.float64)
    changed = 0
    for row in range(ROWS):
        total = visits[row].sum()
        weights = np.sqrt(total + 1) * (1.25 + np.log((total + 19654) / 19652)) * priors[row]
        score = (values[row] + weights / (1 + visits[row]))[best[row]]
        kept = visits[row].copy()
        for slot in set(range(SLOTS)) - {best[row]}:
            least = visits[row, slot] - np.sqrt(2 * priors[row, slot] * total)
            while kept[slot] and kept[slot] - 1 >= least and values[row, slot] + weights[slot] / kept[slot] <= score:
                kept[slot] -= 1
            if kept[slot] <= 1:
                kept[slot] = 0
        np.testing.assert_allclose(shares[row], kept / kept.sum(), atol=1e-6)
        changed += (kept != visits[row]).any()
    assert ROWS // 4 < changed < ROWS
    np.testing.assert_allclose(plain, visits / visits.sum(1, keepdims=True), atol=1e-6)


def normalised(row: Slots) -> jax.Array:
    """The values of a node between 0 and 1, as PUCT reads them."""
    return Puct(FORCED)._transform(selection._as_tree(row), 0)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("wrong", [-1, float("nan")])
def test_wrong_number_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="forced_playouts must be"):
        SearchConfig(forced_playouts=wrong)


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


def test_gumbel_search_has_no_forced_playouts() -> None:
    with pytest.raises(ValueError, match="forced_playouts needs search='puct'"):
        dataclasses.replace(FORCED, search="gumbel")
