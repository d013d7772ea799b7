"""Iterated policy improvement: a new White against the last Black and the reverse; Figures 1, 3 and 4.

    python -m examples.papers.alpha_mini.policy_improvement --output runs/papers/alpha_mini/policy_improvement

    step k      White learns against Black of step k - 1, and Black against White of step k - 1
    epsilon     the opponent plays a random move with probability 0.5
    step 0      random networks

Each step has 25,000 environment steps and begins with the parameters of the last one. After each step, White plays
greedily against a random player (Figure 3). The study finds a best step, 8, and then overfitting to the last opponent.
With opponents "all", one of all earlier policies of the other colour is drawn for every game.

A second table has differences of steps and of batches that are named before: the best of equal steps is as often an
early as a late one.

    OUTPUT/last/seed=0/white_3      a run folder as `train.ppo` writes it, which all other commands take
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from matplotlib.figure import Figure

from examples.papers._experiment import Report, new_picture, progress_over, run_experiment, train
from examples.papers._intervals import draw_band, format_mean
from examples.papers.alpha_mini import runs
from train import agents, plot
from train.driver import compilation
from train.driver.tables import markdown
from train.ppo import PPO, config_for

Ways = Literal["last", "all"]
COLOURS = {"white": runs.WHITE, "black": runs.BLACK}
REWARD, PLIES = "episode_return/seat_0", "episode_length"
FIGURE_4 = {REWARD: "mean reward of White", PLIES: "plies of an episode"}
EPSILON = 0.5  # the probability of a random move of the opponent, as in the study
THEIR_BEST = 8  # the step after which the study sees overfitting
LAST = 5  # batches at the end of a step, which are compared with as many earlier ones
QUICK = {"network": runs.TINY, "ways": ("all",), "steps": 2, "seeds": 1, "steps_of_training": 2_048, "games": 50}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/alpha_mini/policy_improvement")
    ways: tuple[Ways, ...] = get_args(Ways)
    """The opponents of a step: the last policy of the other colour, or all earlier ones."""
    steps: int = 15
    """Steps of policy improvement."""
    seeds: int = 5
    """Repetitions of the whole procedure."""
    steps_of_training: int = 25_000
    """Environment steps of each colour in a step; 25,000 in the study."""
    games: int = 2_000
    """Games of White against a random player after each step; 10,000 in the study."""


def report(arguments: Arguments) -> Report:
    compilation.keep_programs()  # the runs of a colour are one: only the parameters of their opponents differ
    rows: list[dict[str, Any]] = []  # of White after the steps 0 to N, by way and seed
    steps = [*itertools.product(arguments.ways, range(arguments.seeds), range(arguments.steps + 1))]
    for way, seed, step in progress_over(steps, unit="steps"):
        white = train_step(arguments, way, seed, step)
        key = {"way": way, "seed": seed, "step": step, "num_games": arguments.games}
        play = functools.partial(runs.play_random, white, runs.WHITE, arguments.games)
        rows.append(key | arguments.once(key, play))
    shape = len(arguments.ways), arguments.seeds, arguments.steps + 1
    rates = dict(zip(arguments.ways, np.reshape([runs.win_rate(row) for row in rows], shape), strict=True))
    found: dict[str, dict[str, list[float]]] = {way: measures(arguments, way, of_way) for way, of_way in rates.items()}
    text = f"{table(rows)}\n\n{measure_table(found)}"
    figures = {"win_rates": draw_steps(rates), "within_steps": draw_within(arguments)}
    return Report(
        {"win_rates": {way: of_way.tolist() for way, of_way in rates.items()}, "measures": found}, text, figures
    )


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
        settings |= {"opponents": tuple(earlier), "opponent_epsilon": EPSILON, "init_from": last}
    return PPO(config_for(**settings))


def folder_of(arguments: Arguments, way: Ways, seed: int, step: int, colour: str) -> Path:
    return arguments.output / way / f"seed={seed}" / f"{colour}_{step}"


def curves(arguments: Arguments, way: Ways, column: str) -> np.ndarray:
    """Returns float64[seeds, steps, batches], a column of the metrics of White in each step but step 0."""

    def curve(seed: int, step: int) -> list[float]:
        return runs.column(agents.open_run(folder_of(arguments, way, seed, step, "white")), column)

    return np.array([[curve(seed, 1 + step) for step in range(arguments.steps)] for seed in range(arguments.seeds)])


def measures(arguments: Arguments, way: Ways, rates: np.ndarray) -> dict[str, list[float]]:
    """Returns what Figures 3 and 4 show, one number per seed; numbers within a step are means over the steps."""
    reward, plies = (curves(arguments, way, column) for column in (REWARD, PLIES))
    last = min(LAST, reward.shape[2] // 2)

    def gain(values: np.ndarray, begin: int, end: int | None) -> np.ndarray:
        """Returns float64[seeds], the last batches less of those from `begin` to `end`, mean over steps."""
        return np.nanmean(values[..., -last:] - values[..., begin:end], axis=(1, 2))

    found = {"step of the best win rate": 1 + rates[:, 1:].argmax(1)}
    for step in (1, THEIR_BEST):
        if step < arguments.steps:
            found[f"win rate after step {arguments.steps}, less after step {step}"] = rates[:, -1] - rates[:, step]
    rewards, lengths = (f"{name} of the last {last} batches of" for name in ("mean reward", "plies"))
    found["best batch of a step by mean reward"] = np.mean(1 + np.nanargmax(reward, axis=2), axis=1)
    found[f"{rewards} a step, less of the {last} before"] = gain(reward, -2 * last, -last)
    found[f"{rewards} a step, less of the first {last}"] = gain(reward, 0, last)
    found[f"{lengths} step 1, less of the first {last}"] = gain(plies[:, :1], 0, last)
    if arguments.steps > 1:
        found[f"{lengths} later steps, less of the first {last}"] = gain(plies[:, 1:], 0, last)
    return {name: np.round(values, 6).tolist() for name, values in found.items()}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Returns the Markdown table of Figure 3: White after each step by way, means over seeds.

    Win rates have 95 % intervals: over seeds, or, with one seed, over its games.
    """
    lines: dict[int, list[object]] = {row["step"]: [row["step"]] for row in rows}
    ways = list(dict.fromkeys(row["way"] for row in rows))
    for way, step in itertools.product(ways, lines):
        of_step = [row for row in rows if (row["way"], row["step"]) == (way, step)]
        rates = [runs.win_rate(row) for row in of_step]
        rate = runs.format_rate(of_step[0]["won"], of_step[0]["games"]) if len(rates) == 1 else format_mean(rates)
        means = (np.mean([row[name] for row in of_step]) for name in ("mean_reward", "mean_length"))
        lines[step] += [rate, *(f"{mean:.1f}" for mean in means)]
    heads = (f"{name}, {way}" for way in ways for name in ("win rate", "mean reward", "plies"))
    return markdown(("step", *heads), lines.values())


def measure_table(found: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Returns the Markdown table of the measures by way: means over seeds with 95 % intervals."""
    rows: list[tuple[str, ...]] = []
    for name in next(iter(found.values())):
        form = "{:.3f}" if name.startswith("win rate") else "{:.2f}"
        rows.append((name, *(format_mean(of_way[name], form) for of_way in found.values())))
    return markdown(("measure", *found), rows)


def draw_steps(rates: Mapping[Ways, np.ndarray]) -> Figure:
    """Returns White's win rate against a random player after each step: medians and ranges over seeds (Figure 3)."""
    figure, (axes,) = new_picture(5.5, 3.8)
    for index, (way, values) in enumerate(rates.items()):
        draw_band(axes, range(values.shape[1]), values, index, f"opponents: {way}", marker="o")
    axes.axvline(THEIR_BEST, color="grey", linestyle=":", label="the study's best step")
    axes.set(xlabel="step", ylabel="White's win rate against a random player")
    axes.legend()
    return figure


def draw_within(arguments: Arguments) -> Figure:
    """Returns mean reward and length within the steps of White, medians over seeds (Figure 4): a row per way."""
    figure, panels = new_picture(9, 3.2 * len(arguments.ways), down=len(arguments.ways), across=len(FIGURE_4))
    lines = itertools.product(arguments.ways, FIGURE_4.items())
    for axes, (way, (column, label)) in zip(panels, lines, strict=True):
        for step, line in enumerate(np.median(curves(arguments, way, column), axis=0), start=1):
            shade = 0.15 + 0.85 * step / arguments.steps
            name = f"step {step}" if step in (1, 2, arguments.steps) else None
            axes.plot(np.arange(1, len(line) + 1), line, color=plot.COLOURS[0], alpha=shade, label=name)
        axes.set(xlabel="batches of a step", ylabel=label, title=f"opponents: {way}")
        axes.legend()
    return figure


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
