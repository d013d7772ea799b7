"""The sharing table with other numbers of seats: 2, 3, 4 and 6 at N = 2.

    python -m examples.papers.parameter_sharing.other_seats --output runs/papers/parameter_sharing/other_seats

The study has six seats and says that others can be had. An evaluation is as there: the policy in seat 0, random players
on all others. All runs are one sweep, so a command that was stopped continues when it is repeated.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from examples.papers._quick import shortened
from examples.papers.parameter_sharing import comparison, runs
from examples.papers.parameter_sharing.published import GAMES, MEASURES, MODES, ROUNDS, Preset, settings_of
from train.driver.tables import markdown
from train.models.policy import Sharing

GAME = "chinese_checkers(size=2, num_players={}, max_rounds={})"
QUICK: dict[str, Any] = {"seats": (2,), "modes": ("shared",), "seeds": 2, "iterations": 2, "games": 2}


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("runs/papers/parameter_sharing/other_seats")
    """The folder of the sweep and of the results."""
    preset: Preset = "parameter_sharing"
    """The settings of training."""
    seats: tuple[int, ...] = (2, 3, 4, 6)
    """Numbers of seats."""
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""
    seeds: int = 5
    """Runs of each number of seats and way of sharing."""
    iterations: int = 100
    """Iterations of each run, of 4,000 steps each."""
    games: int = GAMES
    """Games of an evaluation."""
    quick: bool = False
    """Tries everything with small numbers."""


def main() -> None:
    """The command `python -m examples.papers.parameter_sharing.other_seats`."""
    arguments = shortened(tyro.cli(Arguments, description=__doc__), QUICK)
    games = {seats: GAME.format(seats, ROUNDS) for seats in arguments.seats}
    settings = settings_of(arguments.preset, arguments.iterations, env=(*games.values(),), sharing=arguments.modes)
    found = runs.train_all(arguments.output / arguments.preset, settings, arguments.seeds, arguments.games)
    results = {
        seats: {
            mode: comparison.reached(
                runs.curves_of(r for r in found.values() if (r.config.env, r.config.sharing) == (game, mode))
            )
            for mode in arguments.modes
        }
        for seats, game in games.items()
    }
    rows = [
        [seats, mode, *(comparison.text_of(name, of_mode[name]) for name in MEASURES)]
        for seats, of_seats in results.items()
        for mode, of_mode in of_seats.items()
    ]
    text = markdown(["seats", "sharing", *MEASURES], rows)
    (arguments.output / "other_seats.md").write_text(text + "\n")
    print(text)
    numbers = {
        seats: {
            mode: {name: comparison.finite(found) for name, found in of_mode.items()} for mode, of_mode in s.items()
        }
        for seats, s in results.items()
    }
    print(json.dumps(numbers))


if __name__ == "__main__":
    main()
