"""The study in numbers: its settings, its figures from the text, and the curves of its published logs.

Source of the curves: the files analysis/data/*_{train,eval}_logs.csv of
github.com/noahadhikari/pettingzoo-chinese-checkers, collected in published_curves.json. An evaluation is 30 games of
the sampled policy in seat 0 against five uniformly random players, after every iteration of 4,000 steps.
"""

import functools
import json
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

import jaxgames
from jaxgames.policies.policy import reward_scale
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
