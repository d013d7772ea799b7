"""The measures of an agent in a solved game whose seats alternate, and the parts that measures of all games share.

The definitions, for an agent on one seat. The value of the start for this seat is v:

    ultra-weak      the agent plays itself from the start, and the outcome is the value of the game
    weak            the other seat plays every reply to the agent's moves; each state counts once
    weak_solved     every such game ends with v or better
    strong          every legal state of an unfinished game; the agent's move there keeps the value

A cycle is a draw, and so is a game that is cut off. The question in its original form: Ahmad, Sturtevant & Bowling,
Measuring the Solution Strength of Learning Agents in Adversarial Perfect Information Games.
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxgames.solvers.strength.graph import Graph, Mask, States, graph_of
from jaxgames.solvers.strength.policy_table import SAMPLE, Measured, PolicyTable, SolvedGame, Values, call_in_batches
from jaxgames.solvers.strength.reachable import Reachable, proved_states, reachable_states, uniform_replies

VALUE_THRESHOLD = 0.25  # a value between this and its negative counts as a draw
NORMAL_95 = 1.959964  # standard errors on each side of a 95 % interval
SHARE_BINS = 10  # of the share of winning moves


def measure_alternating(measured: Measured[Any]) -> dict[str, Any]:
    """Returns the measures of an agent's strength by name."""
    solution, seat, weak, strong_states = measured.solution, measured.seat, measured.weak, measured.strong_states
    graph = graph_of(solution)
    policy, states = measured.policy(graph), graph.live
    sample = states[np.unique(np.linspace(0, len(states) - 1, SAMPLE).astype(np.int64))]
    is_symmetric = weak and policy.is_symmetric(sample)
    if strong_states is not None and strong_states < len(states):
        states = np.sort(np.random.default_rng(0).choice(states, strong_states, replace=False))
    measures = strong_measures(graph, policy, states)  # first: `act` then gets full batches, in the order of the states
    parts = {"": states}  # in which the values are measured, by the beginning of their measures' names
    if weak:
        mirrored = policy if is_symmetric else PolicyTable(solution, graph, measured.act, 1 - seat)
        by_seat = (policy, mirrored) if seat == 0 else (mirrored, policy)
        of_game, _ = self_play(graph, by_seat, graph.start, int(graph.value[graph.start]), measured.plies)
        reachable = reachable_states(graph, policy, seat)
        measures = of_game | _weak(graph, policy, reachable, seat, measured.plies) | measures
        parts["weak_"] = reachable.agent
    if measured.values is not None:
        measures |= _values(measured, measured.values, graph, parts)
    return measures


def _weak(graph: Graph, policy: PolicyTable, reachable: Reachable, seat: int, plies: int) -> dict[str, Any]:
    """Returns the measures over all replies, and over the best replies only."""
    target = int(graph.value[graph.start]) * (1 if seat == 0 else -1)
    proved = proved_states(graph, policy, reachable, target)
    wins = proved if target == 1 else proved_states(graph, policy, reachable, 1)
    is_won = graph.value[reachable.agent] == 1
    uniform = uniform_replies(graph, policy, reachable, seat, plies)
    best = reachable_states(graph, policy, seat, best_replies=True)
    lost, is_decisive = policy.losses(reachable.agent)
    return {
        "weak_solved": bool((proved.agent if seat == 0 else proved.opponent)[graph.start]),
        "weak_states": _share_matching(reachable, target),
        "agent_states": len(reachable.agent),
        "unique_states": reachable.num_states,
        "won_terminals": len(reachable.won),
        "lost_terminals": len(reachable.lost),
        "weak_uniform": {1: uniform.won, 0: 1 - uniform.lost, -1: 1.0}[target],
        "weak_uniform_loss": uniform.lost,
        "weak_uniform_plies": uniform.mean_plies,
        "weak_uniform_longest": uniform.longest,
        "sure_fraction": share_of(proved.agent[reachable.agent]),
        "sure_won": share_of(wins.agent[reachable.agent[is_won]]),
        "kept_value": share_of(graph.value[reachable.agent] >= target),
        "action_weak": share_of(lost == 0),
        "weak_optimal": _share_matching(best, target),
        "weak_optimal_states": best.num_states,
        "mistakes_by_ply": mistakes_by("ply", reachable.ply, is_decisive, lost > 0),
    }


def _share_matching(reachable: Reachable, target: int) -> float:
    """Returns the share of finished states whose result is `target` or better for the agent.

    If no game ends, all games are draws: the share is 1 if a draw is enough, else 0.
    """
    won, lost = len(reachable.won), len(reachable.lost)
    if target == -1 or won + lost == 0:
        return float(target <= 0)
    return won / (won + lost)


def strong_measures(graph: Graph, policy: PolicyTable, states: States) -> dict[str, Any]:
    """Returns the shares of live states in which the agent's move is one of the best, and where its mistakes are."""
    lost, is_decisive = policy.losses(states)
    is_wrong, is_won = lost > 0, graph.value[states] == 1
    won = states[is_won]
    tenths = np.ceil(SHARE_BINS * graph.num_best[won] / graph.num_moves[won]).astype(np.int64)
    shares = mistakes_by("share", tenths, is_decisive[is_won], is_wrong[is_won])
    return strong_shares(lost, is_decisive, is_won) | {
        "strong_fastest": share_of(graph.keeps_distance(states, policy.children(states))),
        "mistakes_by_distance": mistakes_by("distance", graph.distance[states], is_decisive, is_wrong),
        "mistakes_by_share": shares | {"share": [tenth / SHARE_BINS for tenth in shares["share"]]},
    }


def _values(measured: Measured[Any], values: Values, graph: Graph, parts: dict[str, States]) -> dict[str, Any]:
    """Returns the errors of the agent's values in each part of the states; their names begin with the part's."""
    of_states = np.full(graph.size, np.nan, np.float32)
    states = functools.reduce(np.union1d, parts.values())
    of_states[states] = call_in_batches(measured.solution, values, states, measured.seat)
    errors = {part: _value_errors(of_states[rows], graph.value[rows]) for part, rows in parts.items()}
    return {f"{part}{name}": error for part, of_part in errors.items() for name, error in of_part.items()}


def _value_errors(values: NDArray[np.float32], true: NDArray[np.int8]) -> dict[str, float]:
    """Returns the errors of values, with the accuracy at the thresholds."""
    rounded = np.where(values > VALUE_THRESHOLD, 1, np.where(values < -VALUE_THRESHOLD, -1, 0))
    return {"value_accuracy": share_of(rounded == true), **value_errors(values, true)}


# -- parts that all games share ----------------------------------------------------------------------------------------


def share_of(holds: Mask) -> float:
    """Returns the share of True; NaN of nothing."""
    return float(holds.mean()) if holds.size else math.nan


def self_play(
    game: SolvedGame, by_seat: tuple[PolicyTable, PolicyTable], start: int, value: int, plies: int
) -> tuple[dict[str, Any], int]:
    """Returns the measures of a game of the agent against itself, and what seat 0 has gained in it.

    The game is ultra-weakly solved if seat 0 gains the value of the start. It is cut off after a number of plies.
    """
    state, mover, margin, ply = np.array([start], np.uint32), 0, 0, 0
    while ply < plies:
        ply += 1
        slots = by_seat[mover].slots(state)
        gain = int(game.gains(state, slots)[0])
        margin += gain if mover == 0 else -gain
        if gain and game.gain_ends_game:
            break
        state, mover = game.after(state, slots), mover if gain else 1 - mover
    winner = {1: 0, 0: None, -1: 1}[int(np.sign(margin))]
    return {"ultra_weak": float(margin == value), "self_play_winner": winner, "self_play_plies": ply}, margin


def strong_shares(lost: NDArray[np.integer[Any]], is_decisive: Mask, is_won: Mask) -> dict[str, Any]:
    """Returns the shares of live states in which the agent's move is one of the best.

    By state, the agent's move is worth `lost` less than the best ones, some move is worth less if `is_decisive`, and
    the mover can win if `is_won`: int[B], bool[B] and bool[B].
    """
    keeps = lost == 0
    return {
        "strong_action": share_of(keeps),
        "strong_decisive": share_of(keeps[is_decisive]),
        "strong_won": share_of(keeps[is_won]),
        "strong_states": len(lost),
    }


def value_errors(values: NDArray[np.floating[Any]], true: NDArray[Any]) -> dict[str, float]:
    """Returns the share of right signs among the states that are not drawn, and the mean squared error.

    `value_mse_margin` is half the width of its 95 % interval.
    """
    is_decided = true != 0
    errors = (values.astype(np.float64) - true) ** 2
    return {
        "value_sign": share_of(np.sign(values[is_decided]) == np.sign(true[is_decided])),
        "value_mse": float(errors.mean()) if errors.size else math.nan,
        "value_mse_margin": NORMAL_95 * float(errors.std() / math.sqrt(errors.size)) if errors.size else math.nan,
    }


def mistakes_by(name: str, group: NDArray[np.integer[Any]], is_decisive: Mask, is_wrong: Mask) -> dict[str, list[Any]]:
    """Returns a table of columns with one entry for every number in `group`, int[B]; those below 0 are left out.

    The columns are the number, called `name`, the `states` that have it, how many of these are `decisive` (some legal
    move is a mistake), and how many of the agent's moves are `mistakes`.
    """
    counted, size = group >= 0, int(group.max(initial=-1)) + 1
    states, decisive, mistakes = (
        np.bincount(group[counted & rows], minlength=size) for rows in (True, is_decisive, is_wrong)
    )
    numbers = np.flatnonzero(states)
    columns = {"states": states, "decisive": decisive, "mistakes": mistakes}
    return {name: numbers.tolist()} | {head: column[numbers].tolist() for head, column in columns.items()}
