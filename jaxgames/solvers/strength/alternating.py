"""The strength of an agent in a solved game whose seats alternate. The definitions, for an agent on one seat. The
value of the start for this seat is v:

    ultra-weak      the agent plays itself from the start, and the outcome is the value of the game
    weak            the other seat plays every reply to the agent's moves; each state counts once
    weak_solved     every such game ends with v or better
    strong          every legal state of an unfinished game; the agent's move there keeps the value

A cycle is a draw, and so is a game that is cut off. The question in its original form: Ahmad, Sturtevant & Bowling,
Measuring the Solution Strength of Learning Agents in Adversarial Perfect Information Games.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxgames.solvers.exact.solution import Solution
from jaxgames.solvers.strength.graph import Graph, Indices, Mask, graph_of
from jaxgames.solvers.strength.policy_table import Act, OnStates, PolicyTable, Values, call_in_batches, no_progress
from jaxgames.solvers.strength.reachable import Reached, reached_states, sure_states, uniform_replies
from jaxgames.solvers.strength.shares import VALUE_THRESHOLD, mistakes_by, share_of

NORMAL_95 = 1.959964  # standard errors on each side of a 95 % interval
SHARE_BINS = 10  # of the share of winning moves


def measure_alternating(
    act: Act,
    solution: Solution[Any],
    plies: int,
    *,
    seat: int,
    values: Values | None,
    strong_states: int | None,
    on_states: OnStates,
) -> dict[str, Any]:
    """Returns the measures of an agent's strength by name. The arguments are those of `jaxgames.solvers.strength`."""
    graph = graph_of(solution)
    policy = PolicyTable(solution, graph, act, seat, on_states)
    mirrored = policy if policy.is_symmetric() else PolicyTable(solution, graph, act, 1 - seat, no_progress)
    by_seat = (policy, mirrored) if seat == 0 else (mirrored, policy)
    chosen = graph.live
    if strong_states is not None and strong_states < len(chosen):
        chosen = np.sort(np.random.default_rng(0).choice(chosen, strong_states, replace=False))
    strong = _strong(graph, policy, chosen)  # first: `act` then gets full batches, in the order of the states
    reached = reached_states(graph, policy, seat)
    measures = _ultra_weak(graph, by_seat, plies) | _weak(graph, policy, reached, seat, plies) | strong
    measures |= _mistakes(graph, policy, reached, chosen)
    if values is not None:
        measures |= _values(solution, graph, values, seat, chosen, reached.agent, on_states)
    return measures


# -- ultra-weak ----------------------------------------------------------------------------------------------------


def _ultra_weak(graph: Graph, by_seat: tuple[PolicyTable, PolicyTable], plies: int) -> dict[str, Any]:
    """Returns whether a game of the agent against itself ends with the value of the game; its winner and its length."""
    state, winner, ply = graph.start, None, 0
    while ply < plies and winner is None:
        mover = ply % 2
        state = int(by_seat[mover].children(np.array([state], np.int32))[0])
        ply += 1
        winner = mover if graph.is_over[state] else None
    outcome = {0: 1, 1: -1, None: 0}[winner]
    return {
        "ultra_weak": float(outcome == graph.value[graph.start]),
        "self_play_winner": winner,
        "self_play_plies": ply,
    }


# -- weak ----------------------------------------------------------------------------------------------------------


def _weak(graph: Graph, policy: PolicyTable, reached: Reached, seat: int, plies: int) -> dict[str, Any]:
    """Returns the measures over all replies, and over the best replies only."""
    target = target_of(graph, seat)
    sure = sure_states(graph, policy, reached, target)
    uniform = uniform_replies(graph, policy, reached, seat, plies)
    best = reached_states(graph, policy, seat, best_replies=True)
    return {
        "weak_solved": bool((sure.agent if seat == 0 else sure.opponent)[graph.start]),
        "weak_states": _share_matching(reached, target),
        "agent_states": len(reached.agent),
        "unique_states": reached.num_states,
        "won_terminals": len(reached.won),
        "lost_terminals": len(reached.lost),
        "weak_uniform": {1: uniform.won, 0: 1 - uniform.lost, -1: 1.0}[target],
        "weak_uniform_loss": uniform.lost,
        "weak_uniform_plies": uniform.mean_plies,
        "weak_uniform_longest": uniform.longest,
        "sure_fraction": share_of(sure.agent[reached.agent]),
        "kept_value": share_of(graph.value[reached.agent] >= target),
        "action_weak": share_of(graph.keeps_value(reached.agent, policy.children(reached.agent))),
        "weak_optimal": _share_matching(best, target),
        "weak_optimal_states": best.num_states,
    }


def target_of(graph: Graph, seat: int) -> int:
    """Returns the value of the start for a seat: 1, 0 or -1."""
    return int(graph.value[graph.start]) * (1 if seat == 0 else -1)


def _share_matching(reached: Reached, target: int) -> float:
    """Returns the share of finished states whose result is `target` or better for the agent.

    If no game ends, all games are draws: the share is 1 if a draw is enough, else 0.
    """
    won, lost = len(reached.won), len(reached.lost)
    if target == -1 or won + lost == 0:
        return float(target <= 0)
    return won / (won + lost)


# -- strong --------------------------------------------------------------------------------------------------------


def _strong(graph: Graph, policy: PolicyTable, states: Indices) -> dict[str, Any]:
    """Returns the shares of live states in which the agent's move is one of the best."""
    after = policy.children(states)
    keeps = graph.keeps_value(states, after)
    return {
        "strong_action": share_of(keeps),
        "strong_decisive": share_of(keeps[_is_decisive(graph, states)]),
        "strong_won": share_of(keeps[graph.value[states] == 1]),
        "strong_fastest": share_of(graph.keeps_distance(states, after)),
        "strong_states": len(states),
    }


def _is_decisive(graph: Graph, states: Indices) -> Mask:
    """Returns whether some legal move of each state does not keep its value."""
    return graph.num_best[states] < graph.num_moves[states]


# -- mistakes ------------------------------------------------------------------------------------------------------


def _mistakes(graph: Graph, policy: PolicyTable, reached: Reached, strong: Indices) -> dict[str, Any]:
    """Returns where the moves are that do not keep the value, as tables; see `mistakes_by`."""
    won = strong[graph.value[strong] == 1]
    tenths = np.ceil(SHARE_BINS * graph.num_best[won] / graph.num_moves[won]).astype(np.int64)

    def table(name: str, states: Indices, group: NDArray[np.integer[Any]]) -> dict[str, list[Any]]:
        wrong = ~graph.keeps_value(states, policy.children(states))
        return mistakes_by(name, group, _is_decisive(graph, states), wrong)

    shares = table("share", won, tenths)
    return {
        "mistakes_by_ply": table("ply", reached.agent, reached.ply),
        "mistakes_by_distance": table("distance", strong, graph.distance[strong]),
        "mistakes_by_share": shares | {"share": [tenth / SHARE_BINS for tenth in shares["share"]]},
    }


# -- values --------------------------------------------------------------------------------------------------------


def _values(
    solution: Solution[Any],
    graph: Graph,
    values: Values,
    seat: int,
    strong: Indices,
    weak: Indices,
    on_states: OnStates,
) -> dict[str, Any]:
    """Returns the errors of the agent's values, in the strong states and in the weak ones."""
    found = np.full(graph.size, np.nan, np.float32)
    states = np.union1d(strong, weak)
    found[states] = call_in_batches(solution, values, states, seat, on_states)
    measures = _value_errors(found[strong], graph.value[strong])
    return measures | {f"weak_{name}": value for name, value in _value_errors(found[weak], graph.value[weak]).items()}


def _value_errors(found: NDArray[np.float32], true: NDArray[np.int8]) -> dict[str, float]:
    """Returns the accuracy at the thresholds, that of the sign in states that are no draw, and the squared error.

    `value_mse_margin` is half the width of the 95 % interval of `value_mse`.
    """
    rounded = np.where(found > VALUE_THRESHOLD, 1, np.where(found < -VALUE_THRESHOLD, -1, 0))
    errors = (found.astype(np.float64) - true) ** 2
    decided = true != 0
    return {
        "value_accuracy": share_of(rounded == true),
        "value_sign": share_of(np.sign(found[decided]) == true[decided]),
        "value_mse": float(errors.mean()) if errors.size else math.nan,
        "value_mse_margin": NORMAL_95 * float(errors.std() / math.sqrt(errors.size)) if errors.size else math.nan,
    }
