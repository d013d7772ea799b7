"""Plays one game per page of docs/games/, and writes each as a still page that the page links to.

    python -m docs.make.still_games
    python -m docs.make.still_games --names checkers minichess --output runs/still_games

A still page is one HTML file with all positions, which needs no server. Games and players are in the table below. With
the same seeds and versions, the same games come out on every machine that is fast enough: in Dots and Boxes `alphabeta`
has 200 milliseconds per move. One line per game names the file and the end of the game.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import tyro

from jaxgames.play import Session, agent_action, to_html


class Game(NamedTuple):
    """A game that is played for the docs."""

    page: str  # of docs/games/ that links to it
    game: str
    seats: tuple[str, ...]  # agents
    seed: int = 0


GAMES = {
    "checkers": Game("checkers", "checkers", ("alphabeta(depth=6)", "alphabeta(depth=3, epsilon=0.1)")),
    "minichess": Game("minichess", "minichess", ("alphabeta(depth=4)", "alphabeta(depth=2)"), seed=1),
    "dots_and_boxes": Game("dots_and_boxes", "dots_and_boxes(rows=5, cols=5)", ("greedy", "alphabeta"), seed=1),
    "chinese_checkers_2": Game("chinese_checkers", "chinese_checkers(size=2, num_players=3)", ("greedy",) * 3),
    "chinese_checkers_4": Game("chinese_checkers", "chinese_checkers(size=4, num_players=2)", ("greedy",) * 2),
    "chinese_checkers_diamond": Game("chinese_checkers_diamond", "chinese_checkers_diamond", ("greedy",) * 2),
}


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("docs/pictures")
    """The folder of the files."""
    names: tuple[str, ...] = tuple(GAMES)
    """The games, by their names in the table `GAMES`."""


def main() -> None:
    """The command `python -m docs.make.still_games`."""
    arguments = tyro.cli(Arguments, prog="python -m docs.make.still_games", description=__doc__)
    if unknown := set(arguments.names) - GAMES.keys():
        sys.exit(f"docs.make.still_games: expected --names from {', '.join(GAMES)}, not {', '.join(sorted(unknown))}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        session = played(GAMES[name])
        ending = session.outcome.to_text()
        session.jump(0)  # where the page opens
        file = arguments.output / file_name(name)
        file.write_text(to_html(session), encoding="utf-8")
        print(f"{file}: {session.env}, {' v. '.join(session.seats)}, {session.plies} plies, {ending}", flush=True)


def file_name(name: str) -> str:
    """Returns the name of the file of a game."""
    return f"still_{name}.html"


def played(game: Game) -> Session:
    """Returns the game, played to its end by its agents."""
    session = Session(game.game, game.seats, seed=game.seed)
    while not session.over:
        session.play(agent_action(session))
    return session


if __name__ == "__main__":
    main()
