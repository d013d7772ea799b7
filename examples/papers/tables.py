"""Writes the tables of README and docs that are made of stored results: `python -m examples.papers.tables`.

A page names a table between two markers, and the table stands between them:

    <!-- table: ladder_minichess -->
    <!-- end of table -->

The results are the files of docs/results, the cards of the baseline agents (jaxgames/baselines/NAME.json) and the
ratings of the levels beside them (`levels.json`). `python -m train.baselines` writes these, and the
results of several commands in train/baselines/entries.toml. The other files are written here:

    python -m examples.papers.tables --name alpha_mini_discounts --run "python -m examples.papers.alpha_mini.discounts"
    python -m examples.papers.tables --name greedy_checkers --run "python -m train.match greedy random --env checkers"

Each line runs any commands, unless they have finished at this commit, and stores their results.
`examples.papers.columns` has the columns of files, with a row for each result or for each of its `rows`, and the tables
of commands. These have the name of the file, from the second one on with a number. The tables of other commands, as
they printed them, are stored beside their results.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import tyro

from examples.papers.appendix import appendix
from examples.papers.claims import read_claims, tables_of_claims
from examples.papers.columns import COLUMNS, tables_of
from jaxgames import baselines
from jaxgames.baselines import level_agents
from train.baselines import levels
from train.baselines import tables as of_entries
from train.baselines.entries import RESULTS, WAYS
from train.baselines.recorded_commands import RecordedCommands, provenance
from train.driver.commands import commit
from train.driver.tables import markdown, table_of, update_pages

ROOT = Path(__file__).parents[2]
APPENDIX = ROOT / "docs" / "appendix"
RECORDS = Path("runs/results/commands.jsonl")
BETWEEN_MARKERS = re.compile(r"(?<=<!-- table: )(\S+) -->.*?<!-- end of table -->", re.DOTALL)


@dataclass(frozen=True)
class Arguments:
    check: bool = False
    """Write nothing, and exit with status 1 if a page differs."""
    name: str = ""
    """The file for the result of `run`, without folder and suffix."""
    run: tuple[str, ...] = ()
    """Commands `python -m ...` that are run first, in their order; their results are one file."""


def update(arguments: Arguments) -> NoReturn:
    """Stores the named results, writes the tables of README and docs, and exits; 1 if a checked page differs."""
    if bool(arguments.name) != bool(arguments.run):
        sys.exit("examples.papers.tables: --name and --run need each other: --name FILE --run 'python -m ...'")
    if arguments.run:
        try:
            record = record_of(arguments.name, arguments.run)
        except (ValueError, OSError) as error:
            sys.exit(f"examples.papers.tables: {error}")
        (RESULTS / f"{arguments.name}.json").write_text(text_of(record), encoding="utf-8")
    made = tables()
    texts = {page: with_tables(page.read_text(encoding="utf-8"), made) for page in pages()}
    texts |= {APPENDIX / f"{name}.md": text for name, text in appendix(made).items()}
    update_pages(texts, "python -m examples.papers.tables", arguments.check)


def main() -> None:
    update(tyro.cli(Arguments, prog="python -m examples.papers.tables", description=__doc__))


def pages() -> list[Path]:
    """Returns README and the pages of docs that people write."""
    of_docs = sorted((ROOT / "docs").rglob("*.md"))
    return [*ROOT.glob("README.md"), *(page for page in of_docs if page.parent != APPENDIX)]


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """Returns the text of a page with these tables, each between the markers of its name; others stay as they are."""

    def table_between(found: re.Match[str]) -> str:
        name = found[1]
        return f"{name} -->\n\n{tables[name]}\n\n<!-- end of table -->" if name in tables else found[0]

    return BETWEEN_MARKERS.sub(table_between, page)


def text_of(record: Mapping[str, Any]) -> str:
    """Returns a record as JSON, with each row of a table, and each other list without lists, on one line."""

    def on_one_line(found: re.Match[str]) -> str:
        return f"[{' '.join(map(str.strip, found[1].splitlines()))}]"

    return re.sub(r"\[\n([^][{}]*)\n *\]", on_one_line, json.dumps(record, indent=1, ensure_ascii=False)) + "\n"


def record_of(name: str, commands: Sequence[str]) -> dict[str, Any]:
    """Returns what a file keeps of commands, after their runs: where they ran, and the JSON that they printed.

    Each result that is an object has the CPU seconds of its command. Tables that are not made of the results are kept.
    Raises ValueError if one of the commands fails.
    """
    runner = RecordedCommands(RECORDS)
    records = [runner.run(command.removeprefix("python -m "), commit()) for command in commands]
    seconds = [{"cpu_seconds": record.cpu_seconds} for record in records]
    pairs = zip((record.result for record in records), seconds, strict=True)
    results = [result | spent if isinstance(result, dict) else result for result, spent in pairs]
    where = provenance(record.cpu_seconds for record in records)
    stored = {"commands": list(commands), **where, "results": results}
    tables = [table for record in records for table in record.tables]
    is_made = name in COLUMNS or stored_tables(stored) == tables
    return stored if is_made else stored | {"tables": tables}


def of_results() -> dict[str, str]:
    """Returns the tables of the files of docs/results in Markdown, by their names in the markers.

    Raises ValueError for a row that has more or fewer cells than its table has columns.
    """
    made: dict[str, str] = {}
    switches: list[Mapping[str, Any]] = []  # of all games, which are one table
    for path in sorted(RESULTS.glob("*.json")):
        name, stored = path.stem, json.loads(path.read_text(encoding="utf-8"))
        if name == "claims":
            made |= tables_of_claims(read_claims())
        elif name in COLUMNS:
            results = stored["results"]
            rows = [row for result in results for row in result.get("rows", ())]  # of all commands that have rows
            made[name] = table_of(rows or results, COLUMNS[name])
        elif name.startswith("ladder_"):
            made[name] = of_entries.ladder(of_entries.ratings_of(stored["rows"]))
        elif name.startswith("solved_"):
            made[name] = of_entries.solved(stored["rows"])
        elif name.startswith("self_play_switches_"):
            switches += [row for row in stored["rows"] if row["ways"] == WAYS]
        else:
            for number, table in enumerate(stored_tables(stored), start=1):
                made[name if number == 1 else f"{name}_{number}"] = markdown(table["columns"], table["rows"])
    return made | {"self_play_switches": table_of(switches, of_entries.SWITCHES)}


def stored_tables(stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the tables in a file, or those that TABLES makes of its results."""
    if "tables" in stored:
        return stored["tables"]
    if "command" in stored:
        return tables_of(stored["command"], stored["result"])
    pairs = zip(stored["commands"], stored["results"], strict=True)
    return [table for command, result in pairs for table in tables_of(command, result)]


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
        "agents": of_entries.agents(cards),
        "games_of_agents": of_entries.games(cards),
        "teachers_of_agents": of_entries.teachers(cards),
        "levels": levels.table(json.loads(level_agents.FILE.read_text(encoding="utf-8"))["boards"]),
        **{f"ladder_{card.name}": of_entries.ladder(card.ladder) for card in cards},
        **of_results(),  # a stored ladder takes the place of a card's, which has no agents from outside the package
        **{path.stem: peers_by_game(path) for path in RESULTS.glob("peers.json")},
    }


if __name__ == "__main__":
    main()
