"""Tabular learners of one player of a matrix game: their settings, policies and updates.

A learner has a value Q_a of each own action a. It observes its own action and its own reward r, nothing of the other
player. All functions are for one player of one run.

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

Sources: Bloembergen et al., Evolutionary Dynamics of Multi-Agent Learning, 2015; Kaisers and Tuyls, Frequency Adjusted
Multi-agent Q-learning, 2010; Panait, Tuyls and Luke, Theoretical Advantages of Lenient Learners, 2008.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import optax

from jaxgames._checks import ParameterError, check_choice, check_int, check_number

Kind = Literal["epsilon_greedy", "boltzmann", "lenient", "faq", "lenient_faq"]
Schedule = float | tuple[float, float] | Callable[[Any], Any]  # constant; first and last, linear; or an optax schedule

MAX_KAPPA = 1_000_000


@dataclass(frozen=True)
class Learner:
    """The settings of a learner. The defaults are those of El Kaddouri, Rys and Gao 2024.

    A schedule is a number, two numbers for a linear change from the first to the last step, or a schedule of optax,
    a function of the step. Settings that a kind does not use have no effect.

    Raises ParameterError for a setting that is not allowed.
    """

    kind: Kind = "boltzmann"
    """The policy and the update: epsilon_greedy, boltzmann, lenient, faq or lenient_faq."""
    alpha: Schedule | None = None
    """Step size of the update. None: 0.001, and 0.1 for faq and lenient_faq, whose rate is beta * alpha / p_a."""
    beta: float = 0.01
    """Of faq and lenient_faq: the probability below which an action learns at the full rate alpha."""
    kappa: int = 5
    """Of lenient and lenient_faq: rewards of an action of which the largest counts; 1 is no leniency."""
    epsilon: Schedule = 0.2
    """Of epsilon_greedy: the probability of a uniformly random action, which may be the greedy one."""
    tau_schedule: Schedule = (0.5, 0.01)
    """Temperature of the softmax, in the unit of the payoffs."""

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, get_args(Kind))
        check_int("kappa", self.kappa, 1, MAX_KAPPA)
        if self.alpha is None:
            object.__setattr__(self, "alpha", 0.1 if self.is_frequency_adjusted else 0.001)
        for name, highest, zero in (("alpha", 1.0, False), ("epsilon", 1.0, True), ("tau_schedule", math.inf, False)):
            object.__setattr__(self, name, _checked_schedule(name, getattr(self, name), highest, zero))
        check_number("beta", self.beta, highest=1)

    @property
    def is_lenient(self) -> bool:
        return self.kind in ("lenient", "lenient_faq")

    @property
    def is_frequency_adjusted(self) -> bool:
        return self.kind in ("faq", "lenient_faq")

    def settings(self, step: jax.Array | int, steps: int) -> "StepSettings":
        """Returns the settings at one of `steps` steps, float32[] each."""
        assert self.alpha is not None  # settled in __post_init__
        values = (_value(schedule, step, steps) for schedule in (self.alpha, self.epsilon, self.tau_schedule))
        return StepSettings(*values)


class StepSettings(NamedTuple):
    """The settings of a learner that may change from step to step."""

    alpha: jax.Array  # float32[]
    epsilon: jax.Array  # float32[]
    tau: jax.Array  # float32[]


class Memory(NamedTuple):
    """The memory of one learner; `best` and `rewards` are None unless it is lenient."""

    q_values: jax.Array  # float32[n]
    best: jax.Array | None  # float32[n], the largest reward of each action since its last update; -inf without one
    rewards: jax.Array | None  # int32[n], the number of rewards of each action since its last update


def first_memory(learner: Learner, q_values: jax.Array) -> Memory:
    """Returns the memory before the first step."""
    if not learner.is_lenient:
        return Memory(q_values, None, None)
    return Memory(q_values, jnp.full_like(q_values, -jnp.inf), jnp.zeros(q_values.shape, jnp.int32))


def policy(learner: Learner, q_values: jax.Array, settings: StepSettings) -> jax.Array:
    """Returns float32[n], the probabilities of the actions."""
    if learner.kind == "epsilon_greedy":
        is_greedy = jnp.arange(q_values.size) == q_values.argmax()
        return (1 - settings.epsilon) * is_greedy + settings.epsilon / q_values.size
    return jax.nn.softmax(q_values / settings.tau)


def chosen_action(uniform: jax.Array, probabilities: jax.Array) -> jax.Array:
    """Returns bool[n], True at the action that a uniform number from 0 to 1 draws."""
    action = (uniform >= jnp.cumsum(probabilities)[:-1]).sum()
    return jnp.arange(probabilities.size) == action


def update(
    learner: Learner,
    memory: Memory,
    settings: StepSettings,
    chosen: jax.Array,
    reward: jax.Array,
    probabilities: jax.Array,
) -> Memory:
    """Returns the memory after a step.

    Args:
      memory: the memory before.
      settings: those of the step.
      chosen: bool[n], True at the action that was played.
      reward: float32[], what it paid.
      probabilities: float32[n], the policy that it was drawn from.
    """
    rate = settings.alpha
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


def _checked_schedule(name: str, given: Any, highest: float, zero_is_allowed: bool) -> Schedule:
    """Returns a schedule, with two numbers as a tuple.

    Raises ParameterError unless its numbers are from 0 to `highest`, where 0 itself may be forbidden.
    """
    if callable(given):
        return given
    numbers = tuple(given) if isinstance(given, tuple | list) else (given,)
    low = "0 or more" if zero_is_allowed else "above 0"
    limits = f"{low}" + (f" and up to {highest:g}" if highest < math.inf else "")
    expected = f"{name} must be a number {limits}, two such numbers for a linear schedule, or a schedule of optax"
    if len(numbers) not in (1, 2):
        raise ParameterError(f"{expected}, not {given!r}")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ParameterError(f"{expected}, not {given!r}")
        if not (0 < number <= highest or (zero_is_allowed and number == 0)) or number == math.inf:
            raise ParameterError(f"{expected}, not {given!r}")
    return (numbers[0], numbers[1]) if len(numbers) == 2 else numbers[0]


def _value(schedule: Schedule, step: jax.Array | int, steps: int) -> jax.Array:
    if callable(schedule):
        return jnp.asarray(schedule(step), jnp.float32)
    if isinstance(schedule, tuple):
        return jnp.asarray(optax.linear_schedule(*schedule, steps)(step), jnp.float32)
    return jnp.float32(schedule)
