"""Sections 4.3 and 5 expect full sharing to do well on a game with chance, and to gain less where seats are unequal.

    python -m examples.papers.parameter_sharing.other_games --output runs/papers/parameter_sharing/other_games

In the game `chance_moves` a random legal submove takes the place of a quarter of the submoves, in `unequal_seats` half
of the seats cannot hop. The policy plays against random players, a sixth of its games on each seat, in the game that it
was trained on.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.papers import _experiment
from examples.papers._experiment import Report, command
from examples.papers.parameter_sharing import comparison, runs
from examples.papers.parameter_sharing.study import MEASURES, MODES, PACKAGE, ROUNDS, Preset, settings_of
from train import agents
from train.driver.loop import Settings
from train.driver.tables import markdown
from train.models.policy import Sharing
from train.sweep import sweep_of

GAMES = {
    "plain": "chinese_checkers(size=2, num_players=6, max_rounds={})",
    "chance": f"{PACKAGE}.chance_moves:chance_moves(max_rounds={{}})",
    "unequal seats": f"{PACKAGE}.unequal_seats:unequal_seats(max_rounds={{}})",
}
QUICK: dict[str, Any] = {"modes": ("shared",), "seeds": 2, "iterations": 2, "games": 6}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/parameter_sharing/other_games")
    preset: Preset = "parameter_sharing"
    """The settings of training: ours, or those of the study's code, with the rewards of its text."""
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""


def report(arguments: Arguments) -> Report:
    """Trains the runs of each game and way of sharing."""
    evaluated = Settings(checkpoint_every=25, evaluate_every=1, evaluation_games=arguments.games)
    table: list[list[object]] = []
    numbers: list[dict[str, Any]] = []
    for name, game in GAMES.items():
        for mode in arguments.modes:
            settings = settings_of(arguments.preset, arguments.iterations, mode, game.format(ROUNDS))
            sweep = sweep_of("ppo", settings, arguments.seeds)
            folder = arguments.output / arguments.preset / name.replace(" ", "_") / mode
            _experiment.train_all(sweep, folder, evaluated)
            rows = [agents.open_run(folder / cell).rows() for cell in sweep.cells]
            columns = {key: [[row[key] for row in of_run] for of_run in rows] for key in ("win_rate", "mean_turns")}
            reached = comparison.reached({"steps": [row["steps"] for row in rows[0]], **columns})
            table.append([name, mode, *(comparison.text_of(measure, reached[measure]) for measure in MEASURES)])
            medians = {measure: comparison.finite(value) for measure, value in reached.items()}
            numbers.append({"game": name, "sharing": mode, **medians})
    return Report(numbers, markdown(["game", "sharing", *MEASURES], table))


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
