"""Thousands of runs of two tabular learners that play a matrix game against each other, as one compiled program.

    game = matrix_game("subsidy")
    result = run(game, Learner("lenient", kappa=5), jax.random.key(0), 1000, 100_000, "policies")
    share, interval = share_near(result.policies, nash(game)[0])     # 0.389 of the runs end at (S1, S1)

A run is two equal learners that play the game again and again. A learner has a value Q_a of each own action a. It
observes its own action and its own reward r, nothing of the other player.

    policy    epsilon-greedy: (1 - epsilon) [a = argmax Q] + epsilon / n        all others: exp(Q_a / tau) / sum
    update    Q_a += rate * (target - Q_a), of the action that was played

    kind               rate                       target
    epsilon_greedy     alpha                      r
    boltzmann          alpha                      r
    lenient            alpha                      largest of kappa rewards of a; only after every kappa-th play of a
    faq                min(beta / p_a, 1) alpha   r
    lenient_faq        min(beta / p_a, 1) alpha   as lenient

FAQ is frequency-adjusted Q-learning: actions that are played rarely, with a small probability p_a, learn faster. In
expectation all actions then learn equally fast, and a small alpha follows the differential equations of
`train.matrix.replicator`. Plain Q-learning does not.

Actions are drawn with one random number per step, run and player, which does not depend on the number of runs.

Sources: Bloembergen et al., Evolutionary Dynamics of Multi-Agent Learning, 2015; Kaisers and Tuyls, Frequency Adjusted
Multi-agent Q-learning, 2010; Panait, Tuyls and Luke, Theoretical Advantages of Lenient Learners, 2008.
"""

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgames._checks import check_choice, check_int, check_number
from jaxgames.arena import wilson
from train.matrix.games import MatrixGame, Point

Kind = Literal["epsilon_greedy", "boltzmann", "lenient", "faq", "lenient_faq"]
Start = Literal["values", "policies"]

NUM_POINTS = 100  # of a trajectory
MAX_DRAWS = 1 << 20  # pairs of random numbers that are drawn at once: 8 MB
MAX_STEPS = 2**31 - 1
FLOOR = 0.04  # of "policies": the smallest probability at the start is this, divided by the number of actions


# -- one learner ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learner:
    """The settings of a learner. The defaults are those of El Kaddouri, Rys and Gao 2024.

    Settings that a kind does not use have no effect.

    Raises ParameterError for a setting that is not allowed.
    """

    kind: Kind = "boltzmann"
    """The policy and the update: epsilon_greedy, boltzmann, lenient, faq or lenient_faq."""
    alpha: float | None = None
    """Step size of the update. None: 0.001, and 0.1 for faq and lenient_faq, whose rate is beta * alpha / p_a."""
    beta: float = 0.01
    """Of faq and lenient_faq: the probability below which an action learns at the full rate alpha."""
    kappa: int = 5
    """Of lenient and lenient_faq: rewards of an action of which the largest counts; 1 is no leniency."""
    epsilon: float = 0.2
    """Of epsilon_greedy: the probability of a uniformly random action, which may be the greedy one."""
    tau_schedule: float | tuple[float, float] = (0.5, 0.01)
    """Temperature of the softmax, in the unit of the payoffs; two numbers change linearly from first to last step."""

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, get_args(Kind))
        check_int("kappa", self.kappa, 1, 1_000_000)
        if self.alpha is None:
            object.__setattr__(self, "alpha", 0.1 if self.is_frequency_adjusted else 0.001)
        check_number("alpha", self.alpha, highest=1)
        check_number("epsilon", self.epsilon, lowest=0, highest=1)
        for number in self._taus:
            check_number("tau_schedule", number)
        check_number("beta", self.beta, highest=1)

    @property
    def is_lenient(self) -> bool:
        return self.kind in ("lenient", "lenient_faq")

    @property
    def is_frequency_adjusted(self) -> bool:
        return self.kind in ("faq", "lenient_faq")

    @property
    def _taus(self) -> tuple[float, float]:
        taus = self.tau_schedule
        return taus if isinstance(taus, tuple) else (taus, taus)

    def tau(self, step: jax.Array | int, steps: int) -> jax.Array:
        """Returns float32[], the temperature at one of `steps` steps."""
        return jnp.asarray(optax.linear_schedule(*self._taus, steps)(step), jnp.float32)


class Memory(NamedTuple):
    """The memory of one learner; `best` and `rewards` are None unless it is lenient."""

    q_values: jax.Array  # float32[n]
    best: jax.Array | None  # float32[n], the largest reward of each action since its last update; -inf without one
    rewards: jax.Array | None  # int32[n], the number of rewards of each action since its last update


Memories = tuple[Memory, Memory]  # of the row and of the column player


def policy(learner: Learner, q_values: jax.Array, tau: jax.Array) -> jax.Array:
    """Returns float32[n], the probabilities of the actions, at a temperature."""
    if learner.kind == "epsilon_greedy":
        is_greedy, epsilon = jnp.arange(q_values.size) == q_values.argmax(), jnp.float32(learner.epsilon)
        return (1 - epsilon) * is_greedy + epsilon / q_values.size
    return jax.nn.softmax(q_values / tau)


def chosen_action(uniform: jax.Array, probabilities: jax.Array) -> jax.Array:
    """Returns bool[n], True at the action that a uniform number from 0 to 1 draws."""
    action = (uniform >= jnp.cumsum(probabilities)[:-1]).sum()
    return jnp.arange(probabilities.size) == action


def update(learner: Learner, memory: Memory, chosen: jax.Array, reward: jax.Array, probabilities: jax.Array) -> Memory:
    """Returns the memory after a step.

    Args:
      memory: the memory before.
      chosen: bool[n], True at the action that was played.
      reward: float32[], what it paid.
      probabilities: float32[n], the policy that it was drawn from.
    """
    rate = jnp.float32(learner.alpha)
    if learner.is_frequency_adjusted:
        rate = rate * jnp.minimum(learner.beta / probabilities, 1)
    q = memory.q_values
    if memory.best is None or memory.rewards is None:
        return Memory(jnp.where(chosen, q + rate * (reward - q), q), None, None)
    best = jnp.where(chosen, jnp.maximum(memory.best, reward), memory.best)
    rewards = memory.rewards + chosen
    full = rewards == learner.kappa
    q = jnp.where(full, q + rate * (best - q), q)
    return Memory(q, jnp.where(full, -jnp.inf, best), jnp.where(full, 0, rewards))


# -- runs ----------------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """The ends of all runs, and points on the way; k is the larger number of actions of the two players.

    An action that a player does not have has probability 0 and value -inf.
    """

    policies: jax.Array  # float32[runs, 2, k], of the row and of the column player after the last step
    q_values: jax.Array  # float32[runs, 2, k]
    times: jax.Array  # int32[points], the steps before each point of the trajectory, every hundredth of all
    trajectory: jax.Array  # float32[points, runs, 2, k], the policies at these times

    @property
    def greedy_policies(self) -> jax.Array:
        """The policies float32[runs, 2, k] that play the action of the largest value with probability 1."""
        return jax.nn.one_hot(self.q_values.argmax(-1), self.q_values.shape[-1])


def run(
    game: MatrixGame, learner: Learner, key: jax.Array, num_runs: int, steps: int, start: Start = "values"
) -> Result:
    """Returns the results of independent runs of two learners.

    Args:
      learner: plays both sides.
      num_runs: the number of runs.
      steps: the number of times that each run plays the game.
      start: "values": each value is uniform between the smallest and the largest own payoff. "policies": each policy is
        uniform among those with at least 0.04 / n of each of the n actions, and the mean value is the mean payoff plus
        an offset: Q_a = mean + tau log p_a, with the first temperature. A softmax learner begins with that policy.

    Raises ParameterError for an argument that is not allowed.
    """
    check_int("num_runs", num_runs, 1, MAX_STEPS)
    check_int("steps", steps, 1, MAX_STEPS)
    check_choice("start", start, get_args(Start))
    return _run(game.payoffs.astype(np.float32), key, learner=learner, num_runs=num_runs, steps=steps, start=start)


@functools.partial(jax.jit, static_argnames=("learner", "num_runs", "steps", "start"))
def _run(payoffs: jax.Array, key: jax.Array, *, learner: Learner, num_runs: int, steps: int, start: Start) -> Result:
    start_key, play_key = jax.random.split(key)
    memories = start_runs(learner, payoffs, start_key, num_runs, steps, start)
    step = jax.vmap(functools.partial(play_step, learner, payoffs), in_axes=(0, None, 0))
    every = -(-steps // NUM_POINTS)
    times = jnp.asarray(np.minimum(every * np.arange(-(-steps // every) + 1), steps), jnp.int32)

    block = max(1, min(every, MAX_DRAWS // num_runs))  # steps whose random numbers are drawn at once

    def to_next_point(memories: Memories, interval: tuple[jax.Array, jax.Array]) -> tuple[Memories, list[jax.Array]]:
        begin, end = interval

        def play_block(number: jax.Array, memories: Memories) -> Memories:
            first = begin + block * number
            numbers = jax.vmap(lambda time: uniforms(play_key, time, num_runs))(first + jnp.arange(block))

            def play(time: jax.Array, memories: Memories) -> Memories:
                return step(memories, learner.tau(time, steps), numbers[time - first])

            return jax.lax.fori_loop(first, first + jnp.minimum(block, end - first), play, memories)

        memories = jax.lax.fori_loop(0, -((begin - end) // block), play_block, memories)
        return memories, [memory.q_values for memory in memories]

    _, on_the_way = jax.lax.scan(to_next_point, memories, (times[:-1], times[1:]))
    firsts = [memory.q_values[None] for memory in memories]
    q_values = [jnp.concatenate(parts) for parts in zip(firsts, on_the_way, strict=True)]  # float32[points, runs, n]
    taus = jax.vmap(lambda time: learner.tau(time, steps))(times)
    of_runs = jax.vmap(functools.partial(policy, learner), in_axes=(0, None))
    policies = [jax.vmap(of_runs)(q, taus) for q in q_values]
    trajectory, last_values = _stacked(policies, 0.0), _stacked([q[-1] for q in q_values], -jnp.inf)
    return Result(trajectory[-1], last_values, times, trajectory)


def start_runs(
    learner: Learner, payoffs: jax.Array, key: jax.Array, num_runs: int, steps: int, start: Start
) -> Memories:
    """Returns the memories of all runs before the first step, with a leading axis of runs. See `run`."""

    def memory(key: jax.Array, player: int) -> Memory:
        own, num_actions = payoffs[player], payoffs.shape[1 + player]
        if start == "values":
            q_values = jax.random.uniform(key, (num_actions,), minval=own.min(), maxval=own.max())
        else:
            weights = jax.random.exponential(key, (num_actions,))  # their shares are uniform among all policies
            probabilities = FLOOR / num_actions + (1 - FLOOR) * weights / weights.sum()
            q_values = own.mean() + learner.tau(0, steps) * jnp.log(probabilities)
        if not learner.is_lenient:
            return Memory(q_values, None, None)
        return Memory(q_values, jnp.full_like(q_values, -jnp.inf), jnp.zeros(q_values.shape, jnp.int32))

    def of_run(number: jax.Array) -> Memories:
        row_key, column_key = jax.random.split(jax.random.fold_in(key, number))
        return memory(row_key, 0), memory(column_key, 1)

    return jax.vmap(of_run)(jnp.arange(num_runs))


def uniforms(key: jax.Array, step: jax.Array | int, num_runs: int) -> jax.Array:
    """Returns float32[num_runs, 2], the random numbers of a step, from 0 to 1: one per run and player."""
    return jax.random.uniform(jax.random.fold_in(key, step), (num_runs, 2))


def play_step(learner: Learner, payoffs: jax.Array, memories: Memories, tau: jax.Array, uniform: jax.Array) -> Memories:
    """Returns the memories of one run after one step. `uniform` is float32[2], a random number for each player."""
    policies = [policy(learner, memory.q_values, tau) for memory in memories]
    row, column = (chosen_action(u, p) for u, p in zip(uniform, policies, strict=True))
    rewards = jnp.where(row[:, None] & column, payoffs, 0).sum((1, 2))  # float32[2]; a gather is slower
    return (
        update(learner, memories[0], row, rewards[0], policies[0]),
        update(learner, memories[1], column, rewards[1], policies[1]),
    )


def _stacked(of_players: list[jax.Array], missing: float) -> jax.Array:
    """Returns float32[..., 2, k] from float32[..., n] and float32[..., m], with `missing` for actions beyond n or m."""
    widest = max(values.shape[-1] for values in of_players)
    padded = [
        jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, widest - values.shape[-1])], constant_values=missing)
        for values in of_players
    ]
    return jnp.stack(padded, -2)


# -- ends of runs --------------------------------------------------------------------------------------------------


def share_near(
    policies: jax.Array | np.ndarray, point: Point, tolerance: float = 0.05
) -> tuple[float, tuple[float, float]]:
    """Returns the share of runs of which both policies are at a point, and its 95 % Wilson interval.

    With `result.greedy_policies` it is the share of runs whose best actions are those of a pure point. An
    epsilon-greedy learner can never play a pure point itself.

    Args:
      policies: float[runs, 2, k], such as those of a `Result`.
      point: the row player's and the column player's policy, as `train.matrix.games.nash` returns them.
      tolerance: the largest difference of a probability.
    """
    widest = np.shape(policies)[-1]
    target = np.stack([np.pad(policy, (0, widest - len(policy))) for policy in point])
    found = np.abs(np.asarray(policies, np.float64) - target).max((-2, -1)) <= tolerance
    return float(found.mean()), wilson(int(found.sum()), found.size)
