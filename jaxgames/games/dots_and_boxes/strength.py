"""The strength of an agent in Dots and Boxes, where outcomes are margins and the mover may stay.

`jaxgames.solvers.strength.measure` calls `measure_margins` for this game. The state of the game is the set of drawn
edges, with the seat to move: the best play from there on does not depend on the score. An agent also observes the
owners of the boxes. The boards that it gets have alternating owners (`DotsAndBoxesSolution.states_at`). Its move there
counts for every score. So its policy is one move per set of edges and seat.

The games in which the agent follows its policy, and the other seat plays every reply, form a graph without cycles. Its
layers are the states with 0, 1, 2, ... drawn edges. One pass from the last layer to the first gives the worst margins
to go. The same pass gives the probability of every margin to go against uniformly random replies.

The target is the margin of the whole game for the agent's seat with best play of both sides. A state is sure if the
agent reaches the target whatever the other seat plays, also from the lowest score with which a game reaches it.
"""

import functools
import itertools
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from jaxgames._batches import CHUNK
from jaxgames.games.dots_and_boxes.solution import DotsAndBoxesSolution
from jaxgames.solvers.strength.graph import Mask, Slots, States
from jaxgames.solvers.strength.measures import mistakes_by, self_play, share_of, strong_shares, value_errors
from jaxgames.solvers.strength.policy_table import SAMPLE, Measured, PolicyTable, Values, call_in_batches

STRONG_STATES = 200_000  # sampled for the strong measures where a board has more
MAX_STATES = 50_000_000  # of the games with every reply

Sets = NDArray[np.uint32]  # sets of drawn edges, as the solution numbers them
Places = NDArray[np.int64]  # of states in the next layer: first those of the agent, then the states of the other seat


class EdgeSets:
    """The moves of a solution in its sets of drawn edges. The slot of a move is its edge."""

    slot_type = np.int8
    gain_ends_game = False

    def __init__(self, solution: DotsAndBoxesSolution) -> None:
        self._solution = solution

    def slots(self, states: States, actions: NDArray[Any]) -> Slots:
        is_edge = (actions >= 0) & (actions < self._solution.max_moves)
        is_drawn = states >> np.where(is_edge, actions, 0).astype(np.uint32) & 1 == 1
        return np.where(is_edge & ~is_drawn, actions, -1)

    def after(self, states: States, slots: Slots) -> Sets:
        return states.astype(np.uint32) | np.uint32(1) << slots.astype(np.uint32)

    def gains(self, states: States, slots: Slots) -> NDArray[np.int8]:
        edges = slots[:, None].astype(np.int64)
        return np.take_along_axis(self._solution.gains_of_edges(states), edges, axis=1)[:, 0]

    def losses(self, states: States, slots: Slots) -> tuple[NDArray[np.int64], Mask]:
        lost, is_decisive = np.zeros(len(states), np.int64), np.zeros(len(states), np.bool_)
        for begin in range(0, len(states), CHUNK):
            part = slice(begin, begin + CHUNK)
            worth, value = self._solution.worth(states[part]), self._solution.table[states[part], None]
            drawn = states[part, None] >> np.arange(self._solution.max_moves, dtype=np.uint32) & 1 == 1
            edges = slots[part, None].astype(np.int64)
            lost[part] = (value - np.take_along_axis(worth, edges, axis=1))[:, 0]
            is_decisive[part] = (~drawn & (worth < value)).any(1)
        return lost, is_decisive


class Layer(NamedTuple):
    """The states with equally many drawn edges that occur in these games, and the moves from them."""

    agent: Sets  # [A], the agent is to move
    other: Sets  # [O], the other seat is to move
    moves: Places  # [A], the states after the agent's moves
    move_gains: NDArray[np.int8]  # [A], the boxes that they complete
    replies: Places  # [O, K], the states after every edge that is not drawn
    reply_gains: NDArray[np.int8]  # [O, K]


def measure_margins(measured: Measured[DotsAndBoxesSolution]) -> dict[str, Any]:
    """Returns the measures of an agent's strength by name.

    Raises ValueError also if the games of the weak measures have more than 50 million states.
    """
    solution, seat = measured.solution, measured.seat
    game = EdgeSets(solution)
    policy = measured.policy(game)
    sets = _sample(solution, STRONG_STATES if measured.strong_states is None else measured.strong_states)
    measures: dict[str, Any] = {}
    if measured.weak:
        other = PolicyTable(solution, game, measured.act, 1 - seat)
        policy.is_symmetric(sets[:SAMPLE])  # its answer is not used: a few moves of the other seat are enough
        by_seat = (policy, other) if seat == 0 else (other, policy)
        measures, margin = self_play(game, by_seat, 0, int(solution.table[0]), solution.max_moves)
        measures |= {"self_play_margin": margin}
        measures |= _weak(solution, policy, reachable_layers(solution, policy, seat), seat)
    lost, is_decisive = policy.losses(sets)
    measures |= strong_shares(lost, is_decisive, solution.table[sets] > 0)
    measures |= {"strong_fastest": None, "strong_margin_lost": float(lost.mean())}  # all games have the same length
    if measured.values is not None:
        measures |= _values(measured, measured.values, sets)
    return measures


def reachable_layers(solution: DotsAndBoxesSolution, policy: PolicyTable, seat: int) -> list[Layer]:
    """Returns the states that occur if the agent follows its policy and the other seat plays every reply, by layers.

    Raises ValueError for more than 50 million states.
    """
    game = EdgeSets(solution)
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
        edges = policy.slots(agent)
        moves, move_gains = game.after(agent, edges), game.gains(agent, edges)
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
    """Returns the agent's worst margin to go in the states of each layer, and at last in the finished ones."""
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

    Entry m + num_boxes belongs to the margin m for the agent.
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


def _weak(solution: DotsAndBoxesSolution, policy: PolicyTable, layers: list[Layer], seat: int) -> dict[str, Any]:
    """Returns the measures over all replies."""
    target = int(solution.table[0]) * (1 if seat == 0 else -1)
    worst, lowest = worst_margins(layers), lowest_scores(layers)
    by_layer = [len(layer.agent) for layer in layers]
    scores = np.concatenate([low[:size] for low, size in zip(lowest, by_layer, strict=True)])
    worst_to_go = np.concatenate([low[:size] for low, size in zip(worst[:-1], by_layer, strict=True)])
    sets = np.concatenate([layer.agent for layer in layers])
    lost, is_decisive = policy.losses(sets)
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
        "mistakes_by_ply": mistakes_by("ply", ply, is_decisive, lost > 0),
    }


def _sample(solution: DotsAndBoxesSolution, size: int) -> Sets:
    """Returns different random sets of edges, without the set of a finished game; all in order if there are no more."""
    live = solution.num_states - 1
    if size >= live:
        return np.arange(live, dtype=np.uint32)
    return np.sort(np.random.default_rng(0).choice(live, size, replace=False)).astype(np.uint32)


def _values(measured: Measured[DotsAndBoxesSolution], values: Values, sets: Sets) -> dict[str, Any]:
    """Returns the errors of the agent's values, in the unit of the game's reward."""
    solution, seat = measured.solution, measured.seat
    predicted = call_in_batches(solution, values, sets, seat)
    read = functools.partial(jax.jit(solution.payoffs, static_argnums=0), measured.env.unwrapped, solution.device_table)
    true = call_in_batches(solution, read, sets, seat) * (1 if seat == 0 else -1)
    return value_errors(predicted, true)
