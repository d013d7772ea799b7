"""Tables of a policy's outputs: what they give, where they pay, and the agents and the self-play that use them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.mcts import SearchConfig
from jaxgames.policies.evaluate import PolicyEvaluate
from jaxgames.policies.search_agent import SearchAgent
from tests.helpers.positions import batched, random_actions
from train.alphazero import Config
from train.alphazero.learner import of_self_play
from train.models.policy import Policy
from train.models.tabulated import TabulatedPolicy, pays, tabulate, with_table

GAME = "chinese_checkers_diamond(size=3, pieces=3)"
ENV: Any = jaxgames.make(GAME)
POSITIONS = 84 * 20  # C(9, 3) * C(6, 3)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.of(ENV, "shared", "mlp", hidden_sizes=(8,))


@pytest.fixture(scope="module")
def params(policy: Policy) -> Any:
    """Random parameters, large enough that no value and no logit is trivial."""
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(policy.init, jax.random.key(0))
    return jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), shapes)


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


def test_table_gives_the_outputs_of_the_policy(policy: Policy, params: Any, boards: Any) -> None:
    table = jax.jit(tabulate, static_argnums=(0, 1))(ENV, policy, params)
    assert table[0].shape == (POSITIONS, ENV.num_actions)
    assert table[1].shape == (POSITIONS,)
    expected = PolicyEvaluate(ENV, policy)(params, boards)
    found = PolicyEvaluate(ENV, TabulatedPolicy(ENV))(table, boards)
    assert len(np.unique(np.asarray(expected.values[:, 0]))) > 50
    np.testing.assert_allclose(found.logits, expected.logits, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-5, atol=1e-5)


def test_agent_with_a_table_plays_as_without(policy: Policy, params: Any, boards: Any) -> None:
    agent = SearchAgent(params, ENV, policy, SearchConfig(simulations=8))
    with_it = with_table(agent, evaluations=POSITIONS + 1)
    assert with_it.policy == TabulatedPolicy(ENV)
    act = jax.jit(lambda agent: agent.act(jax.random.key(0), boards))
    np.testing.assert_array_equal(act(with_it), act(agent))


def test_agent_of_few_evaluations_keeps_its_network(policy: Policy, params: Any) -> None:
    agent = SearchAgent(params, ENV, policy, SearchConfig(simulations=8))
    assert with_table(agent, evaluations=POSITIONS) is agent


@pytest.mark.parametrize(
    ("game", "sharing", "evaluations", "expected"),
    [
        (GAME, "shared", POSITIONS + 1, True),
        (GAME, "shared", POSITIONS, False),
        (GAME, "independent", 10**9, False),  # the outputs depend on the seat
        ("chinese_checkers_diamond(size=4, pieces=3)", "shared", 10**9, True),
        ("chinese_checkers_diamond(size=4, pieces=6)", "shared", 10**9, False),  # too large
        ("dots_and_boxes(rows=2, cols=2)", "shared", 10**9, False),
    ],
)
def test_where_a_table_pays(game: str, sharing: Any, evaluations: int, expected: bool) -> None:
    env = jaxgames.make(game)
    assert pays(env, Policy.of(env, sharing, "mlp", hidden_sizes=(8,)), evaluations) is expected


@pytest.mark.parametrize(("simulations", "tabulated"), [(26, False), (27, True)])
def test_self_play_has_a_table_where_it_evaluates_more_boards_than_there_are_positions(
    simulations: int, tabulated: bool, policy: Policy, params: Any
) -> None:
    config = Config(env=GAME, num_envs=8, rollout_length=8, simulations=simulations)
    found, its_params = of_self_play(config, ENV, policy, params)
    assert isinstance(found, TabulatedPolicy) is tabulated
    assert (its_params is params) is not tabulated
