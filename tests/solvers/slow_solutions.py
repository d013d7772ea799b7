"""Solved games, and the measures of strength, in slow plain Python straight from their definitions.

The rules are those of the slow references of the games, so nothing is shared with `jaxgames`. A node is a board with
the seat to move, None at the end. Its board is the first word of the text of a position: the score, the owners of boxes
and the number of plies do not matter.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames.games.dots_and_boxes import DotsAndBoxes
from tests.games.chinese_checkers_diamond import reference as diamonds
from tests.games.dots_and_boxes import reference as boxes
from tests.helpers.reference import AnyReference, Position

Node = tuple[str, int | None]
Policy = Mapping[Node, int]  # the action in each node, of both seats


class Game(NamedTuple):
    """A whole game."""

    start: str
    moves: dict[Node, dict[int, tuple[int, Node]]]  # of live nodes by action: what it pays the mover, the next node
    value: dict[Node, int]  # of live nodes: what the mover gains from there on with best play
    plies: dict[Node, int]  # to the end, if the winner wins soonest and the loser loses latest; -1 for draws

    def worth(self, node: Node, action: int) -> int:
        """What the mover gains from an action on."""
        paid, after = self.moves[node][action]
        return paid + self.value.get(after, 0) * (1 if after[1] == node[1] else -1)

    def best(self, node: Node) -> list[int]:
        """The actions that keep the value."""
        return [action for action in self.moves[node] if self.worth(node, action) == self.value[node]]

    def fastest(self, node: Node) -> list[int]:
        """Of the best actions, those that win soonest or lose latest."""
        plies = {action: self.plies.get(self.moves[node][action][1], 0) for action in self.best(node)}
        wanted = (min if self.value[node] > 0 else max)(plies.values())
        return [action for action in plies if plies[action] == wanted]


def solved(start: str, moves: dict[Node, dict[int, tuple[int, Node]]]) -> Game:
    """By value iteration: games that are cut off after 0, 1, 2, ... plies, until their values stay the same."""
    game = Game(start, moves, value=dict.fromkeys(moves, 0), plies=dict.fromkeys(moves, -1))
    for ply in itertools.count(1):
        value = {node: max(game.worth(node, action) for action in moves[node]) for node in moves}
        if value == game.value:
            return game
        game.plies.update({node: ply for node in moves if value[node] != game.value[node]})
        game.value.update(value)
    raise AssertionError


def of_rules(rules: AnyReference, positions: Iterable[Any]) -> Game:
    """The game of a reference; the positions are all those that are live."""

    def node(position: Position) -> Node:
        return rules.to_string(position).split()[0], None if position.terminated else position.seat

    moves: dict[Node, dict[int, tuple[int, Node]]] = {}
    for position in positions:
        following = {action: rules.after(position, move) for action, move in sorted(rules.moves(position).items())}
        paid = {action: int(after.rewards[position.seat]) for action, after in following.items()}
        moves[node(position)] = {action: (paid[action], node(after)) for action, after in following.items()}
    return solved(node(rules.start())[0], moves)


@functools.cache
def solved_diamond(size: int, pieces: int) -> Game:
    rules = diamonds.Reference(size, pieces, max_plies=2)
    positions: list[diamonds.Position] = []
    for first in itertools.combinations(rules.cells, pieces):
        for second in itertools.combinations([cell for cell in rules.cells if cell not in first], pieces):
            content = dict.fromkeys(first, 0) | dict.fromkeys(second, 1)
            if not any(rules.has_won(content, seat) for seat in (0, 1)):
                positions += [diamonds.Position(pieces=content, seat=seat) for seat in (0, 1)]
    return of_rules(rules, positions)


@functools.cache
def solved_boxes(rows: int, cols: int) -> Game:
    rules = boxes.Reference(rows, cols, "boxes")
    positions: list[boxes.Position] = []
    for number in range(len(rules.edges)):
        for drawn in map(frozenset, itertools.combinations(rules.edges, number)):
            owner = {box: 0 for box in rules.boxes if rules.around(box) <= drawn}
            positions += [boxes.Position(drawn=drawn, owner=owner, seat=seat) for seat in (0, 1)]
    return of_rules(rules, positions)


def random_boxes(rows: int, cols: int, number: int, seed: int = 0) -> list[Any]:
    """States with a random number of random edges, at least one of them open, and alternating owners."""
    env, rules, random = DotsAndBoxes(rows, cols), boxes.Reference(rows, cols), np.random.default_rng(seed)
    states: list[Any] = []
    for _ in range(number):
        drawn = frozenset(random.permutation(rules.edges)[: random.integers(len(rules.edges))].tolist())
        owner = {box: place % 2 for place, box in enumerate(box for box in rules.boxes if rules.around(box) <= drawn)}
        position = boxes.Position(drawn=drawn, owner=owner, seat=int(random.integers(2)))
        states.append(jax.tree.map(lambda leaf: np.asarray(leaf)[()], env.from_string(rules.to_string(position))))
    return states


# -- measures ----------------------------------------------------------------------------------------------------------


def measures(game: Game, policy: Policy, seat: int, plies: int) -> dict[str, Any]:
    """All measures of an agent on a seat; games are cut off after a number of plies."""
    start, sign = (game.start, 0), 1 if seat == 0 else -1
    target = sign * game.value[start]
    winner, margin, length = self_play(game, policy, plies)
    reached = reach(game, policy, seat, [start])
    best = reach(game, policy, seat, [start], best_replies=True)
    distance = reach(game, policy, -1, [start, (game.start, 1)])
    worst, uniform = worst_to_go(game, policy, seat), uniform_replies(game, policy, seat, plies)
    agent = {node: min(scores) for node, scores in reached.items() if node[1] == seat}  # with the lowest score
    strong = [node for node in game.moves if node[1] == seat]
    won = [node for node in strong if game.value[node] > 0]
    decisive = {node for node in strong if len(game.best(node)) < len(game.moves[node])}
    right = {node for node in strong if policy[node] in game.best(node)}

    def mistakes(name: str, groups: Mapping[Node, float]) -> dict[str, list[Any]]:
        numbers = sorted({*groups.values()})
        rows = [[node for node in groups if groups[node] == number] for number in numbers]
        return {
            name: numbers,
            "states": [len(row) for row in rows],
            "decisive": [len(decisive.intersection(row)) for row in rows],
            "mistakes": [len(row) - len(right.intersection(row)) for row in rows],
        }

    return {
        "ultra_weak": float(margin == game.value[start]),
        "self_play_winner": winner,
        "self_play_plies": length,
        "self_play_margin": margin,
        "target_margin": target,
        "worst_margin": worst[start],
        "weak_solved": worst[start] >= target,
        "weak_states": share_of_wins(reached, target),
        "agent_states": len(agent),
        "unique_states": len(reached),
        "won_terminals": wins_and_losses(reached)[0],
        "lost_terminals": wins_and_losses(reached)[1],
        "weak_uniform": sum(uniform[end] for end in uniform if end[1] >= target),
        "weak_uniform_loss": sum(uniform[end] for end in uniform if end[1] < 0),
        "weak_uniform_plies": sum(probability * end[0] for end, probability in uniform.items()),
        "weak_uniform_longest": max(uniform)[0],
        "weak_uniform_margin": sum(probability * end[1] for end, probability in uniform.items()),
        "sure_fraction": share(agent, lambda node: agent[node] + worst[node] >= target),
        "sure_won": share([node for node in agent if game.value[node] == 1], lambda node: worst[node] == 1),
        "kept_value": share(agent, lambda node: agent[node] + game.value[node] >= target),
        "action_weak": share(agent, lambda node: node in right),
        "weak_optimal": share_of_wins(best, target),
        "weak_optimal_states": len(best),
        "strong_states": len(strong),
        "strong_action": share(strong, lambda node: node in right),
        "strong_decisive": share(decisive, lambda node: node in right),
        "strong_won": share(won, lambda node: node in right),
        "strong_fastest": share(strong, lambda node: policy[node] in game.fastest(node)),
        "strong_margin_lost": sum(game.value[node] - game.worth(node, policy[node]) for node in strong) / len(strong),
        "mistakes_by_ply": mistakes("ply", {node: min(reached[node].values()) for node in agent}),
        "mistakes_by_distance": mistakes(
            "distance", {node: min(distance[node].values()) for node in strong if node in distance}
        ),
        "mistakes_by_share": mistakes(
            "share", {node: math.ceil(10 * len(game.best(node)) / len(game.moves[node])) / 10 for node in won}
        ),
    }


def share(nodes: Iterable[Node], holds: Callable[[Node], bool]) -> float:
    held = [holds(node) for node in nodes]
    return sum(held) / len(held) if held else math.nan


def follow(game: Game, policy: Policy, seat: int, node: Node, best_replies: bool = False) -> list[tuple[int, Node]]:
    """What the next move can gain the agent on a seat, and where it leads."""
    moves = [*game.moves.get(node, {})]
    if moves and node[1] == seat:
        moves = [policy[node]]
    elif moves and best_replies:
        moves = game.best(node)
    following = [game.moves[node][action] for action in moves]
    return [(paid if node[1] == seat else -paid, after) for paid, after in following]


Reached = dict[Node, dict[int, int]]  # the scores of the agent with which plays reach a node, with the fewest plies


def reach(game: Game, policy: Policy, seat: int, starts: list[Node], best_replies: bool = False) -> Reached:
    """The nodes that occur if the agent follows its policy. Seat -1 is nobody's: both seats play every move."""
    reached: Reached = {}
    waiting = [(start, 0, 0) for start in starts]
    for node, score, ply in waiting:  # grows meanwhile
        if score not in reached.setdefault(node, {}):
            reached[node][score] = ply
            following = follow(game, policy, seat, node, best_replies)
            waiting += [(after, score + gain, ply + 1) for gain, after in following]
    return reached


def wins_and_losses(reached: Reached) -> tuple[int, int]:
    """The finished nodes that are won and lost for the agent."""
    ends = [max(scores) for node, scores in reached.items() if node[1] is None]
    return sum(score > 0 for score in ends), sum(score < 0 for score in ends)


def share_of_wins(reached: Reached, target: int) -> float:
    """Of the finished nodes; without any, all games are draws."""
    won, lost = wins_and_losses(reached)
    return won / (won + lost) if target > -1 and won + lost else float(target <= 0)


def worst_to_go(game: Game, policy: Policy, seat: int) -> dict[Node, int]:
    """What the agent gains from each node on if the other seat gives it as little as it can; 0 if that never ends."""
    worst = dict.fromkeys(game.moves, 0)
    while True:
        found = {
            node: min(gain + worst.get(after, 0) for gain, after in follow(game, policy, seat, node))
            for node in game.moves
        }
        if found == worst:
            return worst
        worst = found


def uniform_replies(game: Game, policy: Policy, seat: int, plies: int) -> dict[tuple[int, int], float]:
    """The probability of each length and score of a game against uniformly random replies."""
    ended: dict[tuple[int, int], float] = defaultdict(float)
    now: dict[tuple[Node, int], float] = {((game.start, 0), 0): 1.0}
    for ply in range(1, plies + 1):
        then: dict[tuple[Node, int], float] = defaultdict(float)
        for (node, score), probability in now.items():
            following = follow(game, policy, seat, node)
            for gain, after in following:
                then[after, score + gain] += probability / len(following)
        now = {}
        for (node, score), probability in then.items():
            if node[1] is None or ply == plies:
                ended[ply, score] += probability
            else:
                now[node, score] = probability
    return ended


def self_play(game: Game, policy: Policy, plies: int) -> tuple[int | None, int, int]:
    """The winner, the margin of seat 0 and the length of the game that the policy plays on both seats."""
    node, margin, length = (game.start, 0), 0, 0
    while node[1] is not None and length < plies:
        paid, after = game.moves[node][policy[node]]
        margin, length = margin + (paid if node[1] == 0 else -paid), length + 1
        node = after
    return None if margin == 0 else int(margin < 0), margin, length
