"""The time from a click on the page to the board that answers it, over a whole game of each kind.

    python -m benchmarks.play

People play all seats, so no agent thinks meanwhile. One row per game:

    page      seconds from opening the page to a board that can be played on, with the rules compiled before
    clicks    plies of one random game
    p50, p95  milliseconds from a click on a target to the next board on the screen: request, step, picture, drawing
    server    milliseconds of the server for one ply, p95: step, legal moves, picture

Other programs on the machine lengthen all of them, so the result has the load of the machine beside the number of its
cores. It needs Chromium: apt-get install chromium.
"""

import os
import random
import shutil
import socket
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import jaxgames
from benchmarks import harness
from benchmarks.harness import Command
from jaxgames.agents import make
from jaxgames.env import Env
from jaxgames.play import Session
from jaxgames.play.web import snapshot
from jaxgames.play.web.live_games import GameServer
from jaxgames.play.web.server import Server, app
from jaxgames.play.web.snapshot import Look
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of

GAMES = (
    "checkers",
    "chinese_checkers(size=2, num_players=3, max_rounds=40)",
    "chinese_checkers(size=4, num_players=6, max_rounds=15)",
    "chinese_checkers_diamond",
    "dots_and_boxes(rows=6, cols=6)",
    "minichess",
)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MISSING = "Chromium is missing; install it with: apt-get install chromium"
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
TABLE = {
    "game": "{game}",
    "page (s)": "{page}",
    "clicks": "{clicks}",
    "p50 (ms)": "{p50}",
    "p95 (ms)": "{p95}",
    "server p95 (ms)": "{server}",
}

# Plays one ply with clicks on the page. Returns the milliseconds from the last click to the next frame, or null at
# the end of the game.
CLICK = """async chance => {
  const pick = list => list[Math.floor(chance * list.length)];
  const all = kind => [...document.querySelectorAll(kind)];
  if (document.querySelector('#hint').disabled) return null;
  if (!all('.cell.selected').length && all('.cell.source').length) pick(all('.cell.source')).click();
  const target = pick([...all('.cell.target'), ...all('.cell.edge'), ...all('#extra button')]);
  const before = document.querySelector('#ply').value;
  const changed = new Promise(resolve => new MutationObserver(() => {
    if (document.querySelector('#ply').value !== before) requestAnimationFrame(resolve);
  }).observe(document.querySelector('main'), {childList: true, subtree: true, attributes: true}));
  const begin = performance.now();
  target.click();
  document.querySelector('#choices button')?.click();
  await changed;
  return performance.now() - begin;
}"""


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = GAMES
    """Games with their parameters."""
    clicks: int = 1000
    """At most this many plies of each game."""


def measure_clicks(arguments: Arguments) -> dict[str, Any]:
    """Returns the rows of all games, and logs them as a table. Raises ValueError without Chromium."""
    from playwright.sync_api import sync_playwright

    program = find_chromium()
    if program is None:
        raise ValueError(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        rows = [_row(browser, game, arguments) for game in progress_over(arguments.games, "games")]
        browser.close()
    harness.log(table_of(rows, TABLE))
    return {"benchmark": "play", "load": os.getloadavg()[0], "rows": rows, **stamp()}


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def served(env: Env[Any], seats: Sequence[str], **options: Any) -> Generator[str]:
    """Yields the address of a server of the page in this process. `options` go to `jaxgames.play.web.server.app`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(app(env, seats, **options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


def _row(browser: Any, game: str, arguments: Arguments) -> dict[str, Any]:
    env = jaxgames.make(game)
    seats = ["human"] * env.num_players
    server_times = _server_times(env, seats, arguments)
    chance = random.Random(0)
    with served(env, seats) as address:
        page = browser.new_page()
        begin = time.perf_counter()
        page.goto(address)
        page.locator(".cell.source, .cell.edge").first.wait_for()
        opened = time.perf_counter() - begin
        times: list[float] = []
        while len(times) < arguments.clicks and (took := page.evaluate(CLICK, chance.random())) is not None:
            times.append(took)
        page.close()
    p50, p95 = (round(float(value), 1) for value in np.percentile(times, (50, 95)))
    figures = {"page": round(opened, 2), "clicks": len(times), "p50": p50, "p95": p95}
    return {"game": str(env), **figures, "server": round(float(np.percentile(server_times, 95)), 1)}


def _server_times(env: Any, seats: list[str], arguments: Arguments) -> list[float]:
    """Returns the milliseconds of processor time for each ply of a random game; compiles the rules before."""
    chance = random.Random(0)
    game = GameServer(str(env), tuple(seats), 0, make).add(Session(env, seats))
    snapshot.view(game, Look())
    times: list[float] = []
    while not game.session.over and len(times) < arguments.clicks:
        action = chance.choice(game.session.legal()).action
        begin = time.process_time()
        game.session.play(action)
        snapshot.view(game, Look())
        times.append(1000 * (time.process_time() - begin))
    return times[1:]  # the first step is compiled


COMMANDS = (Command("play", Arguments, measure_clicks),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
