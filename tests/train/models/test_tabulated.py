"""Tables of a policy's outputs: what they give, where they pay, and the agents and the self-play that use them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.games.chinese_checkers_diamond.positions import num_positions
from jaxgames.games.chinese_checkers_diamond.solution import index_of_observations, states_of_indices
from jaxgames.mcts import SearchAgent, SearchConfig
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import PolicyEvaluate
from jaxgames.sampling import MASKED_LOGIT
from tests.helpers.networks import random_leaves
from tests.helpers.positions import batched, random_actions
from train.models.policy import Policy
from train.models.tabulated import TabulatedPolicy, table_pays, tabulate, with_table

GAME = "chinese_checkers_diamond(size=3, pieces=3)"
ENV: Any = jaxgames.make(GAME)
POSITIONS = 84 * 20  # C(9, 3) * C(6, 3)
SLOTS = 4


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.of(ENV, "shared", "mlp", hidden_sizes=(8,))


@pytest.fixture(scope="module")
def params(policy: Policy) -> Any:
    return random_leaves(jax.eval_shape(policy.init, jax.random.key(0)))


@pytest.fixture(scope="module")
def boards() -> Any:
    """Boards of random games after 0 to 6 moves, with either seat to move."""
    rng = np.random.default_rng(1)
    states = jax.jit(jax.vmap(ENV.init))(jax.random.split(jax.random.key(0), 32))
    batches = [states]
    for _ in range(6):
        states = batched(ENV).step(states, random_actions(rng, np.asarray(batched(ENV).mask(states))))
        batches.append(states)
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *batches)


@pytest.mark.slow
def test_table_gives_the_outputs_of_the_policy(policy: Policy, params: Any, boards: Any) -> None:
    expected = PolicyEvaluate(ENV, policy)(params, boards)
    legal = np.asarray(batched(ENV).mask(boards))
    logits = np.where(legal, expected.logits, MASKED_LOGIT)
    assert len(np.unique(np.asarray(expected.values[:, 0]))) > 50
    assert (legal.sum(1) > SLOTS).any()
    assert (legal.sum(1) < SLOTS).any()
    table = tabulate(ENV, policy, params, SLOTS)
    found = PolicyEvaluate(ENV, TabulatedPolicy(ENV))(table, boards)
    largest = np.sort(logits, axis=1)[:, -SLOTS:]
    np.testing.assert_allclose(np.sort(found.logits, axis=1)[:, -SLOTS:], largest, rtol=1e-5, atol=1e-5)
    is_there = found.logits > MASKED_LOGIT
    np.testing.assert_array_equal(is_there.sum(1), np.minimum(legal.sum(1), SLOTS))
    np.testing.assert_allclose(found.logits[is_there], logits[is_there], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("size", "pieces"), [(3, 3), (6, 1)])
def test_observations_have_the_indices_of_their_states(size: int, pieces: int) -> None:
    """36 cells are two words."""
    env: Any = jaxgames.make("chinese_checkers_diamond", size=size, pieces=pieces)
    indices = np.random.default_rng(0).integers(0, num_positions(env), 64).astype(np.uint32)
    observations = jax.vmap(env.observe)(states_of_indices(env, indices))
    np.testing.assert_array_equal(index_of_observations(env, observations), indices)


@pytest.mark.parametrize("slots", [SLOTS, pytest.param(None, marks=pytest.mark.slow)])
def test_agent_with_a_table_plays_as_without(policy: Policy, params: Any, boards: Any, slots: int | None) -> None:
    agent = PolicyAgent(params, ENV, policy, 0.0).with_search(SearchConfig(simulations=8, slots=slots))
    with_it = with_table(agent, POSITIONS // 8 + 1)
    assert isinstance(with_it, SearchAgent)
    assert isinstance(with_it.evaluate, PolicyEvaluate)
    assert with_it.evaluate.policy == TabulatedPolicy(ENV)
    act = jax.jit(lambda agent: agent.act(jax.random.key(0), boards))
    np.testing.assert_array_equal(act(with_it), act(agent))


def test_other_agents_stay_as_they_are(policy: Policy, params: Any) -> None:
    few = PolicyAgent(params, ENV, policy, 0.0).with_search(SearchConfig(simulations=8))
    assert with_table(few, POSITIONS // 8) is few
    alone = PolicyAgent(params, ENV, policy)
    assert with_table(alone, 10**9) is alone


@pytest.mark.parametrize(
    ("game", "sharing", "evaluations", "slots", "expected"),
    [
        (GAME, "shared", POSITIONS + 1, 64, True),
        (GAME, "shared", POSITIONS, 64, False),
        (GAME, "independent", 10**9, 64, False),  # the outputs depend on the seat
        ("chinese_checkers_diamond(size=5, pieces=3)", "shared", 10**9, 24, True),
        ("chinese_checkers_diamond(size=5, pieces=3)", "shared", 10**9, 25, False),  # too large
        ("dots_and_boxes(rows=2, cols=2)", "shared", 10**9, 12, False),
    ],
)
def test_where_a_table_pays(game: str, sharing: Any, evaluations: int, slots: int, expected: bool) -> None:
    env = jaxgames.make(game)
    assert table_pays(env, Policy.of(env, sharing, "mlp", hidden_sizes=(8,)), evaluations, slots) is expected
