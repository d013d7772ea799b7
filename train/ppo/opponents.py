"""Opponents of a training run: agents that do not learn, and snapshots of the run's own past.

    random, greedy, runs/first@40(epsilon=0.1)      agents, as `train.agents.make` takes them
    self@every=10(size=8, temperature=1.0)          a pool of the run's own past

A pool has `size` members: the parameters after the last iterations that are multiples of `every`, and at the start
those from which the run starts. For every game of every board, one opponent is drawn: first one of the texts, then, of
a pool, one of its members. It plays all seats that the learner does not play. The learner plays `learn_seats`, or one
seat that is drawn for the game.

Everything that is drawn and every array of an opponent is in the train state. So a resumed run needs no checkpoint of
another run, and opponents of one network share one compiled program.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env, ParameterError, random_action
from jaxgames._specs import split_parameters
from jaxgames.agents import Agent, make_on_device
from train import agents
from train.bounds import NotNegative, between, check_values
from train.models.policy import apply_by_seat
from train.ops.sharding import REPLICATED, SHARDED, on_each_device

POOL_EXAMPLES = "'self@every=10' or 'self@every=10(size=8, temperature=1.0)'"


class Games(NamedTuple):
    """The opponent and the seats of the learner in the current game of every board. Both are None in self-play."""

    opponent: Any  # int32[num_envs], among the members of all opponents
    learner_seats: Any  # bool[num_envs, num_players]


def is_among(seat: jax.Array, seats: jax.Array) -> jax.Array:
    """Returns bool[...], whether `seat` (int32[...]) is one of `seats` (bool[..., num_players])."""
    return (seats & (seat[..., None] == jnp.arange(seats.shape[-1]))).any(-1)


class OpponentState(NamedTuple):
    """The part of a train state that belongs to the opponents."""

    agents: tuple[Agent, ...]  # one per text; the arrays of a pool's agent have a leading axis of its size
    games: Games


@dataclass(frozen=True)
class Pool:
    """The settings of a pool of the run's own past."""

    every: Annotated[int, between(1, 2**31 - 1)]
    """Iterations between two snapshots."""
    size: Annotated[int, between(1, 10_000)] = 8
    """The number of members."""
    temperature: NotNegative[float] = 1.0
    """1 samples from a snapshot's policy, 0 plays its most probable action."""

    @classmethod
    def of(cls, text: str) -> "Pool | None":
        """Returns the pool that `text` names, None for the text of an agent. Raises ParameterError for a wrong one."""
        if re.match(r"\s*self\s*($|[@(])", text) is None:
            return None
        expected = f"expected a pool of the run's own past such as {POOL_EXAMPLES}, not {text!r}"
        name, parameters = split_parameters(text, expected)
        every = re.fullmatch(r"self@every=(\d+)", name)
        if every is None:
            raise ParameterError(expected)
        if unknown := sorted(parameters.keys() - {"size", "temperature"}):
            raise ParameterError(f"a pool has no parameter {unknown[0]!r}; its parameters are size and temperature")
        pool = cls(int(every[1]), **parameters)
        try:
            check_values(vars(pool), cls)
        except ValueError as error:
            raise ParameterError(f"{error}, in {text!r}") from None
        return pool


@dataclass(frozen=True)
class Opponents:
    """The opponents of a run, and pure functions of their state. If there are none, the learner plays all seats."""

    env: Env[Any]
    entries: tuple[str | Pool, ...]  # one per text
    learn_seats: tuple[int, ...]  # empty: one seat, drawn for every game

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of members of each entry."""
        return tuple(entry.size if isinstance(entry, Pool) else 1 for entry in self.entries)

    def init(self, key: jax.Array, num_envs: int, snapshot: Callable[[float], Agent]) -> OpponentState:
        """Returns the first state. It reads the settings of other runs, not their parameters: `load` fills them in.

        `snapshot` returns the agent with the learner's parameters and a temperature. Raises FileNotFoundError or
        ValueError as `train.agents.make`, and ValueError for an agent that cannot be traced.
        """
        make = functools.partial(agents.make, abstract=True)
        members = tuple(self._member(entry, snapshot, make) for entry in self.entries)
        return OpponentState(members, self.draw(key, num_envs))

    def load(self, state: OpponentState, snapshot: Callable[[float], Agent]) -> OpponentState:
        """Returns the state with the parameters of other runs, and pools that are full of `snapshot`.

        Raises FileNotFoundError if a run has no such checkpoint.
        """
        return state._replace(agents=tuple(self._member(entry, snapshot, agents.make) for entry in self.entries))

    def _member(
        self, entry: str | Pool, snapshot: Callable[[float], Agent], make: Callable[[str, Env[Any]], Agent]
    ) -> Agent:
        if isinstance(entry, Pool):
            return jax.tree.map(
                lambda leaf: jnp.broadcast_to(leaf, (entry.size, *jnp.shape(leaf))), snapshot(entry.temperature)
            )
        refusal = (
            f"{entry} cannot be an opponent in training: it plays on the host, and a training step is one compiled "
            "program; use it in train.evaluate or train.match"
        )
        with jax.ensure_compile_time_eval():  # inside a trace, too
            agent = make_on_device(entry, lambda: make(entry, self.env), refusal)
        return jax.tree.map(lambda leaf: jnp.array(leaf, jnp.result_type(leaf)), agent)

    def with_snapshot(
        self, state: OpponentState, iteration: jax.Array, snapshot: Callable[[float], Agent]
    ) -> OpponentState:
        """Returns the state after an iteration (int32[]), with `snapshot` for the oldest member of the pools due."""
        members = list(state.agents)
        for index, entry in enumerate(self.entries):
            if isinstance(entry, Pool):
                due = iteration % entry.every == 0
                place = (iteration // entry.every - 1) % entry.size
                members[index] = jax.tree.map(
                    lambda kept, new, due=due, place=place: kept.at[place].set(jnp.where(due, new, kept[place])),
                    members[index],
                    snapshot(entry.temperature),
                )
        return state._replace(agents=tuple(members))

    def draw(self, key: jax.Array, num_envs: int) -> Games:
        """Returns the opponent and the seats of the learner for a new game of every board."""
        if not self.entries:
            return Games(None, None)
        entry_key, member_key, seat_key = jax.random.split(key, 3)
        entry = jax.random.randint(entry_key, (num_envs,), 0, len(self.entries))
        sizes = np.array(self.sizes, np.int32)
        size, first = jnp.asarray(sizes)[entry], jnp.asarray(np.cumsum(sizes) - sizes)[entry]
        member = (jax.random.uniform(member_key, (num_envs,), jnp.float32) * size.astype(jnp.float32)).astype(jnp.int32)
        seats = np.arange(self.env.num_players)
        if self.learn_seats:
            learner_seats = jnp.broadcast_to(np.isin(seats, self.learn_seats), (num_envs, seats.size))
        else:
            learner_seats = jax.random.randint(seat_key, (num_envs, 1), 0, seats.size) == seats
        return Games((first + jnp.minimum(member, size - 1)).astype(jnp.int32), learner_seats)

    def redraw(self, games: Games, key: jax.Array, ended: jax.Array) -> Games:
        """Returns the games, with new ones on the boards whose game has `ended`, bool[num_envs]."""
        if not self.entries:
            return games
        new = self.draw(key, ended.size)
        learner_seats = jnp.where(ended[:, None], new.learner_seats, games.learner_seats)
        return Games(jnp.where(ended, new.opponent, games.opponent), learner_seats)

    def players(self, members: tuple[Agent, ...]) -> "Players":
        """Returns the agents of a state as `Players`, in groups that differ only in their arrays."""
        groups: dict[Any, tuple[list[Any], list[int]]] = {}
        first = 0
        for entry, agent, size in zip(self.entries, members, self.sizes, strict=True):
            stacked = agent if isinstance(entry, Pool) else jax.tree.map(lambda leaf: leaf[None], agent)
            leaves, structure = jax.tree.flatten(stacked)
            kind = structure, tuple((leaf.shape[1:], leaf.dtype) for leaf in leaves)
            of_kind, indices = groups.setdefault(kind, ([], []))
            of_kind.append(stacked)
            indices += range(first, first + size)
            first += size
        group, place = np.zeros(first, np.int32), np.zeros(first, np.int32)
        for number, (_, indices) in enumerate(groups.values()):
            group[indices], place[indices] = number, np.arange(len(indices))
        stacks = tuple(
            jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *of_kind) for of_kind, _ in groups.values()
        )
        return Players(stacks, group, place)


class Players(NamedTuple):
    """Opponents in groups. Agents of one group differ only in their arrays; a board is computed once per group."""

    stacks: tuple[Any, ...]  # one agent per group, with a leading axis of its members on all arrays
    group: np.ndarray  # int32[members of all opponents]
    place: np.ndarray  # int32[members of all opponents], in its group

    def replace(
        self, action: jax.Array, key: jax.Array, games: Games, boards: Any, mask: jax.Array, epsilon: float | jax.Array
    ) -> jax.Array:
        """Returns int32[B]: `action` on the boards where the learner is to move, the opponent's action on others.

        With probability `epsilon` the opponent plays a random legal action.
        """
        if not self.stacks:
            return action
        group, place = (jnp.asarray(table)[games.opponent] for table in (self.group, self.place))
        random_key, explore_key, *keys = jax.random.split(key, 2 + len(self.stacks))
        actions = [act_in_group(stack, place, key, boards) for stack, key in zip(self.stacks, keys, strict=True)]
        reply = actions[0].astype(jnp.int32)
        for number, of_group in enumerate(actions[1:], start=1):
            reply = jnp.where(group == number, of_group, reply)
        random = jax.vmap(random_action)(jax.random.split(random_key, reply.size), mask)
        reply = jnp.where(jax.random.uniform(explore_key, reply.shape) < epsilon, random, reply)
        return jnp.where(is_among(boards.current_player, games.learner_seats), action, reply)


def act_in_group(stack: Any, place: jax.Array, key: jax.Array, boards: Any) -> jax.Array:
    """Returns int32[B], the actions of agents that are stacked along a leading axis; row i is of agent place[i]."""
    leaves = jax.tree.leaves(stack)
    if not leaves or leaves[0].shape[0] == 1:
        return jax.tree.map(lambda leaf: leaf[0], stack).act(key, boards)

    def act(agent: Agent, rows: tuple[jax.Array, Any]) -> jax.Array:
        def one(key: jax.Array, board: Any) -> jax.Array:  # with its own key, so no row depends on others
            return agent.act(key, jax.tree.map(lambda leaf: leaf[None], board))[0]

        return jax.vmap(one)(*rows)

    place = jnp.minimum(place, leaves[0].shape[0] - 1)  # boards of other groups: their actions are not used
    rows = jax.random.split(key, place.size), boards
    by_row = on_each_device(functools.partial(apply_by_seat, act), REPLICATED, SHARDED, SHARDED, out=SHARDED)
    return by_row(stack, rows, place)
