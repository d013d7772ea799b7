"""The study in numbers: its settings and figures, the curves of its published logs, and ours beside them.

Source of the curves: the files analysis/data/*_{train,eval}_logs.csv of
github.com/noahadhikari/pettingzoo-chinese-checkers, collected in published_curves.json. An evaluation is 30 games of
the sampled policy in seat 0 against five uniformly random players, after every iteration of 4,000 steps.
"""

import functools
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

import jaxgames
from examples.papers._experiment import Column, new_picture
from examples.papers._intervals import Interval, difference, draw_band, exact_p, format_interval, format_p, interval
from jaxgames.policies.policy import reward_scale
from train import plot
from train.driver.tables import markdown
from train.models.policy import Sharing
from train.recipes import PRESETS

PACKAGE = "examples.papers.parameter_sharing"
GAMES_OF_CODE = f"{PACKAGE}.running_sums:running_sums"  # with the rewards of the study's code
MODES: tuple[Sharing, ...] = get_args(Sharing)
ROUNDS = 150  # after which an evaluation is truncated
STEPS_PER_ITERATION = 4_000
GAMES = 30  # of an evaluation
WINDOW = 10  # last evaluations of a run, which the table averages

GAME = f"chinese_checkers(size=2, num_players=6, max_rounds={ROUNDS})"
Preset = Literal["parameter_sharing", "parameter_sharing_code"]  # ours, and the settings of the study's code
OURS: dict[str, Any] = {
    "env": GAME,
    "hidden_sizes": (64, 64),
    "total_steps": 400_000,
    "num_envs": 20,
    "rollout_length": 200,
    "update_epochs": 10,
    "num_minibatches": 16,
    "learning_rate": 3e-4,
    "gae_lambda": 0.8,
    "clip_coef": 0.3,
    "ent_coef": 0.03,
    "temperature": 1.0,
}

MEASURES = ("steps to 0.9", "steps to 0.9 five times", "steps to 1.0", "turns to win")
# From the published logs, in the order of MEASURES. Steps end with the first evaluation that reaches the rate.
# Turns are the logs' mean of the last ten evaluations plus the winning turn; a truncated game counts as 150 in them.
PAPER = {
    "shared": (48_000, 48_000, 52_000, 20.7),
    "shared_encoder": (60_000, 60_000, 76_000, 26.3),
    "independent": (172_000, 200_000, 200_000, 47.2),
}

Floats = NDArray[np.float64]
Curves = Mapping[str, Any]  # steps [iterations]; columns of runs.COLUMNS [seeds][iterations]

# The panels of Figure 2, row by row: column, label, and the published curve that is drawn beside it.
PANELS = (
    ("win_rate", "win rate", "win_rate"),
    ("rounds", f"rounds, {ROUNDS} if truncated", "rounds"),
    ("running_sums", "rewards as the study's code sums them", "reward"),
    ("decided_win_rate", "win rate without truncated games", None),
    ("mean_turns", "turns to win, games won", None),
    ("reward", "sum of rewards", None),
)


class Published(NamedTuple):
    """The curves of one published run, float64[evaluations] each."""

    steps: Floats
    win_rate: Floats
    rounds: Floats  # mean over all games; in some runs submoves of the last seat, see errors of the study
    submoves: Floats  # of all seats, mean over all games
    reward: Floats  # sums of running sums; see running_sums.py


@functools.lru_cache
def published() -> dict[str, Published]:
    """Returns the published runs by name: the modes, "shared, earlier run", "entropy 0.005" and others."""
    content: Any = json.loads((Path(__file__).parent / "published_curves.json").read_text())
    return {
        name: Published(*(np.array(run[column], np.float64) for column in Published._fields))
        for name, run in content["runs"].items()
    }


def settings_of(
    preset: Preset, iterations: int, sharing: Sharing = "shared", env: str | None = None, **values: tuple[Any, ...]
) -> dict[str, tuple[Any, ...]]:
    """Returns a tuple of values for each setting: `values` where they are given, else the one of the preset.

    `env` is the game; None: the preset's, which pays running sums in the settings of the study's code.
    """
    if preset == "parameter_sharing":
        settings = OURS | ({"env": env} if env else {})
    else:
        settings = settings_of_code(sharing, env or f"{GAMES_OF_CODE}(max_rounds=400)")
    settings = settings | {"sharing": sharing, "total_steps": iterations * STEPS_PER_ITERATION}
    return {name: (value,) for name, value in settings.items()} | values


def settings_of_code(sharing: Sharing, env: str) -> dict[str, Any]:
    """Returns the settings of the study's code for a game.

    Different from the preset `parameter_sharing_paper` of `train.ppo` are the rewards, unless `env` has others; the
    networks: with a shared encoder, actor and critic have one encoder with ReLU, in the other two ways one each with
    tanh; and the minibatches, of 128 steps for each network. The value loss is RLlib's: the mean squared error of the
    rewards as they are, clipped at 10.
    """
    scale = reward_scale(jaxgames.make(env))  # PPO divides rewards by their bound, and has half of the squared error
    code: dict[str, Any] = {"env": env, "vf_coef": 2 / scale**2, "vf_clip": 10 * scale**2}
    if sharing != "shared":
        code |= {"num_minibatches": 5}  # of 800 steps, 133 of each of six networks
    if sharing != "shared_encoder":
        code |= {"network": f"{PACKAGE}.separate_encoders:apart", "activation": "tanh"}
    return PRESETS["parameter_sharing_paper"] | code


def measures(curves: Curves) -> dict[str, list[float]]:
    """Returns one number per seed for every entry of MEASURES; infinity where a rate was never reached."""
    steps = curves["steps"]
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for rates, turns in zip(curves["win_rate"], curves["mean_turns"], strict=True):
        high = [rate >= 0.9 for rate in rates]
        in_a_row = [all(high[i : i + 5]) and i + 5 <= len(high) for i in range(len(high))]
        full = [rate >= 1.0 for rate in rates]
        for name, flags in zip(MEASURES, (high, in_a_row, full), strict=False):
            values[name].append(float(steps[flags.index(True)]) if any(flags) else float("inf"))
        won = [turn for turn in turns[-WINDOW:] if turn is not None and np.isfinite(turn)]
        values["turns to win"].append(float(np.mean(won)) if won else float("inf"))
    return values


def reached(curves: Curves) -> dict[str, Interval]:
    """Returns the median over seeds and its 95 % interval for every measure; infinite if never reached."""
    return {name: interval(values) for name, values in measures(curves).items()}


def finite(numbers: Sequence[float]) -> list[float | None]:
    """Returns the numbers for JSON, which has no infinity: None is a rate that was never reached."""
    return [float(number) if np.isfinite(number) else None for number in numbers]


def table(results: Mapping[str, Mapping[str, Curves]]) -> str:
    """Returns the Markdown table: the study's single run beside our medians over seeds, one column per preset."""
    modes = list(dict.fromkeys(mode for of_preset in results.values() for mode in of_preset))
    medians = {preset: {mode: reached(c) for mode, c in of_preset.items()} for preset, of_preset in results.items()}
    rows = [
        [mode, name, f"{theirs:,}", *(text_of(name, ours.get(mode, {}).get(name)) for ours in medians.values())]
        for mode in modes
        for name, theirs in zip(MEASURES, PAPER[mode], strict=True)
    ]
    return markdown(["sharing", "measure", "study", *(f"`{preset}`" for preset in results)], rows)


def text_of(measure: str, value: Interval | None) -> str:
    """Returns the entry of a table; "" for a measure that is not there."""
    form = "{:.2f}" if measure.startswith("rounds") else "{:.1f}" if measure == "turns to win" else "{:,.0f}"
    return "" if value is None else format_interval(value, form)


def differences(results: Mapping[str, Curves]) -> list[dict[str, Any]]:
    """Returns a row per pair of modes and measure: the difference of the medians, its interval, and the p-value."""
    of_mode = {mode: measures(curves) for mode, curves in results.items()}
    return [
        {
            "pair": f"{slower} - {faster}",
            "measure": name,
            "difference": difference(of_mode[slower][name], of_mode[faster][name]),
            "p": exact_p(of_mode[slower][name], of_mode[faster][name]),
        }
        for faster, slower in itertools.combinations(of_mode, 2)
        for name in MEASURES
    ]


DIFFERENCES: dict[str, Column] = {  # the table of `differences`
    "difference of": "{pair}",
    "measure": "{measure}",
    "medians (95 % interval)": lambda row: text_of(row["measure"], row["difference"]),
    "p": lambda row: format_p(row["p"]),
}


def draw(results: Mapping[str, Curves], title: str = "") -> Figure:
    """Returns Figure 2: a panel for each of PANELS, our medians in their ranges, the study's runs dotted."""
    figure, panels = new_picture(12.6, 7.6, down=2, across=3)
    for axes, (column, label, of_study) in zip(panels, PANELS, strict=True):
        for index, (mode, curves) in enumerate(results.items()):
            color = draw_band(axes, curves["steps"], curves[column], index, label=mode)
            if of_study is not None:
                theirs = published()[mode]
                axes.plot(
                    theirs.steps, getattr(theirs, of_study), ":", color=color, linewidth=1.2, label=f"_study, {mode}"
                )
        axes.set(xlabel="environment steps", ylabel=label)
        axes.xaxis.set_major_formatter(plot.text_of_tick)
        axes.set_ylim(bottom=0)
    handles = [Line2D([], [], label=mode, color=plot.style_of(i)["color"]) for i, mode in enumerate(results)]
    handles.append(Line2D([], [], label="the study's run", color="black", linestyle=":"))
    figure.legend(handles=handles, ncols=len(handles), loc="outside lower center", fontsize="small")
    figure.suptitle(title)
    return figure
