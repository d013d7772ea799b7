"""The columns of the tables that `examples.papers.tables` writes of stored results, by file and by command."""

import functools
import pkgutil
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import networks, training
from jaxgames.games.chinese_checkers_diamond.solution import OUTCOMES
from train.baselines.entries import score_of
from train.baselines.tables import text_of_search, without_module
from train.driver.commands import text_of_rate, text_of_score
from train.driver.tables import Column, entry_of, table_of, tables_in

DEFAULTS = ", tip_lock=False|, max_plies=200|, reward='win_loss'"  # of the solved games


# -- entries -------------------------------------------------------------------------------------------------------


def _measures(*names: str) -> dict[str, Column]:
    """Returns a column for each measure of `train.strength`."""

    def cell(name: str, row: Mapping[str, Any]) -> str:
        return f"{row[name]:.4f}" if row[name] % 1 else f"{row[name]:,.0f}"

    return {f"`{name}`": functools.partial(cell, name) for name in names}


def _error_of_values(name: str, row: Mapping[str, Any]) -> str:
    """Returns a mean with half of its interval; "" for a search, which has no values of its own."""
    return f"{row[name]:.3f} ± {row[f'{name}_margin']:.3f}" if name in row else ""


def _weakly_solved(row: Mapping[str, Any]) -> str:
    return "yes" if row["weak_solved"] else "no"


def _text_of_start(row: Mapping[str, Any]) -> str:
    length = f" in {row['start_plies']} plies" if row["start_value"] else ""
    return OUTCOMES[row["start_value"]] + length


def _game(row: Mapping[str, Any]) -> str:
    """Returns the text of a game without the parameters that have their defaults."""
    return f"`{re.sub(DEFAULTS, '', row['env'])}`"


def _rate(agent: Mapping[str, Any]) -> str:
    return text_of_rate(agent["win_rate"], agent["win_rate_interval"])


def _learned_values(row: Mapping[str, Any]) -> str:
    return "`policy_values`" if row["values_of"] == "policy_values" else row["values_of"]


def _by_kind(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the agents of a match, runs first."""
    return sorted(row["agents"], key=lambda agent: not agent["agent"].startswith("runs/"))


def _of_two(column: Column) -> Column:
    """Returns a column of OF_GAMES for the result of `train.match` with two agents."""
    return lambda row: entry_of(score_of(row), column)


def _collection(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the counts of the games of the last collection that `train.data` read."""
    return row["external"] if row["external"]["read"] else row["games"]


def _positions_of_collection(row: Mapping[str, Any]) -> str:
    """Returns the number of positions of the same collection."""
    is_external = bool(row["external"]["read"])
    counts = (split["positions"] for name, split in row["splits"].items() if (name == "external") == is_external)
    return f"{sum(counts):,}"


# -- columns -------------------------------------------------------------------------------------------------------


WEAK = ("agent_states", "weak_uniform", "sure_fraction", "kept_value", "action_weak", "strong_action")
PUPILS: dict[str, Column] = {
    "game": lambda row: f"`{re.sub(r', num_players.*', ')', row['env'])}`",
    "run": lambda row: f"`{Path(row['agents'][0]['agent']).name}`",
    "games": "{games:,}",
    "won": lambda row: _rate(row["agents"][0]),
    "turns": "{agents[0][mean_turns]:.1f}",
}
RACES: dict[str, Column] = {
    "one seat": lambda row: f"`{without_module(row['agents'][0]['agent'])}`",
    "five seats": lambda row: f"`{row['agents'][1]['agent']}`",
    **{head: PUPILS[head] for head in ("games", "won", "turns")},
}
DIAMONDS: dict[str, Column] = {
    "game": _game,
    "states with either seat to move": lambda row: f"{2 * row['states']:,}",
    "won by each seat": lambda row: f"{row['won'] + row['lost']:,}",
    "drawn": lambda row: f"{2 * row['drawn']:,}",
    "illegal": lambda row: f"{2 * row['illegal']:,}",
    "most plies to the end": lambda row: len(row["plies"]) - 1,
    "from the start": _text_of_start,
    "bytes": "{bytes:,}",
    "CPU seconds": "{cpu_seconds:.0f}",
}
OF_GAMES: dict[str, Column] = {
    **{name: f"{{{name}:,}}" for name in ("games", "wins", "draws", "losses")},
    "score": lambda row: text_of_score((row["wins"] + row["draws"] / 2) / row["games"], row["games"]),
}
OF_TWO = {head: _of_two(column) for head, column in OF_GAMES.items()}
PAIRS: dict[str, Column] = {"agent": "`{agents[0][agent]}`", "against": "`{agents[1][agent]}`", **OF_TWO}
OF_BOXES: dict[str, Column] = {
    "agent": "`{agent}`",
    "weakly solved": _weakly_solved,
    **_measures("agent_states", "sure_fraction", "kept_value", "strong_action", "strong_decisive"),
}
SOLVED_BY_SEEDS: dict[str, Column] = {
    "best action: all": lambda row: text_of_score(row["strong_action"], row["strong_states"]),
    "best action: weak": "{action_weak:.4f}",
    "ultra-weak": "{ultra_weak:.0f}",
    "weakly solved": _weakly_solved,
    **_measures("weak_states", "weak_optimal"),
}
PERFECT_REPLIES: dict[str, Column] = {
    "game": _game,
    "agent": lambda row: f"`{Path(_by_kind(row)[0]['agent']).name}`",
    "against": lambda row: f"`{_by_kind(row)[1]['agent'].partition('(')[0]}`",
    "games": "{games:,}",
    "won by the agent": lambda row: f"{_by_kind(row)[0]['wins']:,}",
    "cut off": lambda row: f"{row['truncated_rate'] * row['games']:.0f}",
    "plies": "{mean_length:.1f}",
}
COLUMNS: dict[str, dict[str, Column]] = {  # by file: headers with templates, which take the names of its JSON
    "alphazero_parts": training.columns(("rules", "tree", "network", "update", "rest")),
    "networks_costs": {
        **networks.TABLE,
        "game": "`{game}`",
        "network": "`{network}`",
        "microseconds per step": "{microseconds:,.1f}",
    },
    "strength_diamond": {
        "agent": "`{agent}`",
        "ultra-weak": "{ultra_weak:.0f}",
        "weakly solved": _weakly_solved,
        **_measures("weak_states", *WEAK, "strong_decisive", "strong_won", "strong_fastest"),
    },
    "strength_boxes": {
        "agent": "`{agent}`",
        "weakly solved": _weakly_solved,
        **_measures("worst_margin", *WEAK, "strong_margin_lost"),
    },
    "solvers_diamond": DIAMONDS,
    "solvers_diamond_large": DIAMONDS,
    "solution_strength_solved": {
        "game": _game,
        "positions": "{states:,}",
        **{name: f"{{{name}:,}}" for name in ("won", "lost", "drawn", "illegal")},
        **{head: DIAMONDS[head] for head in ("most plies to the end", "from the start")},
        "moves that keep it": "{start_best_moves} of {start_moves}",
        "SHA-256": "`{sha256}`",
    },
    "greedy_agent": {
        "game": _game,
        "games": "{games:,}",
        "won by `greedy`": lambda row: _rate(row["agents"][0]),
        "won by `random`": lambda row: _rate(row["agents"][1]),
        "turns of `greedy`": "{agents[0][mean_turns]:.1f}",
    },
    "star_race_2": RACES,
    "parameter_sharing_turn_search": {"game": PUPILS["game"], **RACES},
    "parameter_sharing_plans": PUPILS,
    "learning_star_graph": PUPILS,
    "star_graph": {
        **{head: PUPILS[head] for head in ("game", "run")},
        **{head: RACES[head] for head in ("five seats", "games", "won", "turns")},
    },
    "star_race_pupils_3": PUPILS,
    "star_race_pupils_4": PUPILS,
    "learning_boxes": PUPILS,
    "strength_boxes_5_5": PUPILS,
    "learning_star_3": PUPILS,
    "perfect_replies": PERFECT_REPLIES,
    "perfect_replies_4_6": PERFECT_REPLIES,
    "perfect_replies_seeds": PERFECT_REPLIES,
    "perfect_replies_boxes": PERFECT_REPLIES,
    "openspiel_checkers": {
        "agent": "`{agent}`",
        "simulations of the bot": "{simulations:,}",
        "games": "{games:,}",
        "won": "{wins}",
        "drawn": "{draws}",
        "lost": "{losses}",
        "score": OF_GAMES["score"],
    },
    "checkers_imitation_data": {
        "collection": lambda row: "ACF" if row["external"]["read"] else "OCA 2.0",
        "games": lambda row: f"{_collection(row)['read']:,}",
        "duplicates": lambda row: f"{_collection(row)['duplicates']:,}",
        "games left": lambda row: f"{_collection(row)['kept']:,}",
        "won by Black": lambda row: f"{_collection(row)['results']['1-0']:,}",
        "won by White": lambda row: f"{_collection(row)['results']['0-1']:,}",
        "drawn": lambda row: f"{_collection(row)['results']['1/2-1/2']:,}",
        "positions": _positions_of_collection,
    },
    "checkers_imitation_larson_text": {
        "epoch": "{epoch}",
        "positions": "{samples:,}",
        "top-1, training positions": "{top_1_train:.3f}",
        "top-1, validation positions": "{top_1_validation:.3f}",
    },
    "checkers_imitation_departures": {
        "file": "`{file}`",
        "games": "{departures[games]}",
        "leave the database": "{departures[left]}",
        "with turn": "{departures[mean_turn]:.1f}",
        "least": "{departures[least_turn]}",
        "most": "{departures[most_turn]}",
    },
    "learning_minichess": PAIRS,
    "checkers_imitation_small": PAIRS,
    "checkers_imitation_choices": PAIRS,
    "solution_strength_untrained": {
        "simulations": "{simulations}",
        **_measures("weak_states", "agent_states", "unique_states", "weak_uniform", "sure_fraction", "strong_action"),
    },
    "solution_strength_l2": {
        "λ, seed": lambda row: re.sub(r".*l2_coef=(.*)/seed=(\d+).*", r"\1, \2", row["agent"]),
        **_measures("weak_states", "agent_states", "sure_fraction", "strong_action", "strong_decisive"),
        **_measures("value_mse", "value_accuracy"),
    },
    "solution_strength_exploitability": {
        "victim": lambda row: f"`{row['agents'][1]['agent']}`",
        "games": "{games:,}",
        "won by its trained reply": lambda row: _rate(row["agents"][0]),
        "as first player": lambda row: "{win_rate:.3f}".format_map(row["agents"][0]["by_seat"][0]),
        "as second player": lambda row: "{win_rate:.3f}".format_map(row["agents"][0]["by_seat"][1]),
    },
    "alphazero_wide": {
        "agent": lambda row: f"`{Path(row['agent']).name}`",
        "width": "{width}",
        "proofs": lambda row: "yes" if row["proofs"] else "no",
        "learned values": _learned_values,
        "steps": "{steps:,}",
        "CPU seconds": "{training_seconds} ({machine})",
        "simulations": "{simulations}",
        "weakly solved": _weakly_solved,
        **_measures("weak_states", "agent_states", "sure_fraction", "strong_action"),
    },
    "strength_4_3": {
        "agent": lambda row: f"`{Path(row['agent']).name}`",
        "simulations": lambda row: row.get("search") or text_of_search(row),
        "weakly solved": _weakly_solved,
        **_measures("weak_states", "agent_states", "sure_fraction", "strong_action"),
    },
    "solution_strength_strong": {
        "run": lambda row: "the study's settings" if "self_play_study" in row["agent"] else "ours, `d43_0`",
        "iteration": lambda row: row["agent"].partition("@")[2],
        **{
            f"{name}: all, weak": f"{{{of_all}:.3f}}, {{{of_weak}:.3f}}"
            for name, of_all, of_weak in (
                ("squared error of values", "value_mse", "weak_value_mse"),
                ("accuracy of values", "value_accuracy", "weak_value_accuracy"),
                ("best action", "strong_action", "action_weak"),
            )
        },
    },
    "solution_strength_seeds": {
        "agent": "`{agent}`",
        "simulations": "{simulations}",
        "squared error of values: all": functools.partial(_error_of_values, "value_mse"),
        "weak": functools.partial(_error_of_values, "weak_value_mse"),
        **SOLVED_BY_SEEDS,
    },
    "solution_strength_seeds_puct": {
        "agent": "`{agent}`",
        "search": lambda row: row["search"] or "network alone",
        **SOLVED_BY_SEEDS,
    },
    "alphazero_games": {"game": _game, **PAIRS},
    "alphazero_star": {
        "agent": "`{agents[0][agent]}`",
        "seats": "{agents[0][seats]}",
        "against": "`{agents[1][agent]}`",
        "games": "{games:,}",
        "won by the agent": lambda row: _rate(row["agents"][0]),
        "turns": "{agents[0][mean_turns]:.1f}",
    },
    "alphazero_openspiel": {"agent": "`{agent}`", "game": _game, **OF_GAMES},
    "alphazero_minichess": {
        "learned values": _learned_values,
        "steps": "{steps:,}",
        "CPU seconds": "{training_seconds:,}",
        **OF_GAMES,
    },
    "hard_minichess": {
        "agent": "`{agent}`",
        "opponent": "`{opponent}`",
        **OF_GAMES,
    },
    "strength_boxes_long": {
        "run": lambda row: f"`{Path(row['agent']).name.partition('@')[0]}`",
        "steps": "{steps:,}",
        "simulations": "{simulations}",
        **_measures("strong_action", "strong_decisive"),
    },
    "boxes_values": {
        "board": lambda row: " \N{MULTIPLICATION SIGN} ".join(re.findall(r"\d+", row["env"])),
        "boxes of the first player less those of the second": lambda row: f"{row['start_value']:+}".replace("+0", "0"),
    },
    "boxes_ppo": OF_BOXES,
    "strength_boxes_long_alone": OF_BOXES,
    "strength_boxes_steps": {
        "iteration": lambda row: row["agent"].rpartition("@")[2],
        "simulations": "{simulations}",
        **_measures("strong_action", "strong_margin_lost"),
    },
    "strength_drawn": {
        "agent": "`{agent}`",
        **_measures("ultra_weak", "weak_states", "agent_states", "sure_fraction", "strong_action"),
    },
    "strength_uct_sampled": {
        "agent": "`{agent}`",
        "positions": "{strong_states:,}",
        **_measures("strong_action", "strong_decisive", "strong_won", "strong_fastest"),
    },
    "strength_uct": {
        "agent": "`{agent}`",
        **_measures("weak_states", "agent_states", "weak_uniform", "sure_fraction", "kept_value", "strong_action"),
    },
    "solvers_boxes": {
        "game": _game,
        "sets of edges, and bytes": "{states:,}",
        "CPU seconds": "{cpu_seconds:.0f}",
        "from the start": lambda row: f"{row['start_value']:+}" if row["start_value"] else "0",
    },
}
TABLES: dict[str, dict[str, str]] = {  # by the module of a command: columns or functions there, by keys of its JSON
    "train.ladder": {"": "train.ladder.__main__:table"},  # "" is all of it
    "train.evaluate": {"": "table"},
    "examples.demo": {"": "train.evaluate:table"},
    "examples.papers.alpha_mini.discounts": {"": "table"},
    "examples.papers.alpha_mini.placements": {"": "table"},
    "examples.papers.alpha_mini.sampling": {"": "table"},
    "examples.papers.alpha_mini.win_rates": {"": "tables"},
    "examples.papers.checkers_imitation.positions": {"splits": "table", "seen": "table"},
    "examples.papers.checkers_imitation.reinforcement": {"cells": "tables"},
    "examples.papers.dots_and_boxes.agent": {"rows": "COLUMNS"},
    "examples.papers.dots_and_boxes.board_sizes": {"cells": "table"},
    "examples.papers.dots_and_boxes.depths": {"": "tables"},
    "examples.papers.dots_and_boxes.first_moves": {"boards": "BOARDS", "edges": "EDGES"},
    "examples.papers.matrix_games.settings": {
        "constant": "COLUMNS",
        "schedule": "COLUMNS",
        "more actions": "OF_MORE_ACTIONS",
    },
    "examples.papers.parameter_sharing.end_boards": {"rows": "table"},
    "examples.papers.parameter_sharing.traditional": {"cells": "tables"},
    "examples.papers.parameter_sharing.whole_turns": {"": "COLUMNS"},
    "examples.papers.solution_strength.judged": {"rows": "COLUMNS"},
    "examples.papers.solution_strength.lost_positions": {"rows": "COLUMNS"},
    "examples.papers.solution_strength.mistakes": {"rows": "table"},
}


def tables_of(command: str, result: Any) -> list[dict[str, Any]]:
    """Returns the tables that TABLES has for the result of a command, as `tables_in` has them; none if it has none."""
    texts: list[Any] = []
    module = shlex.split(command)[2]
    for key, name in TABLES.get(module, {}).items():
        of: Any = pkgutil.resolve_name(name if ":" in name else f"{module}:{name}")
        chosen = result[key] if key else result
        texts.append(of(chosen) if callable(of) else table_of(chosen, of))
    return tables_in("\n\n".join(texts))
