"""Trains every game with its recipe, plays it against random opponents, and measures win rates and time.

    python -m examples.train_all_games --output runs/all_games

Each game is trained with its entry in `train/recipes.py`. Then the trained policy plays 10,000 whole games against
uniformly random opponents. The last output is the table of docs/training/ppo.md and one line of JSON. A run that was
stopped is resumed.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tyro

from train import evaluate
from train.driver import cli, loop, tables
from train.ppo import PPO, config_for


class Task(NamedTuple):
    """A game, and the seat of the trained policy; None: drawn for each game."""

    env: str
    seat: int | None


TASKS = {
    "minichess_king_capture": Task("minichess(rules='king_capture', reward='material')", 0),
    "minichess": Task("minichess", None),
    "dots_and_boxes": Task("dots_and_boxes(rows=3, cols=3)", None),
    "checkers": Task("checkers", None),
    "chinese_checkers_diamond": Task("chinese_checkers_diamond(size=5, pieces=6)", None),
    "chinese_checkers": Task("chinese_checkers(size=2, num_players=6)", None),
}


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("runs/all_games")
    """The folder of the runs, one per game."""
    tasks: tuple[str, ...] = tuple(TASKS)
    """The names of the games to train; all if not given."""
    games: int = 10_000
    """Games that each trained policy plays."""
    seed: int = 0
    total_steps: int | None = None
    """Environment steps of each run; the recipe's if not given."""


def main() -> None:
    """The command `python -m examples.train_all_games`."""
    arguments = tyro.cli(Arguments, prog="python -m examples.train_all_games", description=__doc__)
    unknown = set(arguments.tasks) - set(TASKS)
    if unknown:
        sys.exit(f"examples.train_all_games: tasks must be among {', '.join(TASKS)}, not {', '.join(unknown)}")
    results: dict[str, dict[str, Any]] = {}
    for name in arguments.tasks:
        results[name] = train_and_play(name, arguments)
        loop.log(f"{name}: win rate {results[name]['win_rate']:.4f}")
    print(table(results))
    print(json.dumps(results))


def train_and_play(name: str, arguments: Arguments) -> dict[str, Any]:
    """Returns the results of `train.ppo` and `train.evaluate` for one game."""
    task = TASKS[name]
    changes: dict[str, Any] = {} if arguments.total_steps is None else {"total_steps": arguments.total_steps}
    config = config_for(task.env, seed=arguments.seed, **changes)
    settings = loop.Settings(run_dir=arguments.output / name, resume=True, evaluate_every=20)
    run = cli.create_or_resume(PPO(config), settings)
    trained = loop.run_training(run.learner, run, settings)
    if not trained["finished"]:
        sys.exit(130)
    played = evaluate.evaluate(evaluate.Arguments(agent=str(run.folder), games=arguments.games, seat=task.seat))
    return played | {name: trained[name] for name in ("env", "steps", "seconds")}


def table(results: dict[str, dict[str, Any]]) -> str:
    """Returns the Markdown table, one row per game."""
    lines = [
        (
            f"`{result['env']}`",
            "any" if TASKS[name].seat is None else TASKS[name].seat,
            f"{result['steps']:,}",
            f"{result['seconds']:.0f}",
            f"{result['win_rate']:.4f}",
            f"{result['mean_reward']:.3f}",
        )
        for name, result in results.items()
    ]
    return tables.markdown(("game", "seat", "steps", "seconds", "win rate", "mean reward"), lines)


if __name__ == "__main__":
    main()
