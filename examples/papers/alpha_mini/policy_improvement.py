"""Iterated policy improvement: a new White against the last Black and the reverse; Figures 1, 3 and 4.

    python -m examples.papers.alpha_mini.policy_improvement --output runs/papers/alpha_mini/policy_improvement

    step k      White learns against Black of step k - 1, and Black against White of step k - 1
    epsilon     the opponent plays a random move with probability 0.5
    step 0      random networks

Each step has 25,000 environment steps and begins with the parameters of the last one. After each step, White plays
greedily against a random player (Figure 3). The study finds a best step, 8, and then overfitting to the last opponent.
With opponents "all", one of all earlier policies of the other colour is drawn for every game.

    OUTPUT/last/seed=0/white_3      a run folder as `train.ppo` writes it, which all other commands take

A stopped command continues; finished steps are not computed again.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import jax
import numpy as np
from matplotlib.figure import Figure

from examples.papers._experiment import Report, command, new_picture, train
from examples.papers._intervals import draw_band
from examples.papers.alpha_mini import games, runs
from jaxgames._progress import progress_over
from train import agents, plot
from train.driver.tables import markdown
from train.ppo import PPO, config_for

Ways = Literal["last", "all"]
COLOURS = {"white": runs.WHITE, "black": runs.BLACK}
FIGURE_4 = {"episode_return/seat_0": "mean reward of White", "episode_length": "plies of an episode"}
QUICK: dict[str, Any] = {"network": "mlp(hidden_sizes=[8])", "steps": 2, "steps_of_training": 2_048, "games": 50}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/alpha_mini/policy_improvement")
    ways: tuple[Ways, ...] = get_args(Ways)
    """The opponents of a step: the last policy of the other colour, or all earlier ones."""
    steps: int = 10
    """Steps of policy improvement."""
    seeds: int = 1
    """Repetitions of the whole procedure."""
    steps_of_training: int = 25_000
    """Environment steps of each colour in a step; 25,000 in the study."""
    epsilon: float = 0.5
    """The probability of a random move of the opponent; 0.5 in the study."""
    games: int = 2_000
    """Games of White against a random player after each step; 10,000 in the study."""


def report(arguments: Arguments) -> Report:
    """Trains both colours in all steps, and evaluates White after each step."""
    # The runs of a colour are one program; only the parameters of their opponents differ.
    arguments.output.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(arguments.output.resolve() / "compiled"))
    results = improve_all(arguments)
    rows = {way: {str(seed): of_seed for seed, of_seed in of_way.items()} for way, of_way in results.items()}
    return Report(rows, table(results), {"win_rates": draw_steps(results), "within_steps": draw_within(arguments)})


# -- training --------------------------------------------------------------------------------------------------------


def improve_all(arguments: Arguments) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """Returns the results of White after the steps 0 to N, by way and seed; computes those that are missing."""
    results: dict[str, dict[int, list[dict[str, Any]]]] = {}
    steps = [*itertools.product(arguments.ways, range(arguments.seeds), range(arguments.steps + 1))]
    for way, seed, step in progress_over(steps, unit="steps"):
        white = train_step(arguments, way, seed, step)
        key = {"way": way, "seed": seed, "step": step, "num_games": arguments.games}
        play = functools.partial(games.play_random, white, runs.WHITE, arguments.games)
        results.setdefault(way, {}).setdefault(seed, []).append(arguments.once(key, play))
    return results


def train_step(arguments: Arguments, way: Ways, seed: int, step: int) -> str:
    """Returns the text of White's agent after a step, for which both colours are trained."""
    for colour in COLOURS:
        learner = learner_of(arguments, way, seed, step, colour)
        folder = folder_of(arguments, way, seed, step, colour)
        if step == 0:
            runs.store_untrained(learner, folder)
        else:
            train(learner, folder)
    return str(folder_of(arguments, way, seed, step, "white"))


def learner_of(arguments: Arguments, way: Ways, seed: int, step: int, colour: str) -> PPO:
    """Returns the learner of a colour in a step."""
    [other] = COLOURS.keys() - {colour}
    settings = arguments.settings_of_runs()
    settings |= {"total_steps": arguments.steps_of_training, "learn_seats": (COLOURS[colour],)}
    settings |= {"seed": 1000 * seed + 2 * step + COLOURS[colour]}
    if step > 0:
        first = 0 if way == "all" else step - 1
        earlier = [str(folder_of(arguments, way, seed, each, other)) for each in range(first, step)]
        last = str(folder_of(arguments, way, seed, step - 1, colour))
        settings |= {"opponents": tuple(earlier), "opponent_epsilon": arguments.epsilon, "init_from": last}
    return PPO(config_for(**settings))


def folder_of(arguments: Arguments, way: Ways, seed: int, step: int, colour: str) -> Path:
    return arguments.output / way / f"seed={seed}" / f"{colour}_{step}"


# -- tables and pictures ---------------------------------------------------------------------------------------------


def table(results: Mapping[str, Mapping[int, Sequence[dict[str, Any]]]]) -> str:
    """Returns the Markdown table: White's win rate after each step by way, the median over seeds and their range."""
    rows: list[tuple[object, ...]] = []
    count = len(next(iter(next(iter(results.values())).values())))
    for step in range(count):
        row: list[object] = [step]
        for of_way in results.values():
            of_step = [of_seed[step] for of_seed in of_way.values()]
            if len(of_step) == 1:
                row.append(games.format_rate(of_step[0]["won"], of_step[0]["games"]))
            else:
                row.append(games.format_range([games.win_rate(each) for each in of_step]))
        rows.append(tuple(row))
    return markdown(("step", *(f"against {way}" for way in results)), rows)


def draw_steps(results: Mapping[str, Mapping[int, Sequence[dict[str, Any]]]]) -> Figure:
    """Returns White's win rate against a random player after each step: medians and ranges over seeds (Figure 3)."""
    figure, (axes,) = new_picture(5.5, 3.8)
    for index, (way, of_way) in enumerate(results.items()):
        values = [[games.win_rate(each) for each in of_seed] for of_seed in of_way.values()]
        draw_band(axes, range(len(values[0])), values, index, f"opponents: {way}", marker="o")
    axes.axvline(8, color="grey", linestyle=":", label="the study's best step")
    axes.set(xlabel="step", ylabel="White's win rate against a random player")
    axes.legend()
    return figure


def draw_within(arguments: Arguments) -> Figure:
    """Returns mean reward and mean length within the steps of White, seed 0 (Figure 4): a row per way."""
    figure, panels = new_picture(9, 3.2 * len(arguments.ways), down=len(arguments.ways), across=len(FIGURE_4))
    lines = itertools.product(arguments.ways, FIGURE_4.items())
    for axes, (way, (column, label)) in zip(panels, lines, strict=True):
        for step in range(1, arguments.steps + 1):
            run = agents.open_run(folder_of(arguments, way, 0, step, "white"))
            shade = 0.15 + 0.85 * step / arguments.steps
            line = runs.column(run, column)
            name = f"step {step}" if step in (1, 2, arguments.steps) else None
            axes.plot(np.arange(1, len(line) + 1), line, color=plot.COLOURS[0], alpha=shade, label=name)
        axes.set(xlabel="batches of a step", ylabel=label, title=f"opponents: {way}")
        axes.legend()
    return figure


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
