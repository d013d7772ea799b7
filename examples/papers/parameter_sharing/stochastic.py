"""Section 4.3 expects full sharing "to still perform well in stochastic homogenous environments": a star with chance.

    python -m examples.papers.parameter_sharing.stochastic --output runs/papers/parameter_sharing/stochastic

In the game `chance_moves` a submove is replaced by a random legal one with a probability. The policy in seat 0 plays
against random players, as in Figure 2, in the game that it was trained on. All runs are one sweep.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.papers import _experiment
from examples.papers._experiment import Report, command
from examples.papers.parameter_sharing import comparison, runs
from examples.papers.parameter_sharing.published import MEASURES, MODES, ROUNDS, Preset, settings_of
from train import agents
from train.driver.loop import Settings
from train.driver.tables import markdown
from train.models.policy import Sharing
from train.sweep import sweep_of

GAME = "examples.papers.parameter_sharing.chance_moves:chance_moves(max_rounds={}, chance={})"
QUICK: dict[str, Any] = {"chances": (0.25,), "modes": ("shared",), "seeds": 2, "iterations": 2, "games": 2}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/parameter_sharing/stochastic")
    preset: Preset = "parameter_sharing"
    """The settings of training."""
    chances: tuple[float, ...] = (0.0, 0.25)
    """Probabilities that a submove is replaced."""
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""


def report(arguments: Arguments) -> Report:
    """Trains the runs of each probability and way of sharing."""
    games = {chance: GAME.format(ROUNDS, chance) for chance in arguments.chances}
    settings = settings_of(arguments.preset, arguments.iterations, env=(*games.values(),), sharing=arguments.modes)
    sweep, folder = sweep_of("ppo", settings, arguments.seeds), arguments.output / arguments.preset
    evaluated = Settings(checkpoint_every=25, evaluate_every=1, evaluation_games=arguments.games, evaluation_seat=0)
    _experiment.train_all(sweep, folder, evaluated)
    trained = [agents.open_run(folder / name) for name in sweep.cells]
    table: list[list[object]] = []
    numbers: list[dict[str, Any]] = []
    for chance, game in games.items():
        for mode in arguments.modes:
            of_mode = (run for run in trained if (run.config.env, run.config.sharing) == (game, mode))
            rows = [run.rows() for run in of_mode]
            columns = {name: [[row[name] for row in of_run] for of_run in rows] for name in ("win_rate", "mean_turns")}
            reached = comparison.reached({"steps": [row["steps"] for row in rows[0]], **columns})
            table.append([chance, mode, *(comparison.text_of(name, reached[name]) for name in MEASURES)])
            medians = {name: comparison.finite(value) for name, value in reached.items()}
            numbers.append({"chance": chance, "sharing": mode, **medians})
    return Report(numbers, markdown(["chance", "sharing", *MEASURES], table))


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
