"""Thousands of runs of two tabular learners that play a matrix game against each other, as one compiled program.

    game = matrix_game("subsidy")
    result = run(game, Learner("lenient", kappa=5), jax.random.key(0), 1000, 100_000, "policies")
    share, interval = share_near(result.policies, nash(game)[0])     # 0.389 of the runs end at (S1, S1)

A run is two learners that play the game again and again. The learners are in `train/matrix/learners.py`. Actions are
drawn with one random number per step, run and player. It depends on the key, and neither on the number of runs nor on
the points that are kept of their trajectories.
"""

import functools
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterTypeError, check_choice, check_int
from jaxgames.arena import wilson
from train.matrix.games import MatrixGame, Point, check_game
from train.matrix.learners import Learner as Learner  # public here
from train.matrix.learners import Memory, StepSettings, chosen_action, first_memory, policy, update

Start = Literal["values", "policies"]
Learners = tuple[Learner, Learner]  # of the row and of the column player
Memories = tuple[Memory, Memory]

NUM_POINTS = 100  # of a trajectory, if `every` is not given
MAX_DRAWS = 1 << 20  # pairs of random numbers that are drawn at once: 8 MB
MAX_STEPS = 2**31 - 1
FLOOR = 0.04  # of "policies": the smallest probability at the start is this, divided by the number of actions


class Result(NamedTuple):
    """The ends of all runs, and points on the way; k is the larger number of actions of the two players.

    An action that a player does not have has probability 0 and value -inf.
    """

    policies: jax.Array  # float32[runs, 2, k], of the row and of the column player after the last step
    q_values: jax.Array  # float32[runs, 2, k]
    times: jax.Array  # int32[points], steps before each point of the trajectory: 0, every, 2 * every, ..., steps
    trajectory: jax.Array  # float32[points, runs, 2, k], the policies at these times

    @property
    def greedy_policies(self) -> jax.Array:
        """The policies float32[runs, 2, k] that play the action of the largest value with probability 1."""
        return jax.nn.one_hot(self.q_values.argmax(-1), self.q_values.shape[-1])


def run(
    game: MatrixGame,
    learner: Learner | Learners,
    key: jax.Array,
    num_runs: int,
    steps: int,
    start: Start = "values",
    *,
    every: int | None = None,
) -> Result:
    """Returns the results of independent runs of two learners.

    Args:
      learner: the learner that plays both sides, or a pair: the row player's and the column player's.
      num_runs: the number of runs.
      steps: the number of times that each run plays the game.
      start: "values": each value is uniform between the smallest and the largest own payoff. "policies": each policy is
        uniform among those with at least 0.04 / n of each of the n actions, and the mean value is the mean payoff plus
        an offset: Q_a = mean + tau log p_a, with the first temperature. A softmax learner begins with that policy.
      every: steps between points of the trajectory. None: a hundredth of the steps.

    Raises ParameterError for an argument that is not allowed.
    """
    check_game(game)
    check_int("num_runs", num_runs, 1, MAX_STEPS)
    check_int("steps", steps, 1, MAX_STEPS)
    check_choice("start", start, get_args(Start))
    every = -(-steps // NUM_POINTS) if every is None else every
    check_int("every", every, 1, MAX_STEPS, also=" or None")
    learners = learner if isinstance(learner, tuple) else (learner, learner)
    if len(learners) != 2 or not all(isinstance(one, Learner) for one in learners):  # pyright: ignore[reportUnnecessaryComparison, reportUnnecessaryIsInstance]  # callers need not be typed
        raise ParameterTypeError(
            f"learner must be a Learner or a pair of them, such as Learner('faq'), not {learner!r}"
        )
    payoffs = game.payoffs.astype(np.float32)
    return _run(payoffs, key, learners=learners, num_runs=num_runs, steps=steps, start=start, every=every)


@functools.partial(jax.jit, static_argnames=("learners", "num_runs", "steps", "start", "every"))
def _run(
    payoffs: jax.Array, key: jax.Array, *, learners: Learners, num_runs: int, steps: int, start: Start, every: int
) -> Result:
    start_key, play_key = jax.random.split(key)
    memories = start_runs(learners, payoffs, start_key, num_runs, steps, start)
    advance = functools.partial(_advance, learners, payoffs, play_key, steps)

    def to_next_point(memories: Memories, begin: jax.Array) -> tuple[Memories, list[jax.Array]]:
        memories = advance(memories, begin, every)
        return memories, [memory.q_values for memory in memories]

    full, rest = divmod(steps, every)
    values = [[memory.q_values[None] for memory in memories]]  # parts of the trajectory, float32[points, runs, n] each
    memories, on_the_way = jax.lax.scan(to_next_point, memories, every * jnp.arange(full))
    values.append(on_the_way)
    if rest:
        memories = advance(memories, jnp.int32(every * full), rest)
        values.append([memory.q_values[None] for memory in memories])
    times = np.minimum(every * np.arange(full + 1 + (rest > 0)), steps).astype(np.int32)
    q_values = [jnp.concatenate(parts) for parts in zip(*values, strict=True)]
    policies = [_policies(one, q, times, steps) for one, q in zip(learners, q_values, strict=True)]
    trajectory, last_values = _stacked(policies, 0.0), _stacked([q[-1] for q in q_values], -jnp.inf)
    return Result(trajectory[-1], last_values, jnp.asarray(times), trajectory)


def _advance(
    learners: Learners,
    payoffs: jax.Array,
    key: jax.Array,
    steps: int,
    memories: Memories,
    begin: jax.Array,
    length: int,
) -> Memories:
    """Returns the memories of all runs `length` steps after step `begin`, of `steps` altogether.

    The random numbers of a block of steps are drawn at once.
    """
    num_runs = len(memories[0].q_values)
    block = max(1, min(length, MAX_DRAWS // num_runs))
    step = jax.vmap(functools.partial(play_step, learners, payoffs), in_axes=(0, None, 0))

    def play(memories: Memories, begin: jax.Array, length: int) -> Memories:
        times = begin + jnp.arange(length)
        settings = tuple(_settings(one, times, steps) for one in learners)
        xs = (settings, jax.vmap(lambda time: uniforms(key, time, num_runs))(times))
        return jax.lax.scan(lambda memories, x: (step(memories, *x), None), memories, xs)[0]

    blocks, rest = divmod(length, block)
    begins = begin + block * jnp.arange(blocks)
    memories = jax.lax.scan(lambda memories, begin: (play(memories, begin, block), None), memories, begins)[0]
    return play(memories, begin + block * blocks, rest) if rest else memories


def _settings(learner: Learner, times: jax.Array | np.ndarray, steps: int) -> StepSettings:
    """Returns the settings at these times, float32[len(times)] each."""
    return jax.vmap(lambda time: learner.settings(time, steps))(jnp.asarray(times))


def start_runs(
    learners: Learners, payoffs: jax.Array, key: jax.Array, num_runs: int, steps: int, start: Start
) -> Memories:
    """Returns the memories of all runs before the first step, with a leading axis of runs. See `run`."""

    def memory(key: jax.Array, player: int) -> Memory:
        own, num_actions = payoffs[player], payoffs.shape[1 + player]
        if start == "values":
            values = jax.random.uniform(key, (num_actions,), minval=own.min(), maxval=own.max())
            return first_memory(learners[player], values)
        weights = jax.random.exponential(key, (num_actions,))  # their shares are uniform among all policies
        probabilities = FLOOR / num_actions + (1 - FLOOR) * weights / weights.sum()
        tau = learners[player].settings(0, steps).tau
        return first_memory(learners[player], own.mean() + tau * jnp.log(probabilities))

    def of_run(number: jax.Array) -> Memories:
        row_key, column_key = jax.random.split(jax.random.fold_in(key, number))
        return memory(row_key, 0), memory(column_key, 1)

    return jax.vmap(of_run)(jnp.arange(num_runs))


def uniforms(key: jax.Array, step: jax.Array | int, num_runs: int) -> jax.Array:
    """Returns float32[num_runs, 2], the random numbers of a step, from 0 to 1: one per run and player."""
    return jax.random.uniform(jax.random.fold_in(key, step), (num_runs, 2))


def play_step(
    learners: Learners,
    payoffs: jax.Array,
    memories: Memories,
    settings: tuple[StepSettings, ...],
    uniform: jax.Array,
) -> Memories:
    """Returns the memories of one run after one step. `uniform` is float32[2], a random number for each player."""
    policies = [policy(one, m.q_values, s) for one, m, s in zip(learners, memories, settings, strict=True)]
    row, column = (chosen_action(u, p) for u, p in zip(uniform, policies, strict=True))
    rewards = jnp.where(row[:, None] & column, payoffs, 0).sum((1, 2))  # float32[2]; a gather is slower
    return (
        update(learners[0], memories[0], settings[0], row, rewards[0], policies[0]),
        update(learners[1], memories[1], settings[1], column, rewards[1], policies[1]),
    )


def _policies(learner: Learner, q_values: jax.Array, times: np.ndarray, steps: int) -> jax.Array:
    """Returns the policies float32[points, runs, n] of values float32[points, runs, n] at these int32[points] times."""
    of_runs = jax.vmap(functools.partial(policy, learner), in_axes=(0, None))
    return jax.vmap(of_runs)(q_values, _settings(learner, times, steps))


def _stacked(of_players: list[jax.Array], missing: float) -> jax.Array:
    """Returns float32[..., 2, k] from float32[..., n] and float32[..., m], with `missing` for actions beyond n or m."""
    widest = max(values.shape[-1] for values in of_players)
    padded = [
        jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, widest - values.shape[-1])], constant_values=missing)
        for values in of_players
    ]
    return jnp.stack(padded, -2)


# -- ends of runs --------------------------------------------------------------------------------------------------


def near(policies: jax.Array | np.ndarray, point: Point, tolerance: float = 0.05) -> np.ndarray:
    """Returns bool[...], whether both policies are at a point, up to `tolerance` in each probability.

    Args:
      policies: float[..., 2, k], such as those of a `Result`.
      point: the row player's and the column player's policy, as `train.matrix.games.nash` returns them.
      tolerance: the largest difference of a probability.
    """
    widest = np.shape(policies)[-1]
    target = np.stack([np.pad(policy, (0, widest - len(policy))) for policy in point])
    return np.abs(np.asarray(policies, np.float64) - target).max((-2, -1)) <= tolerance


def share_near(
    policies: jax.Array | np.ndarray, point: Point, tolerance: float = 0.05
) -> tuple[float, tuple[float, float]]:
    """Returns the share of runs that are near a point, and its 95 % Wilson interval.

    The arguments are those of `near`; `policies` is float[runs, 2, k]. With `result.greedy_policies` it is the share of
    runs whose best actions are those of a pure point. An epsilon-greedy learner can never play a pure point itself.
    """
    found = near(policies, point, tolerance)
    return float(found.mean()), wilson(int(found.sum()), found.size)
