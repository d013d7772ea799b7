"""The strength of an agent in a solved game whose seats alternate. The definitions, for an agent on one seat. The
value of the start for this seat is v:

    ultra-weak      the agent plays itself from the start, and the outcome is the value of the game
    weak            the other seat plays every reply to the agent's moves; each state counts once
    weak_solved     every such game ends with v or better
    strong          every legal state of an unfinished game; the agent's move there keeps the value

A cycle is a draw, and so is a game that is cut off. The question in its original form: Ahmad, Sturtevant & Bowling,
Measuring the Solution Strength of Learning Agents in Adversarial Perfect Information Games.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxgames.solvers.exact.solution import Solution
from jaxgames.solvers.strength.graph import Graph, States, graph_of
from jaxgames.solvers.strength.policy_table import (
    SAMPLE,
    Act,
    OnStates,
    PolicyTable,
    Values,
    call_in_batches,
    no_progress,
)
from jaxgames.solvers.strength.reachable import Reachable, proved_states, reachable_states, uniform_replies
from jaxgames.solvers.strength.shares import (
    VALUE_THRESHOLD,
    mistakes_by,
    self_play,
    share_of,
    squared_errors,
    strong_shares,
    value_errors,
)

NORMAL_95 = 1.959964  # standard errors on each side of a 95 % interval
SHARE_BINS = 10  # of the share of winning moves


def measure_alternating(
    act: Act,
    solution: Solution[Any],
    plies: int,
    seat: int,
    values: Values | None,
    strong_states: int | None,
    weak: bool,
    on_states: OnStates,
) -> dict[str, Any]:
    """Returns the measures of an agent's strength by name. The arguments are those of `jaxgames.solvers.strength`."""
    graph = graph_of(solution)
    policy, states = PolicyTable(solution, graph, act, seat, on_states), graph.live
    sample = states[np.unique(np.linspace(0, len(states) - 1, SAMPLE).astype(np.int64))]
    is_symmetric = weak and policy.is_symmetric(sample)
    if strong_states is not None and strong_states < len(states):
        states = np.sort(np.random.default_rng(0).choice(states, strong_states, replace=False))
    measures = strong_measures(graph, policy, states)  # first: `act` then gets full batches, in the order of the states
    parts = {"": states}  # in which the values are measured, by the beginning of their measures' names
    if weak:
        mirrored = policy if is_symmetric else PolicyTable(solution, graph, act, 1 - seat, no_progress)
        by_seat = (policy, mirrored) if seat == 0 else (mirrored, policy)
        of_game, _ = self_play(graph, by_seat, graph.start, int(graph.value[graph.start]), plies)
        reachable = reachable_states(graph, policy, seat)
        measures = of_game | _weak(graph, policy, reachable, seat, plies) | measures
        parts["weak_"] = reachable.agent
    if values is not None:
        measures |= _values(solution, graph, values, seat, parts, on_states)
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


def _values(
    solution: Solution[Any],
    graph: Graph,
    values: Values,
    seat: int,
    parts: Mapping[str, States],
    on_states: OnStates,
) -> dict[str, Any]:
    """Returns the errors of the agent's values in each part of the states; their names begin with the part's."""
    of_states = np.full(graph.size, np.nan, np.float32)
    states = functools.reduce(np.union1d, parts.values())
    of_states[states] = call_in_batches(solution, values, states, seat, on_states)
    errors = {part: _value_errors(of_states[rows], graph.value[rows]) for part, rows in parts.items()}
    return {f"{part}{name}": error for part, of_part in errors.items() for name, error in of_part.items()}


def _value_errors(values: NDArray[np.float32], true: NDArray[np.int8]) -> dict[str, float]:
    """Returns the errors of values, with the accuracy at the thresholds.

    `value_mse_margin` is half the width of the 95 % interval of `value_mse`.
    """
    rounded = np.where(values > VALUE_THRESHOLD, 1, np.where(values < -VALUE_THRESHOLD, -1, 0))
    errors = squared_errors(values, true)
    margin = NORMAL_95 * float(errors.std() / math.sqrt(errors.size)) if errors.size else math.nan
    return {"value_accuracy": share_of(rounded == true), **value_errors(values, true), "value_mse_margin": margin}
