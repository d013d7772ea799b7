"""Writes the tables of README and docs that are made of stored results: `python -m examples.papers.tables`.

A page names a table between two markers, and the table stands between them:

    <!-- table: ladder_minichess -->
    <!-- end of table -->

The results are the files of docs/results, the cards of the baseline agents (jaxgames/baselines/NAME.json) and the
ratings of the levels beside them (`levels.json`). `python -m train.baselines` and its modules `levels`,
`ladders`, `solved`, `self_play_switches` and `switches` write the cards, and the files of these names. The other files
are written here:

    python -m examples.papers.parameter_sharing.heat_maps --runs runs/papers/parameter_sharing/parameter_sharing
    python -m examples.papers.tables --store runs/papers/parameter_sharing/heat_maps
    python -m examples.papers.tables --name greedy_checkers --run "python -m train.match greedy random --env checkers"

The first two lines store the result of an experiment, the third runs any command and stores its result. The tables
that the commands printed have the name of the file, from the second one on with a number: `greedy_checkers_2`. Files
of COLUMNS have one table with the columns that stand there, of the rows of the last command or with a row for each one.
"""

import functools
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import tyro

from benchmarks import alphazero, devices, networks
from examples.papers._experiment import CURVES, RESULT, Column, entry_of, table_of, text_of
from jaxgames import baselines
from jaxgames.baselines import level_agents
from jaxgames.solvers.chinese_checkers_diamond.solution import OUTCOMES
from train.baselines import ladders, levels, self_play_switches, solved, switches
from train.baselines import tables as of_cards
from train.baselines.stored_results import RESULTS, stored_rows
from train.driver.commands import text_of_rate, text_of_score
from train.driver.machine import children_cpu_seconds, commit, stamp
from train.driver.tables import markdown, tables_in, update_pages, with_tables

ROOT = Path(__file__).parents[2]
DEFAULTS = ", tip_lock=False|, max_plies=200|, reward='win_loss'"  # of the solved games


@dataclass(frozen=True)
class Arguments:
    check: bool = False
    """Write nothing, and exit with status 1 if a page differs."""
    store: tuple[Path, ...] = ()
    """Folders of experiments below runs/papers, whose results become results of the docs first."""
    name: str = ""
    """The file for the result of `run`, without folder and suffix."""
    run: tuple[str, ...] = ()
    """Commands `python -m ...` that are run first, in their order; their results are one file."""


def update(arguments: Arguments) -> NoReturn:
    """Stores the named results, writes the tables of README and docs, and exits; 1 if a checked page differs."""
    if bool(arguments.name) != bool(arguments.run):
        sys.exit("examples.papers.tables: --name and --run need each other: --name FILE --run 'python -m ...'")
    for folder in arguments.store:
        shutil.copyfile(folder / RESULT, RESULTS / f"{name_of(folder)}.json")
        if (folder / CURVES).exists():
            shutil.copyfile(folder / CURVES, RESULTS / "curves" / f"{name_of(folder)}.json")
    if arguments.run:
        try:
            record = record_of(arguments.run)
        except (subprocess.CalledProcessError, OSError) as error:
            sys.exit(f"examples.papers.tables: {error}")
        (RESULTS / f"{arguments.name}.json").write_text(text_of(record), encoding="utf-8")
    with_stored = functools.partial(with_tables, tables=tables())
    update_pages(pages(), with_stored, "python -m examples.papers.tables", arguments.check)


def main() -> None:
    update(tyro.cli(Arguments, prog="python -m examples.papers.tables", description=__doc__))


def pages() -> list[Path]:
    """Returns README and the pages of docs."""
    return [*ROOT.glob("README.md"), *sorted((ROOT / "docs").rglob("*.md"))]


# -- files ---------------------------------------------------------------------------------------------------------


def name_of(folder: Path) -> str:
    """Returns the name of an experiment's result: its folder below runs/papers, with "_" for "/"; else its name."""
    parts = folder.resolve().parts
    return "_".join(parts[parts.index("papers") + 1 :] if "papers" in parts else parts[-1:])


def record_of(commands: Sequence[str]) -> dict[str, Any]:
    """Returns what is kept of commands, after their runs: where they ran, the tables and the JSON that they printed.

    Each result has the CPU seconds of its command. Raises CalledProcessError if one of them fails.
    """
    printed: list[str] = []
    results: list[dict[str, Any]] = []
    for command in commands:
        before = children_cpu_seconds()
        words = [sys.executable if word == "python" else word for word in shlex.split(command)]
        text = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
        results.append(json.loads(text.splitlines()[-1]) | {"cpu_seconds": round(children_cpu_seconds() - before, 1)})
        printed.append(text)
    return {
        "commands": list(commands),
        "commit": commit(),
        **stamp(),
        "cpu_seconds": round(sum(result["cpu_seconds"] for result in results), 1),
        "tables": tables_in("\n".join(printed)),
        "results": results,
    }


# -- tables --------------------------------------------------------------------------------------------------------


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
    return lambda row: entry_of(switches.score_of(row), column)


def _collection(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the counts of the games of the last collection that `train.data` read."""
    return row["external"] if row["external"]["read"] else row["games"]


def _positions_of_collection(row: Mapping[str, Any]) -> str:
    """Returns the number of positions of the same collection."""
    is_external = bool(row["external"]["read"])
    counts = (split["positions"] for name, split in row["splits"].items() if (name == "external") == is_external)
    return f"{sum(counts):,}"


def _in_megabytes(template: str) -> Column:
    return lambda row: template.format_map(devices.in_units_of_table(dict(row)))


WEAK = ("agent_states", "weak_uniform", "sure_fraction", "kept_value", "action_weak", "strong_action")
PUPILS: dict[str, Column] = {
    "game": lambda row: f"`{re.sub(r', num_players.*', ')', row['env'])}`",
    "run": lambda row: f"`{Path(row['agents'][0]['agent']).name}`",
    "games": "{games:,}",
    "won": lambda row: _rate(row["agents"][0]),
    "turns": "{agents[0][mean_turns]:.1f}",
}
RACES: dict[str, Column] = {
    "one seat": lambda row: f"`{of_cards.without_module(row['agents'][0]['agent'])}`",
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
    "alphazero_parts": dict(alphazero.TABLE),
    "networks_costs": {
        **networks.TABLE,
        "game": "`{game}`",
        "network": "`{network}`",
        "microseconds per step": "{microseconds:,.1f}",
    },
    "devices_footprint": {
        head: _in_megabytes(template) for head, template in devices.FOOTPRINT_TABLE.items() if head != "ns per step"
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
    "checkers_imitation_outside": {
        "agent": lambda row: f"`{row['agents'][0]['agent']}`",
        "Simple Checkers": lambda row: f"`{row['agents'][1]['agent'].partition(', ')[2].removesuffix(')')}`",
        **OF_TWO,
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
        "simulations": lambda row: row.get("search") or solved.text_of_search(row),
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


def of_results() -> dict[str, str]:
    """Returns the tables of the files of docs/results in Markdown, without the ladders, by their names in the markers.

    Raises ValueError for a row that has more or fewer cells than its table has columns.
    """
    made: dict[str, str] = {}
    for path in sorted(RESULTS.glob("*.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        if path.stem in COLUMNS:
            results = stored["results"]
            made[path.stem] = table_of(results[-1].get("rows", results), COLUMNS[path.stem])
            continue
        for number, table in enumerate(stored.get("tables", ()), start=1):
            made[path.stem if number == 1 else f"{path.stem}_{number}"] = markdown(table["columns"], table["rows"])
    return made


def peers_by_game(path: Path) -> str:
    """Returns the speeds of `benchmarks.peers` in Markdown: a row per game, and for each peer the ratio of ours."""
    ratios: dict[tuple[str, int], dict[str, str]] = {}
    for row in json.loads(path.read_text(encoding="utf-8"))["results"][-1]["rows"]:
        of_game = ratios.setdefault((row["game"], row["ours"]["steps_per_second"]), {})
        of_game[row["peer"].partition(" `")[0]] = f"{row['ratio']:.3g}"
    heads = dict.fromkeys(peer for of_game in ratios.values() for peer in of_game)
    rows = (
        [f"`{game}`", f"{speed:,}", *(of_game.get(peer, "") for peer in heads)]
        for (game, speed), of_game in ratios.items()
    )
    return markdown(["game", "jaxgames, steps/s", *heads], rows)


def tables() -> dict[str, str]:
    """Returns the tables in Markdown, by their names in the markers."""
    cards = [baselines.card(name) for name in baselines.list_baselines()]
    return {
        "agents": of_cards.agents(cards),
        "games_of_agents": of_cards.games(cards),
        "teachers_of_agents": of_cards.teachers(cards),
        "levels": levels.table(levels.stored(level_agents.FILE)),
        "self_play_switches": self_play_switches.table(sorted(RESULTS.glob("self_play_switches_*.json"))),
        switches.NAME: switches.table(switches.RESULTS / f"{switches.NAME}.json"),
        **{f"ladder_{card.name}": of_cards.ladder(card.ladder) for card in cards},
        # A stored ladder takes the place of a card's, which has no agents from outside the package.
        **{path.stem: of_cards.ladder(ladders.ratings(path)) for path in RESULTS.glob("ladder_*.json")},
        **{path.stem: solved.table(stored_rows(path)) for path in RESULTS.glob("solved_*.json")},
        **of_results(),
        **{path.stem: peers_by_game(path) for path in RESULTS.glob("peers.json")},
    }


if __name__ == "__main__":
    main()
