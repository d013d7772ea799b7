"""The values of both seats, beside games that two perfect players play to the end.

The policy is the solution of the game, read from the mover's observation: a network that has learned without an error.
No observation of the games shows whose turn it is. So a value of the seat that is not to move, taken from that seat's
own observation, would be as if it were to move. With three seats, the policy is that of players who take one stick.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.games.chinese_checkers_diamond.solution import index_of_observations
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import reward_scale
from jaxgames.solvers.exact.agent import SolverAgent
from jaxgames.solvers.exact.retrograde import ILLEGAL
from jaxgames.solvers.exact.solution import Solution
from tests.helpers.ppo import with_policy
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.helpers.sticks import Sticks
from train import ppo
from train.ops.episodes import EpisodeStats
from train.ppo import PPO, Config

BOXES = "dots_and_boxes(rows=3, cols=3, reward=boxes)"
SMALL_BOXES = "dots_and_boxes(rows=2, cols=3, reward=boxes)"
DIAMOND = "chinese_checkers_diamond(size=4, pieces=3)"
LENGTH, NUM_ENVS = 8, 64


@dataclass(frozen=True)
class SolvedPolicy:
    """The exact value of the mover, and equal logits. The parameters are the value of every index, float32[P]."""

    env: jaxgames.Env[Any]

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        if self.env.id == "dots_and_boxes":
            horizontal, vertical = observation[:, ::2, 1::2, 0], observation[:, 1::2, ::2, 0]
            edges = jnp.concatenate([part.reshape(len(seat), -1) for part in (horizontal, vertical)], 1)
            index = edges.astype(jnp.uint32) @ (jnp.uint32(1) << jnp.arange(edges.shape[1], dtype=jnp.uint32))
        else:
            index: Any = index_of_observations(self.env, observation)  # pyright: ignore[reportArgumentType]  # a diamond
        return jnp.zeros((len(seat), self.env.num_actions)), params[index] * reward_scale(self.env)


@dataclass(frozen=True)
class Case:
    env: jaxgames.Env[Any]
    solution: Solution[Any]
    table: jax.Array  # the parameters of SolvedPolicy

    @property
    def policy(self) -> Any:
        return SolvedPolicy(self.env)

    @functools.cached_property
    def returns(self) -> Any:
        """Boards -> float32[B, 2], the rewards of both seats from there on, if two perfect players play on."""

        @jax.jit
        def play(player: SolverAgent, boards: Any) -> jax.Array:
            def step(carry: tuple[Any, jax.Array], _: None) -> tuple[tuple[Any, jax.Array], None]:
                boards, paid = carry
                after = jax.vmap(self.env.step)(boards, player.act(jax.random.key(0), boards))
                return (after, paid + after.rewards), None

            start = boards, jnp.zeros((len(boards.current_player), 2))
            return jax.lax.scan(step, start, length=64)[0][1]

        return functools.partial(
            play, SolverAgent(self.env, type(self.solution), "solver", "first", self.solution.device_table)
        )


@pytest.fixture(
    scope="module", params=[SMALL_BOXES, *(pytest.param(game, marks=pytest.mark.slow) for game in (BOXES, DIAMOND))]
)
def case(request: pytest.FixtureRequest) -> Case:
    env: Any = jaxgames.make(request.param)
    if env.id == "dots_and_boxes":
        solution = solved_boxes(env.rows, env.cols)
        return Case(env, solution, jnp.asarray(solution.table, jnp.float32))
    diamond = solved_diamond(env.size, env.pieces)
    entry = diamond.table.astype(int)
    table = np.where(entry >= int(ILLEGAL), 0, np.where(entry % 2 == 1, 1, -1))
    return Case(env, diamond, jnp.asarray(table, jnp.float32))


@pytest.fixture(scope="module")
def rollout(case: Case) -> tuple[ppo.Transition, np.ndarray, Any]:
    """Random moves on boards of random games: the steps, their advantages and the last boards."""
    settings: dict[str, Any] = {
        "num_envs": NUM_ENVS,
        "rollout_length": LENGTH,
        "gamma": 1.0,
        "gae_lambda": 1.0,
        "num_minibatches": 1,
    }
    learner = with_policy(Config(env=str(case.env), **settings), case.policy)

    @jax.jit
    def play(train_state: Any) -> Any:
        train_state, steps = learner.collect(train_state)
        return train_state, (*learner.advantages(train_state.params, steps), train_state.boards.board)

    start = jax.jit(PPO(learner.config).init)(jax.random.key(0))._replace(params=case.table)
    return jax.device_get(play(play(start)[0])[1])


def test_agents_values_of_both_seats_are_what_perfect_players_are_paid(case: Case, rollout: Any) -> None:
    boards = rollout[2]
    agent = PolicyAgent(case.table, case.env, case.policy)
    values = jax.jit(lambda agent, boards: agent.analyse(boards).values)(agent, boards)
    returns = np.asarray(case.returns(boards))
    np.testing.assert_allclose(values, returns, atol=1e-5)
    off_turn = returns[np.arange(len(returns)), 1 - np.asarray(boards.current_player)]
    assert np.square(off_turn).mean() > 0.5  # 0 would be wrong


def test_advantages_are_what_perfect_players_are_paid_after_the_rollout(case: Case, rollout: Any) -> None:
    """With gamma = lambda = 1, value + advantage is all that the seat is paid from its decision on."""
    steps, advantages, boards = rollout
    after = np.asarray(case.returns(boards)) * reward_scale(case.env)
    ended = steps.terminated | steps.truncated
    targets, num_checked = steps.value + advantages, 0
    for board in range(NUM_ENVS):
        for time in range(LENGTH):
            seat, paid = steps.seat[time, board], steps.rewards[time:, board]
            if not ended[time:, board].any():  # the game goes on after the rollout
                np.testing.assert_allclose(targets[time, board], (paid.sum(0) + after[board])[seat], atol=1e-5)
                num_checked += 1
    assert num_checked > NUM_ENVS * LENGTH / 2


@pytest.mark.slow  # trains for half a minute
def test_values_that_a_network_learned_are_nearer_to_perfect_play_than_0_is_for_both_seats() -> None:
    """After 20 of the 24 edges, where the mover is far ahead."""
    learner = PPO(ppo.config_for(BOXES, total_steps=150_000))
    train_state, _ = jax.jit(functools.partial(ppo.train, learner.config))(jax.random.key(0))
    drawn = np.random.default_rng(0).random((2000, 24)).argsort(1) < 20
    solution = solved_boxes(3, 3)
    boards = solution.states_at(drawn.astype(np.uint32) @ (np.uint32(1) << np.arange(24, dtype=np.uint32)))
    values = np.asarray(jax.jit(lambda agent: agent.analyse(boards).values)(learner.agent(train_state.params)))
    of_mover = solution.value(boards).astype(float)  # the boxes to come, as the rewards count them
    for found, exact in ((values[:, 0], of_mover), (values[:, 1], -of_mover)):
        assert np.square(found - exact).mean() < 0.7 * np.square(exact).mean()


@dataclass(frozen=True)
class OneStick:
    """Takes one stick. The value is the mover's in such a game: it wins if the number of sticks is 1, 4, 7, ..."""

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        left = observation[:, :, 0].sum(-1)
        return jnp.broadcast_to(jnp.array([50.0, 0.0, 0.0]), (len(seat), 3)), jnp.where(left % 3 == 1, 1.0, -0.5)


def test_targets_of_three_seats_are_the_results_of_their_games_where_they_are_known() -> None:
    """The rollout ends before seat 1 moves again, so the last decisions of seats 0 and 2 have no target.

    The winner is paid 2 and each loser -1, which are divided by 2.
    """
    env = Sticks()
    settings: dict[str, Any] = {"rollout_length": 4, "gamma": 1.0, "gae_lambda": 1.0, "num_minibatches": 1}
    config, key = Config(env="dots_and_boxes(rows=1, cols=1)", num_envs=3, **settings), jax.random.key(0)
    learner = with_policy(config, OneStick(), env)

    @jax.jit
    def play(boards: Any) -> tuple[ppo.Transition, jax.Array]:
        start = jax.vmap(jaxgames.auto_reset(env).init)(jax.random.split(key, 3))
        boards, stats = dataclasses.replace(start, board=boards), EpisodeStats(jnp.zeros(3), jnp.zeros((3, 3)))
        opponents = learner.opponents.init(key, 3, cast(Any, None))
        train_state = ppo.TrainState((), (), boards, stats, key, jnp.int32(0), opponents)
        return learner.advantages((), learner.collect(train_state)[1])

    steps, advantages = play(jax.vmap(env.at)(jnp.array([5, 6, 7]), jnp.zeros(3, jnp.int32)))
    np.testing.assert_array_equal(steps.seat, [[0] * 3, [1] * 3, [2] * 3, [0] * 3])
    np.testing.assert_array_equal(steps.has_target, [[True] * 3, [True] * 3, [False] * 3, [False] * 3])
    targets = np.asarray(steps.value + advantages)
    winners = np.array([1, 2, 0])  # with 5, 6 and 7 sticks
    for time, seat in ((0, 0), (1, 1)):
        np.testing.assert_allclose(targets[time], np.where(winners == seat, 1.0, -0.5))
