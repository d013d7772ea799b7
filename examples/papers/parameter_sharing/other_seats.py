"""The sharing table with other numbers of seats: 2, 3, 4 and 6 at N = 2.

    python -m examples.papers.parameter_sharing.other_seats --output runs/papers/parameter_sharing/other_seats

The study has six seats and says that others can be had. An evaluation is as there: the policy in seat 0, random players
on all others. A command that was stopped continues when it is repeated.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.papers._experiment import Report, command
from examples.papers.parameter_sharing import comparison, runs
from examples.papers.parameter_sharing.study import MEASURES, MODES, ROUNDS, Preset, settings_of
from train.driver.tables import markdown
from train.models.policy import Sharing

GAME = "chinese_checkers(size=2, num_players={}, max_rounds={})"
QUICK: dict[str, Any] = {"seats": (2,), "modes": ("shared",), "seeds": 2, "iterations": 2, "games": 2}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/parameter_sharing/other_seats")
    preset: Preset = "parameter_sharing"
    """The settings of training: ours, or those of the study's code, with the rewards of its text."""
    seats: tuple[int, ...] = (2, 3, 4, 6)
    """Numbers of seats."""
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""


def report(arguments: Arguments) -> Report:
    """Trains the runs of each number of seats."""
    rows: list[list[object]] = []
    numbers: dict[int, dict[str, Any]] = {}
    for seats in arguments.seats:
        game = GAME.format(seats, ROUNDS)
        sweeps = {mode: settings_of(arguments.preset, arguments.iterations, mode, game) for mode in arguments.modes}
        folder = arguments.output / arguments.preset / str(seats)
        for mode, of_mode in runs.train_each(folder, sweeps, arguments.seeds, arguments.games).items():
            reached = comparison.reached(runs.curves_of(of_mode))
            rows.append([seats, mode, *(comparison.text_of(name, reached[name]) for name in MEASURES)])
            numbers.setdefault(seats, {})[mode] = {name: comparison.finite(value) for name, value in reached.items()}
    return Report(numbers, markdown(["seats", "sharing", *MEASURES], rows))


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
