"""Training with and without a value that was pretrained on labelled positions: the study's Figures 2a and 2b.

    python -m examples.papers.alpha_mini.pretraining --output runs/papers/alpha_mini/pretraining

1. Games between random players give positions; alpha-beta labels them with values.
2. `train.imitation` learns these values only: the error on training and validation positions by epoch (Figure 2b).
3. White learns by PPO against a random player, from random parameters and from the run of 2: mean reward (Figure 2a).

The study has 12,000 games, over 100,000 positions, values of a shallow Stockfish, and ten epochs of batches of 100. It
shows one run of each kind, here five seeds. A stopped command continues; finished parts are not computed again.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jaxgames
from examples.papers._experiment import Report, command, new_picture, train, train_all
from examples.papers._intervals import difference, draw_band, format_interval, interval
from examples.papers.alpha_mini import games, runs
from jaxgames._progress import progress_bar
from train import agents, plot
from train.data import labels, positions
from train.driver.loop import Settings
from train.driver.result_file import ResultFile
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown
from train.imitation import Imitation
from train.imitation import config as imitation_config
from train.settings import NETWORK_SETTINGS
from train.sweep import Sweep, sweep_of

KINDS = ("random start", "pretrained")
MEAN_REWARD = "episode_return/seat_0"
ERRORS = ("value_error/train", "value_error/validation")
LAST = 10  # batches that "at the end" averages over
# Of the validation positions before each epoch: epoch_losses.txt of their repository.
THEIR_LOSSES = (163147.8, 34200.5, 32101.2, 17961.1, 15061.4, 13905.0, 12239.9, 10653.0, 9573.0, 9553.8)
QUICK: dict[str, Any] = {
    "network": "mlp(hidden_sizes=[8])",
    "label": "alphabeta(depth=1)",
    "positions": 300,
    "epochs": 2,
    "total_steps": 2_048,
    "seeds": 2,
    "games": 50,
}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/alpha_mini/pretraining")
    label: str = "alphabeta(depth=3)"
    """The agent whose values label the positions."""
    play: str = "random"
    """The agent that plays the games."""
    positions: int = 20_000
    """Different positions; over 100,000 in the study."""
    epochs: int = 10
    """Passes over the training positions."""
    total_steps: int = 50_000
    """Environment steps of PPO."""
    seeds: int = 5
    """Runs of PPO of each kind."""
    games: int = 1_000
    """Games of each trained policy against a random player."""


def report(arguments: Arguments) -> Report:
    """Labels positions, learns their values, and trains with and without these values."""
    settings = arguments.settings_of_runs()
    data = label_positions(arguments, settings["env"])
    pretrained, losses = pretrain(arguments, settings, data)
    varied = runs.singles({**settings, "total_steps": arguments.total_steps})
    sweep = sweep_of("ppo", varied | {"init_from": (None, pretrained)}, arguments.seeds)
    train_all(sweep, arguments.output / "ppo")
    results = {kind: results_of(arguments, sweep, kind) for kind in KINDS}
    text = f"{loss_table(losses)}\n\n{table(results)}"
    figures = {"losses": draw_losses(losses), "mean_reward": draw_rewards(results)}
    return Report({"losses": losses, "results": results}, text, figures)


# -- positions and values ------------------------------------------------------------------------------------------


def label_positions(arguments: Arguments, env: str) -> Path:
    """Returns the file of positions with values only, written unless it exists.

    Raises ValueError if the file in the folder was labelled in another way, or if the agent has no values.
    """
    path = arguments.output / "positions.npz"
    key = {"label": arguments.label, "play": arguments.play, "positions": arguments.positions}
    labelled = ResultFile(arguments.output / "labelled.jsonl", tuple(key))
    if path.exists():
        if labelled.get(key) is None:
            raise ValueError(f"{path} was labelled in another way than {key}: name another folder with --output")
        return path
    game = jaxgames.make(env)
    player, judge = (agents.make(text, game) for text in (arguments.play, arguments.label))
    with progress_bar(total=arguments.positions, title="playing", unit="positions") as bar:
        boards = labels.played_positions(game, player, arguments.positions, seed=0, on_found=bar.update)
    with progress_bar(total=len(boards), title="labelling", unit="positions") as bar:
        boards = labels.labelled(boards, judge, train=90, on_labelled=bar.update, only_values=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    boards.save(path)
    labelled.add(key, {"found": len(boards)})
    return path


def pretrain(arguments: Arguments, settings: Mapping[str, Any], data: Path) -> tuple[str, dict[str, list[float]]]:
    """Returns the run that has learned the values, and the root mean squared errors by epoch.

    Element 0 is the error of a constant value, the mean of the training positions.
    """
    loaded = positions.load(data)
    training, validation = loaded.of("train"), loaded.of("validation")
    batch = min(100, len(training))
    given = {name: settings[name] for name in ("env", *NETWORK_SETTINGS) if name in settings}
    config = imitation_config.config_for(
        **given,
        data=str(data),
        batch_size=batch,
        num_minibatches=len(training) // batch,
        total_steps=arguments.epochs * (len(training) // batch) * batch,
        value_coef=1.0,
    )
    folder = arguments.output / "values"
    train(Imitation(config), folder, Settings(evaluate_every=0, checkpoint_every=1))
    run = agents.open_run(folder)
    mean = training.value.mean()
    constant = [float(np.sqrt(np.square(each.value - mean).mean())) for each in (training, validation)]
    losses = {name: [first, *runs.column(run, name)] for name, first in zip(ERRORS, constant, strict=True)}
    return str(folder), losses


# -- training with and without -------------------------------------------------------------------------------------


def results_of(arguments: Arguments, sweep: Sweep, kind: str) -> list[dict[str, Any]]:
    """Returns the curve of the mean reward of each run of a kind, and its games against a random player."""
    results: list[dict[str, Any]] = []
    for name, learner in sweep.cells.items():
        config: Any = learner.config
        if (config.init_from is not None) != (kind == "pretrained"):
            continue
        folder = arguments.output / "ppo" / name
        play = functools.partial(games.play_random, str(folder), runs.WHITE, arguments.games, config.seed)
        result = arguments.once({"run": name, "num_games": arguments.games}, play)
        results.append(curve_of(agents.open_run(folder)) | result)
    return results


def curve_of(run: RunFolder) -> dict[str, list[float]]:
    """Returns the steps and the mean reward of White in the batches that ended a game."""
    steps, reward = (np.array(runs.column(run, name)) for name in ("steps", MEAN_REWARD))
    known = np.isfinite(reward)
    return {"steps": steps[known].tolist(), "reward": reward[known].tolist()}


def measures(of_kind: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    return {
        "mean reward of all batches": [float(np.mean(run["reward"])) for run in of_kind],
        f"mean reward of the last {LAST} batches": [float(np.mean(run["reward"][-LAST:])) for run in of_kind],
        "steps of the best batch": [run["steps"][int(np.argmax(run["reward"]))] for run in of_kind],
        "win rate after training": [run["won"] / run["games"] for run in of_kind],
    }


# -- tables and pictures -------------------------------------------------------------------------------------------


def loss_table(losses: Mapping[str, Sequence[float]]) -> str:
    """Returns the Markdown table of Figure 2b: squared errors, each divided by the first one, beside the study's."""
    training, validation = (np.square(losses[name]) for name in ERRORS)
    rows: list[tuple[object, ...]] = []
    for epoch, (of_training, of_validation) in enumerate(zip(training, validation, strict=True)):
        theirs = f"{THEIR_LOSSES[epoch] / THEIR_LOSSES[0]:.3f}" if epoch < len(THEIR_LOSSES) else ""
        ours = (of_training / training[0], of_validation / validation[0])
        rows.append((epoch, *(f"{share:.3f}" for share in ours), f"{np.sqrt(of_validation):.2f}", theirs))
    return markdown(("epoch", "training", "validation", "root of the validation error", "the study"), rows)


def table(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Returns the Markdown table of Figure 2a: means over seeds with 95 % intervals, and their difference."""
    without, pretrained = (measures(results[kind]) for kind in KINDS)
    rows: list[tuple[object, ...]] = []
    for name, of_without in without.items():
        form = "{:,.0f}" if "steps" in name else "{:.3f}"
        means = (interval(of_without, np.mean), interval(pretrained[name], np.mean))
        change = difference(pretrained[name], of_without, np.mean)
        rows.append((name, *(format_interval(each, form) for each in (*means, change))))
    return markdown(("measure", *KINDS, "difference"), rows)


def draw_losses(losses: Mapping[str, Sequence[float]]) -> Figure:
    """Returns the root mean squared error by epoch (Figure 2b)."""
    figure, (axes,) = new_picture(5, 3.6)
    for index, (name, of_epochs) in enumerate(losses.items()):
        axes.plot(of_epochs, "o-", color=plot.style_of(index)["color"], label=name.partition("/")[2])
    axes.set(xlabel="epoch", ylabel="root mean squared error of the value", ylim=(0, None))
    axes.legend()
    return figure


def draw_rewards(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Returns the mean reward by steps: medians and ranges over seeds (Figure 2a)."""
    figure, (axes,) = new_picture(5.5, 3.6)
    for index, (kind, of_kind) in enumerate(results.items()):
        steps = max((run["steps"] for run in of_kind), key=len)
        values = np.array([np.interp(steps, run["steps"], run["reward"]) for run in of_kind])
        draw_band(axes, steps, values, index, kind)
    axes.set(xlabel="environment steps", ylabel="mean reward of White")
    axes.legend()
    return figure


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
