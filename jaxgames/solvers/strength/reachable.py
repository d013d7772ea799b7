"""The games of an agent against every reply: the reachable states, the proved ones, and exact probabilities.

The agent plays one seat with a fixed policy; the other seat plays every legal reply. A state is proved if the agent
gets a given result from there, whatever the other seat plays: `sure_fraction` is the share of these. Each state counts
once, however many games lead to it. With the agent to move, a state is another one than with the other seat to move.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxgames.solvers.strength.graph import Graph, Mask, States, unique
from jaxgames.solvers.strength.policy_table import PolicyTable


class Reachable(NamedTuple):
    """The different states that occur if the agent follows its policy and the other seat plays every reply."""

    agent: States  # [A], live, the agent is to move
    ply: NDArray[np.int32]  # [A], the fewest plies from the start to each of them
    opponent: States  # [O], live, the other seat is to move
    won: States  # finished by a move of the agent
    lost: States  # finished by a reply

    @property
    def num_states(self) -> int:
        return len(self.agent) + len(self.opponent) + len(self.won) + len(self.lost)


def reachable_states(graph: Graph, policy: PolicyTable, seat: int = 0, best_replies: bool = False) -> Reachable:
    """Returns the states that occur if the agent on `seat` follows its policy; each is expanded once, breadth-first.

    With `best_replies` the other seat plays only moves that keep the value of its state.
    """
    ply_of = {True: _unreached(graph), False: _unreached(graph)}  # by whether the agent is to move
    frontier, ply, is_agent = np.array([graph.start], np.int32), 0, seat == 0
    ply_of[is_agent][frontier] = 0
    while frontier.size:
        if is_agent:
            after = policy.children(frontier)
        else:
            after = graph.children[frontier]
            if best_replies:
                after = np.where(graph.keeps_value(frontier[:, None], after), after, graph.size)
        ply, is_agent = ply + 1, not is_agent
        following = unique(after, graph.size)
        following = following[ply_of[is_agent][following] < 0]
        ply_of[is_agent][following] = ply
        frontier = following[~graph.is_over[following]]
    (agent, lost), (opponent, won) = (_live_and_over(graph, ply_of[side]) for side in (True, False))
    return Reachable(agent, ply_of[True][agent], opponent, won, lost)


def _unreached(graph: Graph) -> NDArray[np.int32]:
    return np.full(graph.size + 1, -1, np.int32)


def _live_and_over(graph: Graph, ply_of: NDArray[np.int32]) -> tuple[States, States]:
    """Returns the reachable states of unfinished and of finished games."""
    reached = np.flatnonzero(ply_of >= 0).astype(np.int32)
    over = graph.is_over[reached]
    return reached[~over], reached[over]


class Proved(NamedTuple):
    """The reachable states from which the agent gets its target or better, whatever the other seat plays."""

    agent: Mask  # [S + 1], with the agent to move
    opponent: Mask  # [S + 1], with the other seat to move


def proved_states(graph: Graph, policy: PolicyTable, reachable: Reachable, target: int) -> Proved:
    """Returns the states from which the agent gets the result `target` or a better one. Plies are not limited.

    For a win it is the least fixpoint of "the agent's move wins, or every reply leads to a proved state". So a cycle
    is not proved: it is a draw. For a draw, a state is proved if no reply leads to a loss, now or later.
    """
    agent, opponent = np.zeros(graph.size + 1, bool), np.zeros(graph.size + 1, bool)
    if target == 1:
        opponent[reachable.won] = agent[graph.size] = True  # no move leads to graph.size, and "every" holds for no move
        _propagate(graph, policy, reachable, agent, opponent, every=True)
    else:
        agent[reachable.lost] = target == 0
        _propagate(graph, policy, reachable, agent, opponent, every=False)
        agent, opponent = ~agent, ~opponent
    return Proved(agent, opponent)


def _propagate(
    graph: Graph, policy: PolicyTable, reachable: Reachable, agent: Mask, opponent: Mask, every: bool
) -> None:
    """Adds states to the two sets, until nothing changes.

    A state of the other seat is added if every one of its replies leads into `agent`, or any one if not `every`. A
    state of the agent is added if its move leads into `opponent`.
    """
    waiting, waiting_agent = reachable.opponent, reachable.agent
    following = policy.children(reachable.agent)
    while True:
        into = agent[graph.children[waiting]]
        added = into.all(-1) if every else into.any(-1)
        opponent[waiting[added]] = True
        moves = opponent[following]
        agent[waiting_agent[moves]] = True
        if not (added.any() or moves.any()):
            return
        waiting, waiting_agent, following = waiting[~added], waiting_agent[~moves], following[~moves]


class Uniform(NamedTuple):
    """The games of the agent against uniformly random replies."""

    won: float  # probability
    lost: float
    mean_plies: float  # a game that is cut off counts with its length
    longest: int  # the most plies of any game


def uniform_replies(graph: Graph, policy: PolicyTable, reachable: Reachable, seat: int, plies: int) -> Uniform:
    """Returns the exact results of games in which every reply is drawn uniformly from the legal moves.

    The probability of every reachable state is carried forward, ply by ply, in float64.
    """
    place = np.full(graph.size + 1, -1, np.int32)  # of states with the other seat to move; finished ones are last
    place[reachable.opponent] = np.arange(len(reachable.opponent))
    place[reachable.won] = len(reachable.opponent)
    by_agent = place[policy.children(reachable.agent)]
    place[:] = -1
    place[reachable.agent] = np.arange(len(reachable.agent))
    place[reachable.lost] = len(reachable.agent)
    replies = place[graph.children[reachable.opponent]]  # [O, K]
    source, by_reply = np.nonzero(replies >= 0)[0], replies[replies >= 0]
    moves = graph.num_moves[reachable.opponent]

    agent, opponent = np.zeros(len(reachable.agent)), np.zeros(len(reachable.opponent))
    if seat == 0:
        agent[reachable.agent == graph.start] = 1
    else:
        opponent[reachable.opponent == graph.start] = 1
    won = lost = mean_plies = 0.0
    longest = 0
    for ply in range(1, plies + 1):
        if (ply + seat) % 2 == 1:
            after = np.bincount(by_agent, weights=agent, minlength=len(opponent) + 1)
            opponent, ended = after[:-1], float(after[-1])
            won += ended
        else:
            after = np.bincount(by_reply, weights=(opponent / moves)[source], minlength=len(agent) + 1)
            agent, ended = after[:-1], float(after[-1])
            lost += ended
        mean_plies += ply * ended
        longest = ply if ended > 0 else longest
    cut = float((agent if (plies + seat) % 2 == 0 else opponent).sum())
    return Uniform(won, lost, mean_plies + plies * cut, plies if cut > 0 else longest)
