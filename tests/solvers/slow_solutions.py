"""The two solved games, and the measures of strength, in slow plain Python straight from their definitions.

It shares nothing with `jaxgames`. A position of the diamond is its text in the notation of the game, with either seat
to move, so nothing is rotated. A set of drawn edges of Dots and Boxes is an integer with bit e for edge e:

    *-0-*-1-*
    6   7   8       the horizontal ones first, row by row
    *-2-*-3-*
    9  10  11
    *-4-*-5-*
"""

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from jaxgames.games.dots_and_boxes import DotsAndBoxesState
from tests.games.chinese_checkers_diamond import reference

Policy = dict[str, int]  # the action in each position of the diamond
BoxesAgent = Callable[[int, int], int]  # the edge for each set of drawn edges and each seat


# -- the diamond -------------------------------------------------------------------------------------------------------


class Game(NamedTuple):
    """A whole game; positions whose mover has won already are left out."""

    start: str
    moves: dict[str, dict[int, str]]  # by action, the position that follows; of unfinished games
    value: dict[str, int]  # for the mover; all positions
    plies: dict[str, int]  # to the end with best play


def seat_of(position: str) -> int:
    return int(position.split()[1])


@functools.cache
def solved_slowly(size: int, pieces: int) -> Game:
    rules = reference.Reference(size, pieces)

    def text(position: reference.Position) -> str:
        return rules.to_string(reference.Position(pieces=position.pieces, seat=position.seat))

    moves: dict[str, dict[int, str]] = {}
    over: set[str] = set()
    for first in itertools.combinations(rules.cells, pieces):
        for second in itertools.combinations([cell for cell in rules.cells if cell not in first], pieces):
            content = dict.fromkeys(first, 0) | dict.fromkeys(second, 1)
            for seat in (0, 1):
                position = reference.Position(pieces=content, seat=seat)
                if rules.has_won(content, seat):
                    continue
                if rules.has_won(content, 1 - seat):
                    over.add(text(position))
                else:
                    following = {action: rules.after(position, move) for action, move in rules.moves(position).items()}
                    moves[text(position)] = {action: text(after) for action, after in following.items()}
    value, plies = dict.fromkeys(over, -1), dict.fromkeys(over, 0)
    for ply in itertools.count(1):
        found: dict[str, int] = {}
        for position, following in moves.items():
            if position not in value:
                replies = [value.get(after) for after in following.values()]
                if -1 in replies:
                    found[position] = 1
                elif all(reply == 1 for reply in replies):
                    found[position] = -1
        if not found:
            break
        value, plies = value | found, plies | dict.fromkeys(found, ply)
    drawn = {position: 0 for position in moves if position not in value}
    return Game(text(rules.start()), moves, value | drawn, plies | dict.fromkeys(drawn, -1))


def measures_of_diamond(game: Game, policy: Policy, seat: int = 0, plies: int = 50) -> dict[str, Any]:
    target = game.value[game.start] * (1 if seat == 0 else -1)
    reached = reach(game, policy, seat)
    agent = [each for each in reached if each in game.moves and seat_of(each) == seat]
    won, lost = terminals(game, reached, seat)
    sure = sure_positions(game, policy, seat)
    wins, chances = winning_positions(game, policy, seat), [each for each in agent if game.value[each] == 1]
    uniform = uniform_results(game, policy, seat, plies)
    strong = [each for each in game.moves if seat_of(each) == seat]
    best = reach(game, policy, seat, best_replies=True)
    best_won, best_lost = terminals(game, best, seat)
    winner, length = self_play(game, policy, plies)
    outcome = 0 if winner is None else 1 if winner == 0 else -1
    return {
        "ultra_weak": float(outcome == game.value[game.start]),
        "self_play_winner": winner,
        "self_play_plies": length,
        "weak_solved": game.start in sure,
        "weak_states": won / (won + lost) if target == 1 else 1.0,
        "agent_states": len(agent),
        "unique_states": len(reached),
        "won_terminals": won,
        "lost_terminals": lost,
        "weak_uniform": float(uniform["won"]) if target == 1 else 1.0,
        "weak_uniform_loss": float(uniform["lost"]),
        "weak_uniform_plies": float(uniform["plies"]),
        "weak_uniform_longest": uniform["longest"],
        "sure_fraction": share(agent, lambda each: each in sure),
        "sure_won": share(chances, lambda each: each in wins),
        "kept_value": share(agent, lambda each: game.value[each] >= target),
        "action_weak": share(agent, lambda each: keeps(game, policy, each)),
        "weak_optimal": best_won / (best_won + best_lost) if target == 1 else 1.0,
        "weak_optimal_states": len(best),
        "strong_action": share(strong, lambda each: keeps(game, policy, each)),
        "strong_decisive": share(
            [each for each in strong if is_decisive(game, each)], lambda each: keeps(game, policy, each)
        ),
        "strong_won": share([each for each in strong if game.value[each] == 1], lambda each: keeps(game, policy, each)),
        "strong_fastest": share(strong, lambda each: is_fastest(game, policy, each)),
        "strong_states": len(strong),
    }


def share(positions: list[Any], holds: Any) -> float:
    return sum(map(holds, positions)) / len(positions)


def keeps(game: Game, policy: Policy, position: str) -> bool:
    following = game.moves[position]
    return game.value[following[policy[position]]] == min(game.value[after] for after in following.values())


def is_fastest(game: Game, policy: Policy, position: str) -> bool:
    """Among the best moves, the one after which a lost opponent lasts shortest, or a winning one needs longest."""
    if not keeps(game, policy, position):
        return False
    following = game.moves[position]
    best = [game.plies[after] for after in following.values() if game.value[after] == -game.value[position]]
    wanted = min(best) if game.value[position] == 1 else max(best)
    return game.plies[following[policy[position]]] == wanted


def is_decisive(game: Game, position: str) -> bool:
    return len({game.value[after] for after in game.moves[position].values()}) > 1


def reach(game: Game, policy: Policy, seat: int, best_replies: bool = False) -> dict[str, int]:
    """The positions that occur, with the fewest plies to each."""
    reached = {game.start: 0}
    waiting = [game.start]
    for position in waiting:  # grows meanwhile
        following = game.moves.get(position, {})
        if following and seat_of(position) == seat:
            following = {0: following[policy[position]]}
        elif best_replies:
            following = {a: after for a, after in following.items() if game.value[after] == -game.value[position]}
        for after in following.values():
            if after not in reached:
                reached[after] = reached[position] + 1
                waiting.append(after)
    return reached


def terminals(game: Game, reached: dict[str, int], seat: int) -> tuple[int, int]:
    """The numbers of finished positions that are won and lost for a seat; the mover of a finished position has lost."""
    over = [each for each in reached if each not in game.moves]
    return sum(seat_of(each) != seat for each in over), sum(seat_of(each) == seat for each in over)


def sure_positions(game: Game, policy: Policy, seat: int) -> set[str]:
    """For a seat that should win: where every game is won. For the other one, everything."""
    if game.value[game.start] * (1 if seat == 0 else -1) == -1:
        return set(game.value)
    return winning_positions(game, policy, seat)


def winning_positions(game: Game, policy: Policy, seat: int) -> set[str]:
    """Where every game is won for a seat."""
    sure = {each for each in game.value if each not in game.moves and seat_of(each) != seat}
    while True:
        more = {
            position
            for position, following in game.moves.items()
            if (
                following[policy[position]] in sure
                if seat_of(position) == seat
                else sure.issuperset(following.values())
            )
        }
        if more <= sure:
            return sure
        sure |= more


def uniform_results(game: Game, policy: Policy, seat: int, plies: int) -> dict[str, Any]:
    """Exact probabilities, as fractions."""
    now: dict[str, Fraction] = {game.start: Fraction(1)}
    result: dict[str, Any] = {"won": Fraction(0), "lost": Fraction(0), "plies": Fraction(0), "longest": 0}
    for ply in range(1, plies + 1):
        after: dict[str, Fraction] = defaultdict(Fraction)
        for position, weight in now.items():
            following = game.moves[position]
            chosen = [following[policy[position]]] if seat_of(position) == seat else [*following.values()]
            for each in chosen:
                after[each] += weight / len(chosen)
        for each in [each for each in after if each not in game.moves]:
            weight = after.pop(each)
            result["won" if seat_of(each) != seat else "lost"] += weight
            result["plies"] += weight * ply
            result["longest"] = ply
        now = after
    if now:
        result["plies"] += sum(now.values()) * plies
        result["longest"] = plies
    return result


def self_play(game: Game, policy: Policy, plies: int) -> tuple[int | None, int]:
    """The winner and the length of the game that the policy plays on both seats."""
    position = game.start
    for ply in range(1, plies + 1):
        mover = seat_of(position)
        position = game.moves[position][policy[position]]
        if position not in game.moves:
            return mover, ply
    return None, plies


# -- Dots and Boxes ----------------------------------------------------------------------------------------------------


class SlowBoxes:
    """The rules and the values of one board."""

    def __init__(self, rows: int, cols: int) -> None:
        self.num_edges = (rows + 1) * cols + rows * (cols + 1)
        self.full = 2**self.num_edges - 1
        self.boxes: list[set[int]] = []
        for row in range(rows):
            for col in range(cols):
                left = (rows + 1) * cols + row * (cols + 1) + col
                self.boxes.append({row * cols + col, (row + 1) * cols + col, left, left + 1})
        self.value = functools.cache(self._value)
        self.best_edges = functools.cache(self._best_edges)

    def edges(self, drawn: int) -> list[int]:
        """The edges that are not drawn, in ascending order."""
        return [edge for edge in range(self.num_edges) if not drawn >> edge & 1]

    def complete(self, drawn: int) -> int:
        """The number of boxes with four drawn edges."""
        return sum(all(drawn >> edge & 1 for edge in box) for box in self.boxes)

    def gain(self, drawn: int, edge: int) -> int:
        """The boxes that an edge completes."""
        return self.complete(drawn | 1 << edge) - self.complete(drawn)

    def worth(self, drawn: int, edge: int) -> int:
        """The mover's margin to go after it draws an edge and both sides play perfectly from there."""
        gain, after = self.gain(drawn, edge), self.value(drawn | 1 << edge)
        return gain + after if gain else -after

    def _value(self, drawn: int) -> int:
        """The mover's margin to go if both sides play perfectly."""
        return max((self.worth(drawn, edge) for edge in self.edges(drawn)), default=0)

    def _best_edges(self, drawn: int) -> list[int]:
        """The edges that keep the margin to go."""
        return [edge for edge in self.edges(drawn) if self.worth(drawn, edge) == self.value(drawn)]


def random_states(rows: int, cols: int, number: int, seed: int = 0) -> list[Any]:
    """States with a random number of random edges, at least one of them open, and alternating owners."""
    slow, generator = SlowBoxes(rows, cols), np.random.default_rng(seed)
    states: list[Any] = []
    for _ in range(number):
        edges = np.zeros(slow.num_edges, bool)
        edges[generator.permutation(slow.num_edges)[: generator.integers(slow.num_edges)]] = True
        complete = np.array([edges[[*box]].all() for box in slow.boxes])
        leaves: dict[str, Any] = {
            "current_player": np.int32(generator.integers(2)),
            "rewards": np.zeros(2, np.float32),
            "terminated": np.bool_(False),
            "truncated": np.bool_(False),
            "edges": edges,
            "owner": np.where(complete, np.cumsum(complete) % 2, -1).astype(np.int8),
        }
        states.append(DotsAndBoxesState(**leaves))
    return states


class SlowPlays:
    """The plays of an agent on one seat of a board. A node is (drawn edges, whether the agent is to move)."""

    def __init__(self, slow: SlowBoxes, agent: BoxesAgent, seat: int) -> None:
        self.slow, self.agent, self.seat = slow, agent, seat
        self.scores: dict[tuple[int, bool], set[int]] = {}  # with which plays reach a node
        self._visit(0, seat == 0, 0)
        self.margins = functools.cache(self._margins)

    def _after(self, drawn: int, is_agent: bool) -> list[tuple[int, bool, int]]:
        """The nodes that follow, and what each gives the agent."""
        edges = [self.agent(drawn, self.seat)] if is_agent else self.slow.edges(drawn)
        gains = [self.slow.gain(drawn, edge) for edge in edges]
        return [
            (drawn | 1 << edge, is_agent == (gain > 0), gain if is_agent else -gain)
            for edge, gain in zip(edges, gains, strict=True)
        ]

    def _visit(self, drawn: int, is_agent: bool, score: int) -> None:
        """Plays on from a node, once per score."""
        seen = self.scores.setdefault((drawn, is_agent), set())
        if score not in seen:
            seen.add(score)
            for child, moves_again, gain in self._after(drawn, is_agent) if drawn != self.slow.full else []:
                self._visit(child, moves_again, score + gain)

    def _margins(self, drawn: int, is_agent: bool) -> dict[int, Fraction]:
        """The exact probability of each margin to go against uniform replies."""
        if drawn == self.slow.full:
            return {0: Fraction(1)}
        found: dict[int, Fraction] = defaultdict(Fraction)
        following = self._after(drawn, is_agent)
        for child, again, gain in following:
            for margin, probability in self.margins(child, again).items():
                found[margin + gain] += probability / len(following)
        return found

    def self_play(self) -> int:
        """The margin of seat 0 in the game that the agent plays on both seats."""
        drawn, mover, margin = 0, 0, 0
        while drawn != self.slow.full:
            edge = self.agent(drawn, mover)
            gain = self.slow.gain(drawn, edge)
            margin += gain if mover == 0 else -gain
            drawn, mover = drawn | 1 << edge, mover if gain else 1 - mover
        return margin

    def measures(self) -> dict[str, Any]:
        slow, margins, by_itself = self.slow, self.margins(0, self.seat == 0), self.self_play()
        target = slow.value(0) * (1 if self.seat == 0 else -1)
        nodes = [drawn for drawn, is_agent in self.scores if is_agent and drawn != slow.full]
        least = {drawn: min(self.scores[drawn, True]) for drawn in nodes}
        right = {drawn: self.agent(drawn, self.seat) in slow.best_edges(drawn) for drawn in range(slow.full)}
        decisive = [drawn for drawn in right if len(slow.best_edges(drawn)) < len(slow.edges(drawn))]
        return {
            "self_play_margin": by_itself,
            "self_play_winner": None if by_itself == 0 else int(by_itself < 0),
            "self_play_plies": slow.num_edges,
            "ultra_weak": float(by_itself == slow.value(0)),
            "target_margin": target,
            "worst_margin": min(margins),
            "weak_solved": min(margins) >= target,
            "agent_states": len(nodes),
            "unique_states": len({node for node in self.scores if node[0] != slow.full}) + 1,
            "sure_fraction": share(nodes, lambda drawn: least[drawn] + min(self.margins(drawn, True)) >= target),
            "kept_value": share(nodes, lambda drawn: least[drawn] + slow.value(drawn) >= target),
            "action_weak": share(nodes, lambda drawn: right[drawn]),
            "weak_uniform": float(sum(p for margin, p in margins.items() if margin >= target)),
            "weak_uniform_loss": float(sum(p for margin, p in margins.items() if margin < 0)),
            "weak_uniform_margin": float(sum(margin * p for margin, p in margins.items())),
            "strong_states": slow.full,
            "strong_action": share([*right], lambda drawn: right[drawn]),
            "strong_decisive": share(decisive, lambda drawn: right[drawn]),
            "strong_won": share([drawn for drawn in right if slow.value(drawn) > 0], lambda drawn: right[drawn]),
            "strong_margin_lost": sum(slow.value(d) - slow.worth(d, self.agent(d, self.seat)) for d in right)
            / slow.full,
        }
