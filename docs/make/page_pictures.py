"""Takes the pictures of the page that docs/play.md shows: one game each, in Chromium.

    python -m docs.make.page_pictures

Greedy agents play the first plies. A person, whose opponent is of the level `medium`, asks for a hint. Needs the extra
`play`, Playwright and Chromium:
`apt-get install chromium`.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import tyro
from playwright.sync_api import Browser, FilePayload, ViewportSize, sync_playwright

import jaxgames
from benchmarks.play import MISSING, OPTIONS, find_chromium, served
from jaxgames.baselines import levels
from jaxgames.play import Session, agent_action, to_json

WIDE, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)
MAX_WIDTH = 960  # pixels of a picture


class Picture(NamedTuple):
    """A game, and how its page is shown."""

    game: str
    plies: int  # that are played before
    scheme: Literal["light", "dark"] = "light"
    size: ViewportSize = WIDE


PICTURES = {
    "checkers": Picture("checkers", 20),
    "minichess": Picture("minichess", 8, scheme="dark"),
    "dots_and_boxes": Picture("dots_and_boxes(rows=4, cols=4)", 24),
    "chinese_checkers": Picture("chinese_checkers(size=2, num_players=6)", 30, scheme="dark", size=PHONE),
    "chinese_checkers_diamond": Picture("chinese_checkers_diamond(size=5, pieces=6)", 10, scheme="dark"),
}


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("docs/pictures")
    """The folder of the pictures."""
    names: tuple[str, ...] = tuple(PICTURES)
    """The pictures, by their names in the table `PICTURES`."""


def main() -> None:
    """The command `python -m docs.make.page_pictures`."""
    arguments = tyro.cli(Arguments, prog="python -m docs.make.page_pictures", description=__doc__)
    program = find_chromium()
    if program is None:
        sys.exit(f"docs.make.page_pictures: {MISSING}")
    if unknown := set(arguments.names) - PICTURES.keys():
        sys.exit(
            f"docs.make.page_pictures: expected --names from {', '.join(PICTURES)}, not {', '.join(sorted(unknown))}"
        )
    arguments.output.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        for name in arguments.names:
            file = arguments.output / f"play_{name}.png"
            take(browser, PICTURES[name], file)
            print(file, flush=True)
        browser.close()


def take(browser: Browser, picture: Picture, file: Path) -> None:
    """Opens the page of a game in progress, asks for a hint, and writes what is seen."""
    session = begun(picture)
    with served(session.env, session.seats) as address:
        scale = min(1.0, MAX_WIDTH / picture.size["width"])
        context = browser.new_context(viewport=picture.size, color_scheme=picture.scheme, device_scale_factor=scale)
        page = context.new_page()
        page.goto(address)
        page.locator(".cell").first.wait_for()
        content = to_json(session).encode()
        page.locator("#file").set_input_files(
            FilePayload(name="game.json", mimeType="application/json", buffer=content)
        )
        page.locator(f"#ply[max='{session.plies}']").wait_for()
        page.locator("#hint").click()
        page.locator("#trails .mark.best").wait_for(timeout=300_000)
        page.screenshot(path=file)


def begun(picture: Picture) -> Session:
    """Returns a game after its first plies, in which a person is to move."""
    env = jaxgames.make(picture.game)
    session = Session(env, ["greedy"] * env.num_players)
    while session.ply < picture.plies or session.continues_turn:
        session.play(agent_action(session))
    opponent = levels(env)["medium"]
    return session.with_seats(["human" if seat == session.mover else opponent for seat in range(env.num_players)])


if __name__ == "__main__":
    main()
