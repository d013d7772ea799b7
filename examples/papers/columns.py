"""The columns of the tables that `examples.papers.tables` writes of stored results, by file and by command."""

import functools
import pkgutil
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import solving, training
from jaxgames.games.chinese_checkers_diamond.solution import OUTCOMES
from train.baselines.entries import score_of
from train.baselines.tables import without_module
from train.driver.commands import text_of_rate, text_of_score
from train.driver.tables import Column, entry_of, table_of, tables_in

# In the names of games in tables.
IGNORED = r", (tip_lock=False|max_plies=200|reward='(win_loss|positive_sum)'|num_players=6|max_rounds=\d+)"
Row = Mapping[str, Any]


# -- entries -------------------------------------------------------------------------------------------------------


def _measure(name: str, row: Row) -> str:
    """Returns a measure of `train.strength`: a share with four digits, or a number."""
    return f"{row[name]:.4f}" if row[name] % 1 else f"{row[name]:,.0f}"


def _with_margin(name: str) -> Callable[[Row], str]:
    """Returns the column of a mean with half of its interval; "" for a search, which has no values of its own."""
    return lambda row: f"{row[name]:.3f} ± {row[f'{name}_margin']:.3f}" if name in row else ""


def _text_of_start(row: Row) -> str:
    length = f" in {row['start_plies']} plies" if row["start_value"] else ""
    return OUTCOMES[row["start_value"]] + length


def _rate(row: Row, agent: int) -> str:
    return text_of_rate(row["agents"][agent]["win_rate"], row["agents"][agent]["win_rate_interval"])


def _score_against(opponent: str, row: Row) -> str:
    """Returns the score of an agent against one of several opponents; "" where it did not play it."""
    return "".join(str(entry_of(each, FORMATS["score"])) for each in row["opponents"] if each["opponent"] == opponent)


def _collection(row: Row) -> Row:
    """Returns the counts of the games of the last collection that `train.data` read."""
    return row["external"] if row["external"]["read"] else row["games"]


def _positions_of_collection(row: Row) -> str:
    """Returns the number of positions of the same collection."""
    is_external = bool(row["external"]["read"])
    counts = (split["positions"] for name, split in row["splits"].items() if (name == "external") == is_external)
    return f"{sum(counts):,}"


# -- columns -------------------------------------------------------------------------------------------------------


FORMATS: dict[str, Column] = {  # by the head of the column
    "agent": "`{agent}`",
    "game": lambda row: f"`{re.sub(IGNORED, '', row['env'])}`",
    "run": lambda row: f"`{Path(row['agents'][0]['agent']).name}`",
    "one seat": lambda row: f"`{without_module(row['agents'][0]['agent'])}`",
    "five seats": "`{agents[1][agent]}`",
    "simulations": "{simulations}",
    "steps": "{steps:,}",
    "iteration": lambda row: row["agent"].rpartition("@")[2],
    "learned values": lambda row: "`policy_values`" if row["values_of"] == "policy_values" else row["values_of"],
    "games": "{games:,}",
    "won": lambda row: _rate(row, 0),
    "turns": "{agents[0][mean_turns]:.1f}",
    "wins": "{wins:,}",
    "draws": "{draws:,}",
    "losses": "{losses:,}",
    "score": lambda row: text_of_score((row["wins"] + row["draws"] / 2) / row["games"], row["games"]),
    "ultra-weak": "{ultra_weak:.0f}",
    "weakly solved": lambda row: "yes" if row["weak_solved"] else "no",
}


def _of(heads: str) -> dict[str, Column]:
    """Returns the columns of FORMATS with these heads. Any other word is a measure of `train.strength`."""
    return {
        head if head in FORMATS else f"`{head}`": FORMATS.get(head, functools.partial(_measure, head))
        for head in heads.split(", ")
    }


WEAK = "agent_states, weak_uniform, sure_fraction, kept_value, action_weak, strong_action"
SURE = "weakly solved, weak_states, agent_states, sure_fraction, strong_action"
PUPILS = _of("game, run, games, won, turns")
RACES = _of("one seat, five seats, games, won, turns")
DIAMONDS: dict[str, Column] = {
    **_of("game"),
    "states with either seat to move": lambda row: f"{2 * row['states']:,}",
    "won by each seat": lambda row: f"{row['won'] + row['lost']:,}",
    "drawn": lambda row: f"{2 * row['drawn']:,}",
    "illegal": lambda row: f"{2 * row['illegal']:,}",
    "most plies to the end": lambda row: len(row["plies"]) - 1,
    "from the start": _text_of_start,
    "bytes": "{bytes:,}",
    "CPU seconds": "{cpu_seconds:.0f}",
}
OF_GAMES = _of("games, wins, draws, losses, score")
PAIRS: dict[str, Column] = {
    "agent": "`{agents[0][agent]}`",
    "against": "`{agents[1][agent]}`",
    **{head: lambda row, column=column: entry_of(score_of(row), column) for head, column in OF_GAMES.items()},
}
SOLVED_BY_SEEDS: dict[str, Column] = {
    "best action: all": lambda row: text_of_score(row["strong_action"], row["strong_states"]),
    "best action: weak": "{action_weak:.4f}",
    **_of("ultra-weak, weakly solved, weak_states, weak_optimal"),
}
COLUMNS: dict[str, Mapping[str, Column]] = {  # by file: headers with templates, which take the names of its JSON
    **dict.fromkeys(("solvers_diamond", "solvers_diamond_large"), DIAMONDS),
    "perfect_replies_boxes": {
        "agent": lambda row: f"`{Path(row['agents'][1]['agent']).name}`",
        **_of("games"),
        "won by the agent": lambda row: f"{row['agents'][1]['wins']:,}",
    },
    "dots_and_boxes_study_settings": {
        "agent": lambda row: f"`{without_module(row['agent'])}`",
        **{name: f"{{{name}}}" for name in ("games", "wins", "losses", "ties")},
        "win rate": lambda row: text_of_rate(row["win_rate"], row["win_rate_interval"]),
        "CPU ms per move: mean, p99, max": "{cpu_ms[mean]:.2f}, {cpu_ms[p99]:.2f}, {cpu_ms[max]:.2f}",
    },
    "greedy_agent": {
        **_of("game, games"),
        "won by `greedy`": FORMATS["won"],
        "won by `random`": lambda row: _rate(row, 1),
        "turns of `greedy`": FORMATS["turns"],
    },
    **dict.fromkeys(("parameter_sharing_plans", "star_race_pupils_3", "star_race_pupils_4"), PUPILS),
    "star_race_2": RACES,
    "parameter_sharing_turn_search": _of("game") | RACES,
    "star_graph": _of("game, run, five seats, games, won, turns"),
    **dict.fromkeys(("checkers_imitation_small", "checkers_imitation_choices"), PAIRS),
    "alphazero_games": _of("game") | PAIRS,
    "alphazero_openspiel": _of("agent, game") | OF_GAMES,
    "two_calls_play": _of("game") | PAIRS,
    "hard_minichess": _of("agent") | {"opponent": "`{opponent}`"} | OF_GAMES,
    "alphazero_star": {
        "agent": PAIRS["agent"],
        "seats": "{agents[0][seats]}",
        "against": PAIRS["against"],
        **_of("games, won, turns"),
    },
    "openspiel_checkers": _of("agent") | {"simulations of the bot": "{simulations:,}"} | OF_GAMES,
    "train_all_games": {
        **_of("game, steps"),
        "seconds": "{seconds:,.0f}",
        **{f"`{name}`": functools.partial(_score_against, name) for name in ("random", "greedy", "medium")},
    },
    "time_to_beat": solving.TABLE,
    "learners_minichess": {
        "learner": "`{learner}`",
        **_of("steps"),
        "CPU seconds": "{cpu_seconds:,}",
        "network alone": lambda row: entry_of(row["alone"], FORMATS["score"]),
        "with 64 simulations": lambda row: entry_of(row["search"], FORMATS["score"]),
        "alone against `greedy`": lambda row: entry_of(row["greedy"], FORMATS["score"]),
    },
    "alphazero_parts": training.columns(("rules", "tree", "network", "update", "rest")),
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
    # Measures of `train.strength`.
    "strength_diamond": _of(
        f"agent, ultra-weak, weakly solved, weak_states, {WEAK}, strong_decisive, strong_won, strong_fastest"
    ),
    "strength_boxes": _of(f"agent, weakly solved, worst_margin, {WEAK}, strong_margin_lost"),
    "boxes_ppo": _of("agent, weakly solved, agent_states, sure_fraction, kept_value, strong_action, strong_decisive"),
    "strength_boxes_long": {
        "run": lambda row: f"`{Path(row['agent']).name.partition('@')[0]}`",
        **_of("steps, simulations, strong_action, strong_decisive"),
    },
    "strength_drawn": _of("agent, ultra_weak, weak_states, agent_states, sure_fraction, strong_action"),
    "strength_uct_sampled": {
        **_of("agent"),
        "positions": "{strong_states:,}",
        **_of("strong_action, strong_decisive, strong_won, strong_fastest"),
    },
    "solution_strength_l2": {
        "λ, seed": lambda row: re.sub(r".*l2_coef=(.*)/seed=(\d+).*", r"\1, \2", row["agent"]),
        **_of("weak_states, agent_states, sure_fraction, strong_action, strong_decisive, value_mse, value_accuracy"),
    },
    "solution_strength_strong": {
        "run": lambda row: "the study's settings" if "self_play_study" in row["agent"] else "ours, `d43_0`",
        **_of("iteration"),
        "squared error of values: all, weak": "{value_mse:.3f}, {weak_value_mse:.3f}",
        "accuracy of values: all, weak": "{value_accuracy:.3f}, {weak_value_accuracy:.3f}",
        "best action: all, weak": "{strong_action:.3f}, {action_weak:.3f}",
    },
    "solution_strength_seeds": {
        **_of("agent, simulations"),
        "squared error of values: all": _with_margin("value_mse"),
        "weak": _with_margin("weak_value_mse"),
        **SOLVED_BY_SEEDS,
    },
    "solution_strength_seeds_puct": {
        **_of("agent"),
        "search": lambda row: row["search"] or "network alone",
        **SOLVED_BY_SEEDS,
    },
    "solution_strength_exploitability": {
        "victim": PAIRS["against"],
        **_of("games"),
        "won by its trained reply": FORMATS["won"],
        "as first player": lambda row: f"{row['agents'][0]['by_seat'][0]['win_rate']:.3f}",
        "as second player": lambda row: f"{row['agents'][0]['by_seat'][1]['win_rate']:.3f}",
    },
    "solution_strength_solved": {
        **_of("game"),
        "positions": "{states:,}",
        **{name: f"{{{name}:,}}" for name in ("won", "lost", "drawn", "illegal")},
        **{head: DIAMONDS[head] for head in ("most plies to the end", "from the start")},
        "moves that keep it": "{start_best_moves} of {start_moves}",
        "SHA-256": "`{sha256}`",
    },
    "boxes_values": {
        "board": lambda row: " \N{MULTIPLICATION SIGN} ".join(re.findall(r"\d+", row["env"])),
        "boxes of the first player less those of the second": lambda row: f"{row['start_value']:+}".replace("+0", "0"),
    },
    "solvers_boxes": {
        **_of("game"),
        "sets of edges, and bytes": "{states:,}",
        "CPU seconds": "{cpu_seconds:.0f}",
        "from the start": lambda row: f"{row['start_value']:+}".replace("+0", "0"),
    },
}
TABLES: dict[str, dict[str, str]] = {  # by the module of a command: columns or functions there, by keys of its JSON
    "train.ladder": {"": "table"},  # "" is all of it
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
    "examples.papers.dots_and_boxes.depths": {"handouts": "table"},
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
