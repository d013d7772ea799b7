"""Depth-first minimax in plain Python, on the slow references of the rules. For games of two seats that sum to zero."""

from typing import Any

from tests.helpers.reference import Reference


def minimax(reference: Reference[Any, Any], position: Any, depth: int, memo: dict[tuple[str, int], float]) -> float:
    """What seat 0 still gains under best play of both; 0 where the game goes on after `depth` actions.

    `memo` has what was computed before, and is filled.
    """
    if position.over or depth == 0:
        return 0.0
    known = (f"{reference.to_string(position)} {position.seat}", depth)
    if known not in memo:
        gains = action_gains(reference, position, depth, memo).values()
        memo[known] = max(gains) if position.seat == 0 else min(gains)
    return memo[known]


def action_gains(
    reference: Reference[Any, Any], position: Any, depth: int, memo: dict[tuple[str, int], float]
) -> dict[int, float]:
    """What seat 0 gains by each legal action of the mover."""
    gains: dict[int, float] = {}
    for action, move in reference.moves(position).items():
        after = reference.after(position, move)
        gains[action] = after.rewards[0] + minimax(reference, after, depth - 1, memo)
    return gains


def best_actions(
    reference: Reference[Any, Any], position: Any, depth: int, memo: dict[tuple[str, int], float]
) -> tuple[set[int], set[int]]:
    """The actions that are best for the mover, and all legal ones."""
    gains = action_gains(reference, position, depth, memo)
    best = max(gains.values()) if position.seat == 0 else min(gains.values())
    return {action for action, gain in gains.items() if gain == best}, set(gains)
