"""Agents, which choose an action for every board of a batch.

    agent = jaxgames.agents.make("greedy(epsilon=0.1)", env)
    actions = agent.act(key, states)                # int32[B], for states with a leading axis of B boards
    probabilities, values = jaxgames.agents.analyse(agent, states)      # None for an agent without probabilities

An agent is a pytree: its arrays (for example, the parameters of a network) are leaves, and everything else is static.
So it can be an argument of a function under `jax.jit`. Two agents that differ only in their arrays share one compiled
program. With `jaxgames.agents.pytree`, mark each static field:

    @jaxgames.agents.pytree
    @dataclass(frozen=True)
    class PreferringAgent:
        on_device: ClassVar[bool] = True
        env: Env[Any] = field(metadata={"static": True})
        preference: jax.Array  # float32[num_actions]

        def act(self, key: jax.Array, states: Any) -> jax.Array:
            mask = jax.vmap(self.env.legal_action_mask)(states)
            return jnp.where(mask, self.preference, -jnp.inf).argmax(-1)
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgames import greedy
from jaxgames._batches import in_chunks
from jaxgames._checks import ParameterError, check_number
from jaxgames._named import check_starts_program
from jaxgames._specs import Registry
from jaxgames.env import Env
from jaxgames.sampling import random_action

T = TypeVar("T")


class Agent(Protocol):
    """An agent: it chooses actions for any seat of one game.

    It may also have a method `analyse(states)`, which returns an `Analysis` or None; the function `analyse` calls it.
    """

    on_device: ClassVar[bool]  # whether `act` and `analyse` can be traced; if not, they are called outside of `jit`

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns the mover's action on every board.

        Args:
          key: PRNG key; a deterministic agent ignores it.
          states: boards with a leading axis of B. Some can be finished; their actions are not used.

        Returns:
          int32[B], legal on every live board.
        """
        ...


class Analysis(NamedTuple):
    """The probabilities and values of an agent on every board of a batch."""

    probabilities: jax.Array  # float32[B, num_actions], with which `act` plays each action; 0 on finished boards
    values: jax.Array | None
    """float32[B, num_players], the expected return of each seat, NaN where it is not known; None: it has no values."""


def analyse(agent: Agent, states: Any) -> Analysis | None:
    """Returns the probabilities of the mover's actions and, if the agent has them, the values of the seats.

    The boards have a leading axis of B; some can be finished. Returns None for an agent without probabilities.
    """
    method: Callable[[Any], Analysis | None] = getattr(agent, "analyse", lambda states: None)
    return method(states)


def pytree(agent_class: type[T]) -> type[T]:
    """Registers a frozen dataclass as a pytree: its fields are leaves, those with the metadata {"static": True} static.

    Agents use it in place of `jax.tree_util.register_dataclass`. With that one, in JAX 0.10, two classes whose static
    fields are equal have equal tree structures, and `jax.jit` sometimes calls the program of the other class. JAX makes
    agents again from their fields alone, without `__post_init__`.
    """
    all_fields = fields(cast(Any, agent_class))
    static = [each.name for each in all_fields if each.metadata.get("static")]
    leaves = [each.name for each in all_fields if not each.metadata.get("static")]

    def flatten(agent: T) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        with_keys = [(jax.tree_util.GetAttrKey(name), getattr(agent, name)) for name in leaves]
        return with_keys, tuple(getattr(agent, name) for name in static)

    def unflatten(of_static: tuple[Any, ...], of_leaves: Iterable[Any]) -> T:
        agent = object.__new__(agent_class)  # without `__post_init__`: JAX puts other things in place of leaves
        for name, value in zip([*static, *leaves], [*of_static, *of_leaves], strict=True):
            object.__setattr__(agent, name, value)
        return agent

    jax.tree_util.register_pytree_with_keys(agent_class, flatten, unflatten)
    return agent_class


# -- the agents of the library -------------------------------------------------------------------------------------


@pytree
@dataclass(frozen=True)
class RandomAgent:
    """Plays uniformly random legal actions."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        keys = jax.random.split(key, states.terminated.size)
        return jax.vmap(self.env.random_legal_action)(states, keys)

    def analyse(self, states: Any) -> Analysis:
        return Analysis(_uniform(jax.vmap(self.env.legal_action_mask)(states)), None)

    def __str__(self) -> str:
        return "random"


@pytree
@dataclass(frozen=True)
class FirstAgent:
    """Plays the legal action with the lowest number."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return jax.vmap(self.env.legal_action_mask)(states).argmax(-1).astype(jnp.int32)

    def analyse(self, states: Any) -> Analysis:
        mask = jax.vmap(self.env.legal_action_mask)(states)
        first = mask & (jnp.arange(mask.shape[-1]) == mask.argmax(-1, keepdims=True))
        return Analysis(first.astype(jnp.float32), None)

    def __str__(self) -> str:
        return "first"


@pytree
@dataclass(frozen=True)
class GreedyAgent:
    """Plays a legal action of the highest score; equal ones are drawn. The scores: `jaxgames.greedy.action_scores`."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        best = self._best(states)
        return jax.vmap(random_action)(jax.random.split(key, best.shape[0]), best)

    def analyse(self, states: Any) -> Analysis:
        return Analysis(_uniform(self._best(states)), None)

    def _best(self, states: Any) -> jax.Array:
        """Returns bool[B, num_actions], the legal actions of the highest score."""

        def best(state: Any) -> jax.Array:
            mask, scores = self.env.legal_action_mask(state), greedy.action_scores(self.env, state)
            return mask & (scores >= jnp.where(mask, scores, -jnp.inf).max())

        return jax.vmap(best)(states)

    def __str__(self) -> str:
        return "greedy"


@pytree
@dataclass(frozen=True)
class EpsilonAgent:
    """Plays as another agent, but with the probability `epsilon` a uniformly random legal action instead.

    `with_epsilon` makes it and checks the probability. In a traced program `epsilon` can be a traced number.
    """

    on_device: ClassVar[bool] = property(lambda self: self.agent.on_device)  # pyright: ignore[reportAssignmentType]  # as that of the agent inside
    env: Env[Any] = field(metadata={"static": True})
    agent: Agent
    epsilon: jax.Array  # float32[]

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        agent_key, key = jax.random.split(key)
        return explored(self.env, self.agent.act(agent_key, states), self.epsilon, key, states)[0]

    def analyse(self, states: Any) -> Analysis | None:
        """Returns the mixed probabilities, and the values of the agent inside; None if that agent computes none."""
        inside = analyse(self.agent, states)
        if inside is None:
            return None
        uniform = RandomAgent(self.env).analyse(states).probabilities
        return Analysis((1 - self.epsilon) * inside.probabilities + self.epsilon * uniform, inside.values)

    def __str__(self) -> str:
        inside = str(self.agent)
        begin = f"{inside[:-1]}, " if inside.endswith(")") else f"{inside}("
        epsilon = self.epsilon if isinstance(self.epsilon, Tracer) else np.float32(self.epsilon)
        return f"{begin}epsilon={epsilon!s})"


def with_epsilon(env: Env[Any], agent: Agent, epsilon: float) -> EpsilonAgent:
    """Returns the agent that plays a uniformly random legal action with the probability `epsilon`, else as `agent`.

    `epsilon` is a leaf of the agent, so another value needs no compilation.
    """
    check_number("epsilon", epsilon, 0, 1)
    return EpsilonAgent(env, agent, jnp.float32(epsilon))


@functools.partial(jax.jit, static_argnames="env")
def explored(
    env: Env[Any], actions: jax.Array, epsilon: jax.Array | float, key: jax.Array, states: Any
) -> tuple[jax.Array, jax.Array]:
    """Returns the actions int32[B], each replaced by a random legal one with the probability `epsilon`, and bool[B],
    which ones are.
    """
    which_key, random_key = jax.random.split(key)
    random_actions = RandomAgent(env).act(random_key, states)
    explores = jax.random.uniform(which_key, random_actions.shape) < epsilon
    return jnp.where(explores, random_actions, actions), explores


def _uniform(mask: jax.Array) -> jax.Array:
    """Returns float32[B, num_actions], the same probability for each action that `mask` allows; 0 where it is empty."""
    return mask / jnp.maximum(mask.sum(-1, keepdims=True, dtype=jnp.int32), 1).astype(jnp.float32)


# -- agents by name ------------------------------------------------------------------------------------------------


def _greedy(env: Env[Any]) -> Agent:
    greedy.check_has_scores(env)
    return GreedyAgent(env)


BUILT_IN: dict[str, Callable[..., Agent] | str] = {
    "random": RandomAgent,
    "first": FirstAgent,
    "greedy": _greedy,
    # Imported when they are asked for:
    "alphabeta": "jaxgames.solvers.alphabeta.agent:make",
    "baseline": "jaxgames.baselines.agent:make",
    "exported": "jaxgames.policies.exported:make",
    "mcts": "jaxgames.mcts.agents:mcts",
    "openspiel": "jaxgames.interop.openspiel.bots:make",
    "solver": "jaxgames.solvers.exact.agent:make",
    "uci": "jaxgames.interop.uci:make",
}
ENGINES = ("uci",)  # programs, which a text from a file does not start
ON_HOST = ("alphabeta", "openspiel", *ENGINES)
AGENT_OF = {"mcts": "playout", "openspiel": "playout"}  # the parameter of an agent that is the text of another agent
_agents: Registry[Agent] = Registry(
    "agent",
    BUILT_IN,
    examples="'random', 'greedy(epsilon=0.1)', 'exported(FILE)' for a training run, or 'mymodule:myagent'",
    register="jaxgames.agents.register",
    num_arguments=1,
    common={"epsilon": with_epsilon},
)


def list_agents() -> list[str]:
    """Returns the names that `make` takes, in alphabetical order."""
    return _agents.names()


def register(name: str, constructor: Callable[..., Agent]) -> None:
    """Adds an agent, so that `make("name(parameter=value)", env)` returns `constructor(env, parameter=value)`.

    If the first parameter after `env` is annotated as a `str`, a text may have it without its name and quotes, such as
    the file in `name(runs/43.npz)`.
    """
    _agents.register(name, constructor)


def make(text: str, env: Env[Any]) -> Agent:
    """Returns the agent that `text` names, for the game `env`.

        random                      uniformly random legal actions
        first                       the legal action with the lowest number
        greedy                      a legal action of the highest score; see `jaxgames.greedy.action_scores`
        first(epsilon=0.1)          a random legal action with the probability 0.1; so for every agent
        mcts(simulations=1000)      UCT with random rollouts; see `jaxgames.mcts.agents.mcts`
        openspiel(simulations=100)  a bot of OpenSpiel; see `jaxgames.interop.openspiel.bots`
        alphabeta(depth=6)          alpha-beta search of three games; see `jaxgames.solvers.alphabeta.agent`
        baseline                    the agent of this package for the game; see `jaxgames.baselines`
        exported(first.policy)      the policy of a training run in a file; see `jaxgames.policies.exported`
        solver(43.npz)              perfect play by the solution in a file; see `jaxgames.solvers.exact.agent`
        uci(nodes=1000)             an engine of minichess, such as Fairy-Stockfish; see `jaxgames.interop.uci`
        mypackage.mymodule:myagent(depth=2)     imports the module first, which must call `register("myagent", ...)`

    Raises ParameterError (a ValueError), with what is allowed, for any other text.
    """
    if _name_in(text) in ENGINES:
        check_starts_program(text)
    agent = _agents.make(text, env)
    check_agent(text, agent)
    return agent


def make_on_device(text: str, make: Callable[[], Agent], refusal: str) -> Agent:
    """Returns the agent of `make`, which `text` names. The message for an agent on the host is `refusal`.

    The library's agents on the host are refused by their names, before they are made.
    """
    agent = None if _name_in(text) in ON_HOST else make()
    if agent is None or not agent.on_device:
        raise ParameterError(refusal)
    return agent


def _name_in(text: str) -> str:
    return str(text).partition("(")[0].strip()


def check_agent(text: str, agent: Any) -> None:
    """Raises ParameterError unless `agent` has the members of an `Agent` and, on the device, is a pytree of arrays."""
    if not (isinstance(getattr(agent, "on_device", None), bool) and callable(getattr(agent, "act", None))):
        raise ParameterError(
            f"{text!r} must make an agent, with a method act(key, states) and on_device = True or False, not {agent!r}"
        )
    if agent.on_device and not all(
        isinstance(leaf, int | float) or hasattr(leaf, "dtype") for leaf in jax.tree.leaves(agent)
    ):
        name = type(agent).__name__
        raise ParameterError(
            f"{text!r} makes an agent that is not a pytree of arrays, and on_device = True promises one: decorate "
            f"{name} with jaxgames.agents.pytree and mark its static fields, or set on_device = False"
        )


def act_on_one_board(agent: Agent, key: jax.Array, boards: Any) -> np.ndarray:
    """Returns the action of any agent on one board, int32[1]; `boards` has a leading axis of 1."""
    action = np.asarray(act_compiled(agent, key, boards))
    if action.shape != (1,) or not np.issubdtype(action.dtype, np.integer):
        raise ValueError(
            f"{type(agent).__name__}.act must return one integer per board, int32[1] for one board, "
            f"not {action.dtype}{list(action.shape)}"
        )
    return action.astype(np.int32)


def act_compiled(agent: Agent, key: jax.Array, boards: Any) -> jax.Array:
    """Returns the actions of any agent, int32[B]; only an agent on the device is compiled."""
    return act_on_device(agent, key, boards) if agent.on_device else agent.act(key, boards)


_analyse_on_device = jax.jit(analyse)


def analyse_compiled(agent: Agent, boards: Any) -> Analysis | None:
    """Returns the result of `analyse` for any agent; only an agent on the device is compiled."""
    return (_analyse_on_device if agent.on_device else analyse)(agent, boards)


def analyse_in_chunks(agent: Agent, states: Any, chunk: int = 64) -> Analysis:
    """Returns the result of `analyse` for many boards, as arrays on the host; `chunk` boards are analysed at once.

    Raises ValueError for an agent without probabilities.
    """
    analysis = in_chunks(lambda boards: analyse_compiled(agent, boards), states, chunk, fill=agent.on_device)
    if analysis is None:
        raise ParameterError(f"{agent} has no probabilities: choose an agent that has them, such as a run or greedy")
    return analysis


@jax.jit
def act_on_device(agent: Agent, key: jax.Array, boards: Any) -> jax.Array:
    """Returns the actions of an agent on the device, compiled once per structure of the agent and the boards."""
    return agent.act(key, boards)
