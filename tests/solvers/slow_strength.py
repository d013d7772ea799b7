"""The measures of strength in slow plain Python, straight from their definitions: what the tests compare with.

It shares nothing with `jaxgames`. A position is its text in the notation of the game, with either seat to move, so
nothing is rotated. A policy is a dictionary from positions to actions.
"""

import functools
import itertools
from collections import defaultdict
from fractions import Fraction
from typing import Any, NamedTuple

from tests.games.chinese_checkers_diamond import reference

Policy = dict[str, int]


class Game(NamedTuple):
    """A whole game; positions whose mover has won already are left out."""

    start: str
    moves: dict[str, dict[int, str]]  # by action, the position that follows; of unfinished games
    value: dict[str, int]  # for the mover; all positions
    plies: dict[str, int]  # to the end with best play


def seat_of(position: str) -> int:
    return int(position.split()[1])


@functools.cache
def solved(size: int, pieces: int) -> Game:
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


def measures(game: Game, policy: Policy, seat: int = 0, plies: int = 50) -> dict[str, Any]:
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


def share(positions: list[str], holds: Any) -> float:
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
