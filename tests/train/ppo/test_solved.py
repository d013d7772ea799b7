"""Games that are solved exactly, or played to the end: targets of values, and the best reply to a fixed opponent.

`tests/train/test_runs.py` has the policy of self-play beside perfect play.
"""

import functools
from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import reward_scale
from jaxgames.solvers.exact.agent import SolverAgent
from tests.helpers.networks import with_policy
from tests.helpers.scripted_agents import analysis_of
from tests.helpers.solved import solved_boxes
from tests.helpers.sticks import Sticks
from train import ppo
from train.ppo import PPO, Config

BOXES: Any = jaxgames.make("dots_and_boxes(rows=2, cols=3, reward=boxes)")
EXACT: dict[str, Any] = {"gamma": 1.0, "gae_lambda": 1.0, "num_minibatches": 1}
LENGTH, NUM_ENVS = 8, 64
EPSILON = 0.5  # of the opponent in training against it


# -- targets of values ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SolvedPolicy:
    """The exact value of the mover, and equal logits. The parameters are the value of every index, float32[P]."""

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        parts = observation[:, ::2, 1::2, 0], observation[:, 1::2, ::2, 0]  # horizontal and vertical edges
        edges = jnp.concatenate([part.reshape(len(seat), -1) for part in parts], 1)
        index = edges.astype(jnp.uint32) @ (jnp.uint32(1) << jnp.arange(edges.shape[1], dtype=jnp.uint32))
        return jnp.zeros((len(seat), BOXES.num_actions)), params[index] * reward_scale(BOXES)


@jax.jit
def returns(player: SolverAgent, boards: Any) -> jax.Array:
    """float32[B, 2], the rewards of both seats from there on, if two perfect players play on."""

    def step(carry: tuple[Any, jax.Array], _: None) -> tuple[tuple[Any, jax.Array], None]:
        boards, paid = carry
        after = jax.vmap(BOXES.step)(boards, player.act(jax.random.key(0), boards))
        return (after, paid + after.rewards), None

    start = boards, jnp.zeros((len(boards.current_player), 2))
    return jax.lax.scan(step, start, length=BOXES.num_edges)[0][1]


def test_advantages_and_the_agents_values_are_what_perfect_players_are_paid_later() -> None:
    """On boards of random games. With gamma = lambda = 1, value + advantage is all that the seat is paid.

    No observation of dots and boxes shows whose turn it is. So a value of the seat that is not to move, taken from that
    seat's own observation, would be as if it were to move.
    """
    solution = solved_boxes(2, 3)
    learner = with_policy(Config(env=str(BOXES), num_envs=NUM_ENVS, rollout_length=LENGTH, **EXACT), SolvedPolicy())

    @jax.jit
    def play(train_state: Any) -> Any:
        train_state, steps = learner.collect(train_state)
        return train_state, (*learner.advantages(train_state.params, steps), train_state.boards.board)

    table = jnp.asarray(solution.table, jnp.float32)
    start = jax.jit(PPO(learner.config).init)(jax.random.key(0))._replace(params=table)
    steps, advantages, boards = jax.device_get(play(play(start)[0])[1])
    player = SolverAgent(BOXES, type(solution), "solver", "first", solution.device_table)
    paid = np.asarray(returns(player, boards))
    agent = PolicyAgent(table, BOXES, cast(Any, SolvedPolicy()))
    np.testing.assert_allclose(np.asarray(analysis_of(agent, boards).values), paid, atol=1e-5)
    after = paid * reward_scale(BOXES)
    ended = steps.terminated | steps.truncated
    targets, num_checked = steps.value + advantages, 0
    for time, board in np.ndindex(LENGTH, NUM_ENVS):
        if not ended[time:, board].any():  # the game goes on after the rollout
            expected = (steps.rewards[time:, board].sum(0) + after[board])[steps.seat[time, board]]
            np.testing.assert_allclose(targets[time, board], expected, atol=1e-5)
            num_checked += 1
    assert num_checked > NUM_ENVS * LENGTH / 2
    assert np.square(after).mean() > 0.1  # 0 would be wrong


# -- against a fixed opponent --------------------------------------------------------------------------------------


def best_reply_values(left: int) -> list[float]:
    """The values of taking 1, 2, ... sticks against the opponent that takes one, or with EPSILON a random number."""

    def after(left: int) -> float:
        """The learner's value where the opponent is to move."""
        most = min(3, left)
        chances = [EPSILON / most + (1 - EPSILON) * (take == 1) for take in range(1, most + 1)]
        results = [-1.0 if take == left else max(best_reply_values(left - take)) for take in range(1, most + 1)]
        return sum(chance * result for chance, result in zip(chances, results, strict=True))

    return [1.0 if take == left else after(left - take) for take in range(1, min(3, left) + 1)]


@pytest.mark.slow
def test_greedy_policy_against_a_fixed_opponent_is_the_best_reply_to_it(sticks: None) -> None:
    """It takes one of four sticks, where all moves lose against a perfect opponent."""
    config = Config(
        env="sticks(num_players=2, sticks=7)",
        opponents=("first",),
        opponent_epsilon=EPSILON,
        total_steps=100 * 32 * 32,
        num_envs=32,
        rollout_length=32,
        update_epochs=4,
        num_minibatches=4,
        learning_rate=0.02,
        gamma=1.0,
        ent_coef=0.05,  # enough to visit every position until the end
        hidden_sizes=(32,),
    )
    with jax.debug_key_reuse(True):  # refuses a key that is used twice
        train_state, _ = jax.jit(functools.partial(ppo.train, config))(jax.random.key(0))
    left, seats = np.divmod(np.arange(14), 2)
    boards = jax.vmap(Sticks(num_players=2, sticks=7).at)(jnp.asarray(left + 1), jnp.asarray(seats))
    actions = np.asarray(PPO(config).agent(train_state.params, temperature=0.0).act(jax.random.key(0), boards))
    assert np.argmax(best_reply_values(4)) == 0
    for sticks_left, found in enumerate(actions.reshape(7, 2), start=1):
        values = np.array(best_reply_values(sticks_left))
        assert sticks_left == 1 or values.min() < values.max()
        assert {*found.tolist()} <= {*np.flatnonzero(values >= values.max() - 1e-9).tolist()}, f"{values}"
