"""Writes stored files of this folder again: `python -m tests.data pictures playthroughs`.

Tests compare what the code makes now with these files. After a change that was meant, run the command, read the
differences and commit them.
"""

import sys
from pathlib import Path

from tests.contract.test_rules import made_playthroughs
from tests.play.test_terminal import made_transcripts
from tests.play.web.test_browser_visits import made_visits
from tests.play.web.test_server import made_pages
from tests.render.test_pictures import made_pictures

# of each kind: the function that returns its texts by the names of their files
MAKERS = {
    "pages": made_pages,
    "pictures": made_pictures,
    "playthroughs": made_playthroughs,
    "transcripts": made_transcripts,
    "visits": made_visits,  # needs Chromium
}


def main(kinds: list[str]) -> None:
    for kind in kinds:
        folder = Path(__file__).parent / kind
        for old in folder.iterdir():
            old.unlink()
        for name, text in MAKERS[kind]().items():
            (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or list(MAKERS))
