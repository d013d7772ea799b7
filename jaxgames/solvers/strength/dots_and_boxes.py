"""The strength of an agent in Dots and Boxes, where outcomes are margins and the mover may stay.

`jaxgames.solvers.strength.measure` calls `measure_margins` for this game. The state of the game is the set of drawn
edges, with the seat to move: the best play from there on does not depend on the score. An agent also observes the
owners of the boxes. The boards that it gets have alternating owners (`DotsAndBoxesSolution.states_at`). Its move there
counts for every score. So its policy is one move per set of edges and seat.

The games in which the agent follows its policy, and the other seat plays every reply, form a graph without cycles. Its
layers are the states with 0, 1, 2, ... drawn edges. One pass from the last layer to the first gives the worst margins
to go. The same pass gives the probability of every margin to go against uniformly random replies.
"""

import itertools
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from jaxgames._checks import check_int
from jaxgames.env import Env
from jaxgames.solvers.dots_and_boxes.solution import DotsAndBoxesSolution
from jaxgames.solvers.exact.agent import reader_of
from jaxgames.solvers.strength.policy_table import (
    BATCH,
    Act,
    OnStates,
    Values,
    actions_in_batches,
    boards,
    call_in_batches,
    no_progress,
)
from jaxgames.solvers.strength.shares import mistakes_by, share_of

STRONG_STATES = 200_000  # sampled for the strong measures where a board has more
MAX_STATES = 50_000_000  # of the games with every reply

Sets = NDArray[np.uint32]  # sets of drawn edges, as the solution numbers them
Places = NDArray[np.int64]  # of states in the next layer: first those of the agent, then those of the other seat


class Policy:
    """The moves of an agent on each seat. A state is given to the agent when its move is first needed."""

    def __init__(self, solution: DotsAndBoxesSolution, act: Act, on_states: OnStates) -> None:
        self._solution, self._act, self._on_states = solution, act, on_states
        self._known = [np.zeros(solution.num_states, np.int8) for _ in range(2)]  # an edge + 1; 0 where unknown
        self._was_asked_twice = False

    def edges(self, sets: Sets, seat: int) -> NDArray[np.int64]:
        """Returns int64[B], the edges that the agent draws.

        Raises ValueError for an edge that is drawn already, and for an agent that plays another one when asked again.
        """
        known = self._known[seat]
        unknown = np.unique(sets[known[sets] == 0])
        if unknown.size:
            known[unknown] = self._checked(unknown, self._ask(unknown, seat), seat) + 1
            if not self._was_asked_twice:
                self._was_asked_twice = True
                self._ask_again(unknown[:BATCH], seat)
        return known[sets].astype(np.int64) - 1

    def _ask_again(self, sets: Sets, seat: int) -> None:
        """Raises ValueError if the agent plays other moves than before."""
        if not np.array_equal(self._ask(sets, seat), self.edges(sets, seat)):
            raise ValueError(
                "act must be deterministic: asked twice for the same boards, it played two different actions; "
                "expected a function of the board alone, without a new key per call"
            )

    def _ask(self, sets: Sets, seat: int) -> NDArray[Any]:
        return actions_in_batches(self._solution, self._act, sets, seat, self._on_states)

    def _checked(self, sets: Sets, actions: NDArray[Any], seat: int) -> NDArray[Any]:
        is_edge = (actions >= 0) & (actions < self._solution.max_moves)
        drawn = sets >> np.where(is_edge, actions, 0).astype(np.uint32) & 1 == 1
        wrong = np.flatnonzero(~is_edge | drawn)
        if wrong.size:
            board = boards(self._solution, sets[wrong[:1]], seat)
            text = self._solution.env.to_string(jax.tree.map(lambda leaf: leaf[0], board))
            raise ValueError(
                f"act played the illegal action {int(actions[wrong[0]])} for {text!r} and for {wrong.size - 1} other "
                f"boards; legal are the edges from 0 to {self._solution.max_moves - 1} that are not drawn"
            )
        return actions


class Layer(NamedTuple):
    """The states with equally many drawn edges that occur in these games, and the moves from them."""

    agent: Sets  # [A], the agent is to move
    other: Sets  # [O], the other seat is to move
    moves: Places  # [A], the states after the agent's moves
    move_gains: NDArray[np.int8]  # [A], the boxes that they complete
    replies: Places  # [O, K], the states after every edge that is not drawn
    reply_gains: NDArray[np.int8]  # [O, K]


def measure_margins(
    env: Env[Any],
    act: Act,
    solution: DotsAndBoxesSolution,
    plies: int = 50,
    *,
    seat: int = 0,
    values: Values | None = None,
    strong_states: int | None = None,
    on_states: OnStates = no_progress,
) -> dict[str, Any]:
    """Returns the measures of an agent's strength by name; `docs/strength.md` explains them.

    The target is the margin of the whole game for the agent's seat with best play of both sides. A state is sure if the
    agent reaches the target whatever the other seat plays, also from the lowest score with which a game reaches it.

    Args:
      env: the game of the solution.
      act: a function from boards [4096] to int32[4096], a legal action for each. It depends on the board alone.
      solution: of the game.
      plies: the limit of a game's length; at least its number of edges, so that it cuts nothing off.
      seat: of the agent in the weak measures, and the seat to move in the states of the strong ones.
      values: a function from boards [4096] to float32[4096], the mover's expected return, where the agent has values.
      strong_states: the number of random states for the strong measures; if None, 200,000, or all if there are fewer.
      on_states: is called with the number of states for which `act` was called.

    Raises ValueError if a game is longer than `plies`, if an action is illegal or not deterministic, or if the games
    have more than 50 million states.
    """
    check_int("plies", plies, solution.max_moves, 100_000)  # every game has as many plies as edges
    policy = Policy(solution, act, on_states)
    chosen = _sample(solution, STRONG_STATES if strong_states is None else strong_states)
    measures = _strong(solution, policy, chosen, seat)
    layers = reached_layers(solution, policy, seat)
    measures = _ultra_weak(solution, policy) | _weak(solution, policy, layers, seat) | measures
    if values is not None:
        measures |= _values(env, solution, values, chosen, seat, on_states)
    return measures


# -- ultra-weak ----------------------------------------------------------------------------------------------------


def _ultra_weak(solution: DotsAndBoxesSolution, policy: Policy) -> dict[str, Any]:
    """Returns whether a game of the agent against itself ends with the margin of best play, and its margin."""
    drawn, mover, margin = np.zeros(1, np.uint32), 0, 0
    for _ in range(solution.max_moves):
        edge = policy.edges(drawn, mover)
        gain = int(_gains(solution, drawn, edge)[0])
        margin += gain if mover == 0 else -gain
        mover = mover if gain else 1 - mover
        drawn = drawn | np.uint32(1) << edge.astype(np.uint32)
    return {
        "ultra_weak": float(margin == solution.table[0]),
        "self_play_winner": {1: 0, 0: None, -1: 1}[int(np.sign(margin))],
        "self_play_plies": solution.max_moves,
        "self_play_margin": margin,
    }


# -- weak ----------------------------------------------------------------------------------------------------------


def reached_layers(solution: DotsAndBoxesSolution, policy: Policy, seat: int) -> list[Layer]:
    """Returns the states that occur if the agent follows its policy and the other seat plays every reply, by layers.

    Raises ValueError for more than 50 million states.
    """
    start, nothing = np.zeros(1, np.uint32), np.zeros(0, np.uint32)
    agent, other = (start, nothing) if seat == 0 else (nothing, start)
    layers: list[Layer] = []
    num_states = 0
    for _ in range(solution.max_moves):
        num_states += len(agent) + len(other)
        if num_states > MAX_STATES:
            raise ValueError(
                f"the games of this agent on {solution.env} have more than {MAX_STATES:,} states: measure it on a "
                "smaller board"
            )
        edges = policy.edges(agent, seat)
        moves = agent | np.uint32(1) << edges.astype(np.uint32)
        move_gains = _gains(solution, agent, edges)
        open_edges = solution.max_moves - len(layers)
        replies = solution.children(other).children[:, :open_edges]
        reply_gains = solution.gains(other)[:, :open_edges]
        to_agent = [moves[move_gains > 0], replies[reply_gains == 0]]
        to_other = [moves[move_gains == 0], replies[reply_gains > 0]]
        next_agent, next_other = (np.unique(np.concatenate(parts)) for parts in (to_agent, to_other))

        moves = _places(moves, move_gains > 0, next_agent, next_other)
        replies = _places(replies, reply_gains == 0, next_agent, next_other)
        layers.append(Layer(agent, other, moves, move_gains, replies, reply_gains))
        agent, other = next_agent, next_other
    return layers


def _places(after: Sets, is_agent: NDArray[np.bool_], agent: Sets, other: Sets) -> Places:
    """Returns the places of states in a layer with these states of the agent and of the other seat."""
    return np.where(is_agent, np.searchsorted(agent, after), len(agent) + np.searchsorted(other, after))


def worst_margins(layers: list[Layer]) -> list[NDArray[np.int64]]:
    """Returns the agent's worst margin to go in the states of each layer, and in those of the finished games."""
    worst = [np.zeros(2, np.int64)]  # at most one finished state of each seat
    for layer in reversed(layers):
        by_agent = layer.move_gains + worst[-1][layer.moves]
        by_other = (worst[-1][layer.replies] - layer.reply_gains).min(1)
        worst.append(np.concatenate([by_agent, by_other]))
    return worst[::-1]


def lowest_scores(layers: list[Layer]) -> list[NDArray[np.int64]]:
    """Returns the lowest score of the agent, its boxes minus the others, with which a game reaches each state."""
    lowest = [np.zeros(1, np.int64)]
    for layer, following in itertools.pairwise(layers):
        of_agent, of_other = np.split(lowest[-1], [len(layer.agent)])
        after = np.full(len(following.agent) + len(following.other), np.iinfo(np.int64).max)
        np.minimum.at(after, layer.moves, of_agent + layer.move_gains)
        np.minimum.at(after, layer.replies, of_other[:, None] - layer.reply_gains)
        lowest.append(after)
    return lowest


def uniform_margins(layers: list[Layer], num_boxes: int) -> NDArray[np.float64]:
    """Returns float64[2 * num_boxes + 1], the probability of each margin of a game against uniformly random replies.

    Entry m + num_boxes is that of the margin m for the agent.
    """
    after = np.zeros((2, 2 * num_boxes + 1))
    after[:, num_boxes] = 1
    for layer in reversed(layers):
        by_agent = _shifted(after, layer.moves, layer.move_gains)
        by_other = np.zeros((len(layer.other), 2 * num_boxes + 1))
        for reply in range(layer.replies.shape[1]):
            by_other += _shifted(after, layer.replies[:, reply], -layer.reply_gains[:, reply])
        after = np.concatenate([by_agent, by_other / layer.replies.shape[1]])
    return after[0]


def _shifted(after: NDArray[np.float64], places: Places, gains: NDArray[np.int8]) -> NDArray[np.float64]:
    """Returns the probabilities of margins before moves that gain -2 ... 2 boxes, from those after them."""
    result = after[places]
    for gain in (-2, -1, 1, 2):
        rows = np.flatnonzero(gains == gain)
        result[rows] = np.roll(result[rows], gain, axis=1)  # nothing passes the ends: no margin exceeds all boxes
    return result


def _weak(solution: DotsAndBoxesSolution, policy: Policy, layers: list[Layer], seat: int) -> dict[str, Any]:
    """Returns the measures over all replies."""
    target = int(solution.table[0]) * (1 if seat == 0 else -1)
    worst, lowest = worst_margins(layers), lowest_scores(layers)
    by_layer = [len(layer.agent) for layer in layers]
    scores = np.concatenate([low[:size] for low, size in zip(lowest, by_layer, strict=True)])
    worst_to_go = np.concatenate([low[:size] for low, size in zip(worst[:-1], by_layer, strict=True)])
    sets = np.concatenate([layer.agent for layer in layers])
    lost, decisive = _margin_lost(solution, policy, sets, seat)
    uniform, margins = uniform_margins(layers, solution.env.num_boxes), np.arange(-solution.env.num_boxes, 0)
    ply = np.repeat(np.arange(len(layers)), by_layer)
    return {
        "weak_solved": bool(worst[0][0] >= target),
        "weak_states": None,  # all games end on the same board
        "target_margin": target,
        "worst_margin": int(worst[0][0]),
        "agent_states": len(sets),
        "unique_states": sum(len(layer.agent) + len(layer.other) for layer in layers) + 1,
        "weak_uniform": 1 - float(uniform[: target + solution.env.num_boxes].sum()),
        "weak_uniform_loss": float(uniform[: len(margins)].sum()),
        "weak_uniform_margin": float(uniform @ np.arange(-len(margins), len(margins) + 1)),
        "sure_fraction": share_of(scores + worst_to_go >= target),
        "kept_value": share_of(scores + solution.table[sets] >= target),
        "action_weak": share_of(lost == 0),
        "mistakes_by_ply": mistakes_by("ply", ply, decisive, lost != 0),
    }


# -- strong --------------------------------------------------------------------------------------------------------


def _sample(solution: DotsAndBoxesSolution, size: int) -> Sets:
    """Returns different random sets of edges, without that of a finished game; all in order if there are no more."""
    live = solution.num_states - 1
    if size >= live:
        return np.arange(live, dtype=np.uint32)
    return np.sort(np.random.default_rng(0).choice(live, size, replace=False)).astype(np.uint32)


def _strong(solution: DotsAndBoxesSolution, policy: Policy, sets: Sets, seat: int) -> dict[str, Any]:
    """Returns the shares of states in which the agent's move is one of the best, and the mean margin that it loses."""
    lost, decisive = _margin_lost(solution, policy, sets, seat)
    return {
        "strong_action": share_of(lost == 0),
        "strong_decisive": share_of(lost[decisive] == 0),
        "strong_won": share_of(lost[solution.table[sets] > 0] == 0),
        "strong_fastest": None,  # all games have the same length
        "strong_margin_lost": float(lost.mean()),
        "strong_states": len(sets),
    }


def _margin_lost(
    solution: DotsAndBoxesSolution, policy: Policy, sets: Sets, seat: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns the boxes that the agent's moves lose against the best ones, and whether some edge is a mistake."""
    edges, lost, decisive = policy.edges(sets, seat), np.zeros(len(sets), np.int64), np.zeros(len(sets), np.bool_)
    for begin in range(0, len(sets), BATCH):
        part = slice(begin, begin + BATCH)
        worth, value = solution.worth(sets[part]), solution.table[sets[part], None]
        drawn = sets[part, None] >> np.arange(solution.max_moves, dtype=np.uint32) & 1 == 1
        lost[part] = (value - np.take_along_axis(worth, edges[part, None], axis=1))[:, 0]
        decisive[part] = (~drawn & (worth < value)).any(1)
    return lost, decisive


def _gains(solution: DotsAndBoxesSolution, sets: Sets, edges: NDArray[np.int64]) -> NDArray[np.int8]:
    """Returns int8[B], the boxes that edges complete."""
    return np.take_along_axis(solution.gains_of_edges(sets), edges[:, None], axis=1)[:, 0]


# -- values --------------------------------------------------------------------------------------------------------


def _values(
    env: Env[Any], solution: DotsAndBoxesSolution, values: Values, sets: Sets, seat: int, on_states: OnStates
) -> dict[str, Any]:
    """Returns the errors of the agent's values, in the unit of the game's reward."""
    reader, table = reader_of(solution, env)
    found = call_in_batches(solution, values, sets, seat, on_states).astype(np.float64)
    read = jax.jit(reader.values)
    true = call_in_batches(solution, lambda states: read(table, states), sets, seat) * (1 if seat == 0 else -1)
    decided = true != 0
    return {
        "value_sign": share_of(np.sign(found[decided]) == np.sign(true[decided])),
        "value_mse": float(((found - true) ** 2).mean()),
    }
