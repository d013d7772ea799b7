"""Compares three ways of sharing parameters between six seats, as Adhikari & Gu 2024 (arXiv:2405.18733) do.

    python -m examples.papers.parameter_sharing --output runs/parameter_sharing

As in the paper, the game is Chinese Checkers with N = 2 and six players. PPO learns by self-play, with 100 iterations
of 4,000 environment steps. The encoder is 64-64 with a policy and a value head. After every iteration, the sampled
policy plays 30 games in seat 0 against five uniformly random opponents, truncated after 150 rounds. Unlike in
the paper, there are five seeds (one `jax.vmap`), and tanh instead of ReLU. docs/papers/parameter_sharing.md lists all
differences.
"""

import functools
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import matplotlib as mpl
import numpy as np
import tyro
from matplotlib.figure import Figure
from tqdm import tqdm

import jaxgames
from jaxgames import arena
from jaxgames.agents import RandomAgent
from train.models.policy import Sharing
from train.models.policy_agent import PolicyAgent
from train.ppo import PPO, Config

mpl.use("Agg")

MODES: tuple[Sharing, ...] = ("shared", "shared_encoder", "independent")
MEASURES = ("steps to 0.9", "steps to 0.9 five times", "steps to 1.0", "turns to win")
# From the published logs, in the order of MEASURES. Steps are those of the first evaluation that reaches the rate.
# Turns are the logs' mean of the last ten evaluations plus the winning turn; a truncated game counts as 150 in them.
PAPER = {
    "shared": (48_000, 48_000, 52_000, 20.7),
    "shared_encoder": (60_000, 60_000, 76_000, 26.3),
    "independent": (172_000, 200_000, 200_000, 47.2),
}
EVALUATION_ENV = "chinese_checkers(size=2, num_players=6, max_rounds=150)"


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("runs/parameter_sharing")
    """The folder for results.json and the picture."""
    modes: tuple[Sharing, ...] = MODES
    seeds: int = 5
    games: int = 30
    """Games of an evaluation; 30 in the paper."""
    iterations: int = 100
    ent_coef: float = 0.03
    learning_rate: float = 3e-4
    update_epochs: int = 10


def main() -> None:
    """The command `python -m examples.papers.parameter_sharing`."""
    arguments = tyro.cli(Arguments, prog="python -m examples.papers.parameter_sharing", description=__doc__)
    arguments.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for mode in arguments.modes:
        results[mode] = train(mode, arguments)
        (arguments.output / "results.json").write_text(json.dumps(results) + "\n")  # a stop loses one mode at most
    print(table(results))
    draw(results, arguments.output / "parameter_sharing.png")
    print(json.dumps({mode: {name: finite(reached(r)[name]) for name in MEASURES} for mode, r in results.items()}))


def config_of(mode: Sharing, arguments: Arguments) -> Config:
    """Returns the settings of the paper, with those that can be changed on the command line."""
    return Config(
        env="chinese_checkers(size=2, num_players=6)",
        sharing=mode,
        total_steps=4000 * arguments.iterations,
        num_envs=20,
        rollout_length=200,
        update_epochs=arguments.update_epochs,
        num_minibatches=16,
        learning_rate=arguments.learning_rate,
        ent_coef=arguments.ent_coef,
        gae_lambda=0.8,
        clip_coef=0.3,
        hidden_sizes=(64, 64),
    )


def train(mode: Sharing, arguments: Arguments) -> dict[str, Any]:
    """Trains all seeds of a mode; returns steps [iterations], win_rate and mean_turns [seeds][iterations], seconds."""
    config = config_of(mode, arguments)
    learner, env = PPO(config), jaxgames.make(EVALUATION_ENV)

    @functools.partial(jax.jit, donate_argnums=0)
    @jax.vmap
    def iterate(train_state: Any) -> Any:
        train_state, _ = learner.iterate(train_state)
        key, evaluation_key = jax.random.split(train_state.key)
        agent = PolicyAgent(train_state.params, env, learner.policy)
        results = arena.evaluate(env, agent, RandomAgent(env), evaluation_key, arguments.games, seat=0)
        return train_state._replace(key=key), results

    start = time.monotonic()
    train_states = jax.jit(jax.vmap(learner.init))(jax.random.split(jax.random.key(0), arguments.seeds))
    print(f"{mode}: {arguments.seeds} seeds at once; compiling ...", file=sys.stderr, flush=True)
    rows: list[dict[str, Any]] = []
    with tqdm(total=arguments.iterations, unit=" iterations", disable=None) as bar:
        for iteration in range(1, arguments.iterations + 1):
            train_states, evaluation = iterate(train_states)
            rows.append(jax.device_get(evaluation))
            bar.update()
            if iteration % 10 == 0:
                rates = " ".join(f"{rate:.2f}" for rate in rows[-1]["win_rate"])
                turns = " ".join(f"{turn:.1f}" for turn in rows[-1]["mean_turns"])
                spent = time.monotonic() - start
                bar.write(
                    f"{4000 * iteration:>9,} steps  win rates {rates}  turns {turns}  {spent:.0f} s", file=sys.stderr
                )
    return {
        "steps": [config.steps_per_iteration * (i + 1) for i in range(arguments.iterations)],
        "win_rate": np.array([row["win_rate"] for row in rows]).T.round(4).tolist(),
        "mean_turns": [
            [None if np.isnan(turns) else round(float(turns), 3) for turns in seed]
            for seed in np.array([row["mean_turns"] for row in rows]).T
        ],
        "seconds": round(time.monotonic() - start, 1),
    }


def reached(result: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Returns the median, the lowest and the highest value over seeds of every measure; infinite if never reached."""
    steps = result["steps"]
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for rates, turns in zip(result["win_rate"], result["mean_turns"], strict=True):
        high = [rate >= 0.9 for rate in rates]
        in_a_row = [all(high[i : i + 5]) and i + 5 <= len(high) for i in range(len(high))]
        full = [rate >= 1.0 for rate in rates]
        for name, flags in zip(MEASURES, (high, in_a_row, full), strict=False):
            values[name].append(float(steps[flags.index(True)]) if any(flags) else float("inf"))
        won = [turn for turn in turns[-10:] if turn is not None]
        values["turns to win"].append(float(np.mean(won)) if won else float("inf"))
    return {name: (float(np.median(v)), min(v), max(v)) for name, v in values.items()}


def finite(numbers: tuple[float, ...]) -> list[float | None]:
    """Returns the numbers for JSON, which has no infinity: None stands for a rate that was never reached."""
    return [number if np.isfinite(number) else None for number in numbers]


def table(results: dict[str, Any]) -> str:
    """Returns the Markdown table: our median and range over seeds beside the paper's single run."""
    lines = ["| sharing | measure | ours, median (range) | paper |", "|---|---|---|---|"]
    for mode, result in results.items():
        for name, theirs in zip(MEASURES, PAPER[mode], strict=True):
            ours, low, high = reached(result)[name]
            form = "{:.1f} ({:.1f}-{:.1f})" if name == "turns to win" else "{:,.0f} ({:,.0f}-{:,.0f})"
            lines.append(f"| {mode} | {name} | {form.format(ours, low, high)} | {theirs:,} |")
    return "\n".join(lines)


def draw(results: dict[str, Any], path: Path) -> None:
    """Draws win rate and turns to win by steps: medians as lines, ranges shaded, the paper's figures dotted."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, (mode, result) in enumerate(results.items()):
        colour, steps = f"C{number}", np.array(result["steps"]) / 1000
        for axes, name in ((left, "win_rate"), (right, "mean_turns")):
            seeds = np.array(result[name], dtype=float)
            shown = ~np.isnan(seeds).any(0)
            axes.plot(steps[shown], np.median(seeds[:, shown], axis=0), color=colour, label=mode)
            axes.fill_between(
                steps[shown], seeds[:, shown].min(0), seeds[:, shown].max(0), color=colour, alpha=0.2, lw=0
            )
        left.axvline(PAPER[mode][0] / 1000, color=colour, linestyle=":")
        right.axhline(PAPER[mode][3], color=colour, linestyle=":")
    left.set(xlabel="thousand environment steps", ylabel="win rate", title="dotted: the paper's steps to 0.9")
    right.set(
        xlabel="thousand environment steps",
        ylabel="turns to win",
        ylim=(0, 120),
        title="dotted: the paper's last ten evaluations",
    )
    for axes in (left, right):
        axes.grid(alpha=0.3)
    right.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
