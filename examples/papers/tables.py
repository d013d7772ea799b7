"""Writes the tables of the docs that are made of stored results: `python -m examples.papers.tables`.

A page names a table between two markers, and the table stands between them:

    <!-- table: ladder_minichess -->
    <!-- end of table -->

The results are the cards of the baseline agents (jaxgames/baselines/NAME.json), the ratings of the levels beside them
(`levels.json`) and the files of docs/results. `python -m train.baselines`, `train.baselines.levels`,
`train.baselines.ladders` and `train.baselines.switches` write them. Those of the experiments have the tables that they
printed, the first one with the name of the file, the others with a number:

    python -m examples.papers.parameter_sharing.heat_maps --runs runs/papers/parameter_sharing/parameter_sharing
    python -m examples.papers.tables --store runs/papers/parameter_sharing/heat_maps
    <!-- table: parameter_sharing_heat_maps -->       <!-- table: parameter_sharing_heat_maps_2 -->
"""

import functools
import json
import shutil
from pathlib import Path

import tyro

from examples.papers._experiment import RESULT
from jaxgames import baselines
from jaxgames.baselines import level_agents
from train.baselines import ladders, levels, switches
from train.baselines import tables as of_cards
from train.driver.tables import update_pages, with_tables

DOCS = Path(__file__).parents[2] / "docs"


def main(*, check: bool = False, store: tuple[Path, ...] = ()) -> None:
    """Writes the tables of the docs that are made of stored results.

    Args:
      check: write nothing, and exit with status 1 if a page differs.
      store: folders of experiments below runs/papers, whose results become results of the docs first.
    """
    for folder in store:
        shutil.copyfile(folder / RESULT, ladders.RESULTS / f"{name_of(folder)}.json")
    update = functools.partial(with_tables, tables=tables())
    update_pages(sorted(DOCS.rglob("*.md")), update, "python -m examples.papers.tables", check)


def name_of(folder: Path) -> str:
    """Returns the name of an experiment's result: its folder below runs/papers, with "_" for "/"; else its name."""
    parts = folder.resolve().parts
    return "_".join(parts[parts.index("papers") + 1 :] if "papers" in parts else parts[-1:])


def of_experiments() -> dict[str, str]:
    """Returns the tables that experiments printed."""
    made: dict[str, str] = {}
    for path in sorted(ladders.RESULTS.glob("*.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        for number, lines in enumerate(stored.get("tables", ()), start=1):
            made[path.stem if number == 1 else f"{path.stem}_{number}"] = "\n".join(lines)
    return made


def tables() -> dict[str, str]:
    """Returns the tables in Markdown, by their names in the markers."""
    cards = [baselines.card(name) for name in baselines.list_baselines()]
    return {
        "agents": of_cards.agents(cards),
        "games_of_agents": of_cards.games(cards),
        "levels": levels.table(levels.stored(level_agents.FILE)),
        switches.NAME: switches.table(switches.RESULTS / f"{switches.NAME}.json"),
        **{path.stem: of_cards.ladder(ladders.ratings(path)) for path in ladders.RESULTS.glob("ladder_*.json")},
        **{f"ladder_{card.name}": of_cards.ladder(card.ladder) for card in cards},
        **of_experiments(),
    }


if __name__ == "__main__":
    tyro.cli(main)
