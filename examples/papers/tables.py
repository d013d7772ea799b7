"""Writes the tables of the docs that are made of stored results: `python -m examples.papers.tables`.

A page names a table between two markers, and the table stands between them:

    <!-- table: ladder_minichess -->
    <!-- end of table -->

The results are the cards of the baseline agents (jaxgames/baselines/NAME.json), the ratings of the levels beside them
(`levels.json`) and the files of docs/results. `python -m train.baselines`, `train.baselines.levels` and
`train.baselines.ladders` write them.
"""

import functools
from pathlib import Path

import tyro

from jaxgames import baselines
from jaxgames.baselines import level_agents
from train.baselines import ladders, levels
from train.baselines import tables as of_cards
from train.driver.tables import update_pages, with_tables

DOCS = Path(__file__).parents[2] / "docs"


def main(*, check: bool = False) -> None:
    """Writes the tables of the docs that are made of stored results.

    Args:
      check: write nothing, and exit with status 1 if a page differs.
    """
    update = functools.partial(with_tables, tables=tables())
    update_pages(sorted(DOCS.rglob("*.md")), update, "python -m examples.papers.tables", check)


def tables() -> dict[str, str]:
    """Returns the tables in Markdown, by their names in the markers."""
    cards = [baselines.card(name) for name in baselines.list_baselines()]
    return {
        "agents": of_cards.agents(cards),
        "games_of_agents": of_cards.games(cards),
        "levels": levels.table(levels.stored(level_agents.FILE)),
        **{path.stem: of_cards.ladder(ladders.ratings(path)) for path in ladders.RESULTS.glob("ladder_*.json")},
        **{f"ladder_{card.name}": of_cards.ladder(card.ladder) for card in cards},
    }


if __name__ == "__main__":
    tyro.cli(main)
