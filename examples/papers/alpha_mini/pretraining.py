"""Training with and without a value that was pretrained on labelled positions: the study's Figures 2a and 2b.

    python -m examples.papers.alpha_mini.pretraining --output runs/papers/alpha_mini/pretraining

1. A trained agent plays games against itself, with a random move half of the time. Alpha-beta and an engine, each for
   itself, label their positions with values.
2. `train.imitation` learns the values of each label: the error on training and validation positions by epoch (2b).
3. White learns by PPO against a random player, from random parameters and from each run of 2: mean reward (2a).

With an engine among the labels, the games have standard rules, so that it can value all positions
(docs/interop/uci.md). Alpha-beta searches them under king capture. The value of an engine is multiplied by 60, the
reward for a king.

The study has 12,000 games, over 100,000 positions, values of a shallow Stockfish, and ten epochs of batches of 100. It
shows one run of each kind, here five seeds.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jaxgames
from examples.papers._experiment import Report, new_picture, run_experiment, train, train_all
from examples.papers._intervals import difference, draw_band, format_interval, interval
from examples.papers.alpha_mini import runs
from jaxgames import Env
from train import agents, plot
from train.data import labels, positions
from train.data.positions import Positions
from train.driver.loop import Settings
from train.driver.result_file import ResultFile
from train.driver.tables import markdown
from train.imitation import Imitation
from train.ops.sharding import provide_cores
from train.settings import NETWORK_SETTINGS
from train.sweep import Sweep, sweep_of

RANDOM_START = "random start"
STANDARD = "minichess"  # the game of an engine
ENGINE = "uci("  # with which the texts of engines begin
MEAN_REWARD = "episode_return/seat_0"
ERRORS = ("value_error/train", "value_error/validation")
LAST = 10  # batches that "at the end" averages over
# Of the validation positions before each epoch: epoch_losses.txt of their repository.
THEIR_LOSSES = (163147.8, 34200.5, 32101.2, 17961.1, 15061.4, 13905.0, 12239.9, 10653.0, 9573.0, 9553.8)
QUICK: dict[str, Any] = {
    **{"network": runs.TINY, "labels": ("alphabeta(depth=1)",), "play": "random", "positions": 300, "epochs": 2},
    **{"total_steps": 2_048, "seeds": 2, "games": 50},
}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/alpha_mini/pretraining")
    labels: tuple[str, ...] = ("alphabeta(depth=3)", "uci(depth=3)")
    """The agents whose values label the positions, each for itself."""
    play: str = "baseline(epsilon=0.5)"
    """The agent that plays the games."""
    positions: int = 100_000
    """Different positions; over 100,000 in the study."""
    gamma: float = 0.3
    """The discount factor of PPO; 0.3 is the best of the study's Table 1."""
    epochs: int = 10
    """Passes over the training positions."""
    total_steps: int = 50_000
    """Environment steps of PPO."""
    seeds: int = 5
    """Runs of PPO of each kind."""
    games: int = 1_000
    """Games of each trained policy against a random player."""


def report(arguments: Arguments) -> Report:
    provide_cores(0)  # before the labels are computed, because JAX starts with them
    settings: dict[str, Any] = arguments.settings_of_runs() | {"gamma": arguments.gamma}
    pretrained: dict[str, str] = {}
    losses: dict[str, dict[str, list[float]]] = {}
    for number, text in enumerate(arguments.labels):
        data = label_positions(arguments, settings["env"], number)
        pretrained[text], losses[text] = pretrain(arguments, settings, data, number)
    varied = {name: (value,) for name, value in {**settings, "total_steps": arguments.total_steps}.items()}
    sweep = sweep_of("ppo", varied | {"init_from": (None, *pretrained.values())}, arguments.seeds)
    train_all(sweep, arguments.output / "ppo")
    kinds = {RANDOM_START: None, **pretrained}
    results = {kind: results_of(arguments, sweep, run) for kind, run in kinds.items()}
    text = f"{loss_table(losses)}\n\n{table(results)}"
    figures = {"losses": draw_losses(losses), "mean_reward": draw_rewards(results)}
    return Report({"losses": losses, "measures": {kind: measures(of) for kind, of in results.items()}}, text, figures)


def label_positions(arguments: Arguments, env: str, number: int) -> Path:
    """Returns the file of positions with the values of one of the labels only, written unless it exists.

    Raises ValueError if the file in the folder was labelled in another way, or if the agent has no values.
    """
    text = arguments.labels[number]
    path = arguments.output / f"positions_{number}.npz"
    of_engine = [each.startswith(ENGINE) for each in arguments.labels]
    game = STANDARD if any(of_engine) else env
    key = {"label": text, "game": game, "play": arguments.play, "positions": arguments.positions}
    labelled = ResultFile(arguments.output / "labelled.jsonl", tuple(key))
    if path.exists():
        if labelled.get(key) is None:
            raise ValueError(f"{path} was labelled in another way than {key}: name another folder with --output")
        return path
    boards, with_captures = played(game, arguments.play, arguments.positions), jaxgames.make(env)
    if not of_engine[number]:
        boards = with_king_capture(boards, with_captures)
    boards = labels.labelled(boards, agents.make(text, boards.env), train=90, only_values=True)
    if of_engine[number]:
        boards = with_king_capture(dataclasses.replace(boards, value=runs.KING * boards.value), with_captures)
    arguments.output.mkdir(parents=True, exist_ok=True)
    boards.save(path)
    labelled.add(key, {"found": len(boards)})
    return path


@functools.lru_cache(maxsize=1)
def played(env: str, text: str, count: int) -> Positions:
    """Returns different positions of games between copies of an agent."""
    game = jaxgames.make(env)
    return labels.played_positions(game, agents.make(text, game), count, seed=0)


def with_king_capture(boards: Positions, game: Env[Any]) -> Positions:
    """Returns positions as those of the game with king capture, which counts no repetitions."""
    states = dataclasses.replace(boards.states, history=None, occurred=np.zeros_like(boards.states.occurred))
    return dataclasses.replace(boards, env=game, states=states)


def pretrain(
    arguments: Arguments, settings: Mapping[str, Any], data: Path, number: int
) -> tuple[str, dict[str, list[float]]]:
    """Returns the run that has learned the values, and the root mean squared errors by epoch.

    Element 0 is the error of a constant value, the mean of the training positions.
    """
    loaded = positions.load(data)
    training, validation = loaded.of("train"), loaded.of("validation")
    batch = min(100, len(training))
    given = {name: settings[name] for name in ("env", *NETWORK_SETTINGS) if name in settings}
    config = Imitation.config_for(
        **given,
        data=(str(data),),
        batch_size=batch,
        num_minibatches=len(training) // batch,
        total_steps=arguments.epochs * (len(training) // batch) * batch,
        value_coef=1.0,
    )
    folder = arguments.output / f"values_{number}"
    train(Imitation(Imitation.resolve(config)), folder, Settings(evaluate_every=0, checkpoint_every=1))
    run = agents.open_run(folder)
    mean = training.value.mean()
    constant = [float(np.sqrt(np.square(each.value - mean).mean())) for each in (training, validation)]
    losses = {name: [first, *runs.column(run, name)] for name, first in zip(ERRORS, constant, strict=True)}
    return str(folder), losses


def results_of(arguments: Arguments, sweep: Sweep, start: str | None) -> list[dict[str, Any]]:
    """Returns the curve of the mean reward of each run with a start, and its games against a random player."""
    results: list[dict[str, Any]] = []
    for name, learner in sweep.cells.items():
        config: Any = learner.config
        if config.init_from != start:
            continue
        folder = arguments.output / "ppo" / name
        play = functools.partial(runs.play_random, str(folder), runs.WHITE, arguments.games, config.seed)
        result = arguments.once({"run": name, "num_games": arguments.games}, play)
        steps, reward = (np.array(runs.column(agents.open_run(folder), each)) for each in ("steps", MEAN_REWARD))
        known = np.isfinite(reward)  # in the batches that ended a game
        results.append({"steps": steps[known].tolist(), "reward": reward[known].tolist()} | result)
    return results


def measures(of_kind: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    return {
        "mean reward of all batches": [float(np.mean(run["reward"])) for run in of_kind],
        f"mean reward of the last {LAST} batches": [float(np.mean(run["reward"][-LAST:])) for run in of_kind],
        "steps of the best batch": [run["steps"][int(np.argmax(run["reward"]))] for run in of_kind],
        "win rate after training": [run["won"] / run["games"] for run in of_kind],
    }


def loss_table(losses: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Returns the Markdown table of Figure 2b: squared errors, each divided by the first one, beside the study's."""
    curves = {f"{name.partition('/')[2]}, {label}": of[name] for label, of in losses.items() for name in ERRORS}
    columns = [np.square(curve) / np.square(curve[0]) for curve in curves.values()]
    shares = [*columns, np.array(THEIR_LOSSES) / THEIR_LOSSES[0]]
    rows = [
        (epoch, *(f"{column[epoch]:.3f}" if epoch < len(column) else "" for column in shares))
        for epoch in range(len(columns[0]))
    ]
    return markdown(("epoch", *curves, "the study"), rows)


def table(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Returns the Markdown table of Figure 2a: means over seeds with 95 % intervals, and their differences."""
    of_kinds = {kind: measures(of_kind) for kind, of_kind in results.items()}
    others = [kind for kind in of_kinds if kind != RANDOM_START]
    rows: list[tuple[object, ...]] = []
    for name, without in of_kinds[RANDOM_START].items():
        form = "{:,.0f}" if "steps" in name else "{:.3f}"
        means = [interval(of_kind[name], np.mean) for of_kind in of_kinds.values()]
        changes = [difference(of_kinds[kind][name], without, np.mean) for kind in others]
        rows.append((name, *(format_interval(each, form) for each in (*means, *changes))))
    return markdown(("measure", *of_kinds, *(f"difference, {kind}" for kind in others)), rows)


def draw_losses(losses: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Returns the root mean squared error by epoch (Figure 2b): a panel per label."""
    figure, panels = new_picture(5 * len(losses), 3.6, across=len(losses))
    for axes, (label, of_label) in zip(panels, losses.items(), strict=True):
        for index, (name, of_epochs) in enumerate(of_label.items()):
            axes.plot(of_epochs, "o-", color=plot.style_of(index)["color"], label=name.partition("/")[2])
        axes.set(xlabel="epoch", ylabel="root mean squared error of the value", ylim=(0, None), title=label)
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


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
