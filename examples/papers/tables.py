"""Writes the tables of README and docs that are made of stored results: `python -m examples.papers.tables`.

A page names a table between two markers, and the table stands between them:

    <!-- table: ladder_minichess -->
    <!-- end of table -->

The results are the files of docs/results, the cards of the baseline agents (jaxgames/baselines/NAME.json) and the
ratings of the levels beside them (`levels.json`). `python -m train.baselines` and its modules `levels`,
`ladders`, `solved` and `self_play_switches` write the cards, and the files of these names. The other files
are written here:

    python -m examples.papers.parameter_sharing.heat_maps --runs runs/papers/parameter_sharing/parameter_sharing
    python -m examples.papers.tables --store runs/papers/parameter_sharing/heat_maps
    python -m examples.papers.tables --name greedy_checkers --run "python -m train.match greedy random --env checkers"

The first two lines store the result of an experiment, the third runs any command and stores its result. The tables
that the commands printed have the name of the file, from the second one on with a number: `greedy_checkers_2`. Files
of `examples.papers.columns` have one table with the columns that stand there, of the rows of the last command or with a
row for each one.
"""

import functools
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import tyro

from examples.papers._experiment import CURVES, RESULT, table_of, text_of
from examples.papers.columns import COLUMNS
from jaxgames import baselines
from jaxgames.baselines import level_agents
from train.baselines import ladders, levels, self_play_switches, solved
from train.baselines import tables as of_cards
from train.baselines.stored_results import RESULTS, stored_rows
from train.driver.machine import children_cpu_seconds, commit, stamp
from train.driver.tables import markdown, tables_in, update_pages, with_tables

ROOT = Path(__file__).parents[2]


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


def of_results() -> dict[str, str]:
    """Returns the tables of the files of docs/results in Markdown, without the ladders, by their names in the markers.

    Raises ValueError for a row that has more or fewer cells than its table has columns.
    """
    made: dict[str, str] = {}
    for path in sorted(RESULTS.glob("*.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        if path.stem in COLUMNS:
            results = stored["results"]
            rows = [row for result in results for row in result.get("rows", ())]  # of all commands that have rows
            made[path.stem] = table_of(rows or results, COLUMNS[path.stem])
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
    return markdown(["game", "jaxgames, steps/s", *(f"\N{MULTIPLICATION SIGN} {peer}" for peer in heads)], rows)


def tables() -> dict[str, str]:
    """Returns the tables in Markdown, by their names in the markers."""
    cards = [baselines.card(name) for name in baselines.list_baselines()]
    return {
        "agents": of_cards.agents(cards),
        "games_of_agents": of_cards.games(cards),
        "teachers_of_agents": of_cards.teachers(cards),
        "levels": levels.table(levels.stored(level_agents.FILE)),
        "self_play_switches": self_play_switches.table(sorted(RESULTS.glob("self_play_switches_*.json"))),
        **{f"ladder_{card.name}": of_cards.ladder(card.ladder) for card in cards},
        # A stored ladder takes the place of a card's, which has no agents from outside the package.
        **{path.stem: of_cards.ladder(ladders.ratings(path)) for path in RESULTS.glob("ladder_*.json")},
        **{path.stem: solved.table(stored_rows(path)) for path in RESULTS.glob("solved_*.json")},
        **of_results(),
        **{path.stem: peers_by_game(path) for path in RESULTS.glob("peers.json")},
    }


if __name__ == "__main__":
    main()
