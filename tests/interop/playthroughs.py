"""Writes the stored playthroughs of tests/data/playthroughs/ again: `python -m tests.interop.playthroughs`.

Each is the text of one short random game, as OpenSpiel's `generate_playthrough` writes it: the type of the game, and
for every state its text, observations, returns and legal actions. Look at the differences before you commit them.
"""

import re
from pathlib import Path

from open_spiel.python.algorithms.generate_playthrough import playthrough

from jaxgames.interop.openspiel import register

FOLDER = Path(__file__).parents[1] / "data" / "playthroughs"
GAMES = {
    "checkers": "jaxgames_checkers(max_plies=4)",
    "chinese_checkers": "jaxgames_chinese_checkers(size=1,num_players=3,reward=goal,max_rounds=2)",
    "chinese_checkers_diamond": "jaxgames_chinese_checkers_diamond(size=3,pieces=1,max_plies=6)",
    "dots_and_boxes": "jaxgames_dots_and_boxes(rows=1,cols=2,reward=boxes)",
    "minichess": "jaxgames_minichess(rules=king_capture,max_plies=4)",
}
SEED = 1


def replayed(text: str) -> str:
    """Returns the playthrough of the same game and actions as those that a playthrough has."""
    found = re.search(r"^game: (.*)$", text, re.MULTILINE)
    assert found
    register()
    return playthrough(found[1], [int(action) for action in re.findall(r"^action: (\d+)$", text, re.MULTILINE)])


def main() -> None:
    register()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for id, game in GAMES.items():
        path = FOLDER / f"{id}.txt"
        path.write_text(playthrough(game, [], seed=SEED))
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
