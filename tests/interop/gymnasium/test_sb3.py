"""MaskablePPO of sb3-contrib learns a game through `SeatEnv`, which finds the legal actions in `action_masks`."""

import importlib
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from jaxgames.interop.gymnasium import SeatEnv, SeatVectorEnv
from tests.helpers.positions import random_actions

pytestmark = pytest.mark.slow
BOXES = "dots_and_boxes(rows=2, cols=2)"
GAMES = 1000


@pytest.fixture(scope="module")
def maskable_ppo() -> Any:
    """The class `MaskablePPO`."""
    reason = 'it is large with PyTorch, so no extra has it; install it with: pip install "sb3-contrib>=2.6"'
    torch = pytest.importorskip("torch", reason=reason)
    torch.set_num_threads(1)  # the networks are small
    return pytest.importorskip("sb3_contrib", reason=reason).MaskablePPO


def win_rate(choose: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    """The share of games that `choose(observations, masks)` wins against random play, in seats drawn at random."""
    envs = SeatVectorEnv(BOXES, GAMES, seat="random", autoreset_mode="NextStep")
    observations, infos = envs.reset(seed=1)
    won = over = np.zeros(GAMES, np.bool_)
    while not over.all():
        actions = choose(observations, infos["action_mask"] > 0)
        observations, rewards, terminations, _, infos = envs.step(actions)
        won = won | ((rewards > 0) & ~over)
        over = over | terminations
    return won.mean()


def test_maskable_ppo_learns_to_beat_random_play(maskable_ppo: Any) -> None:
    rng = np.random.default_rng(0)
    env = gym.make("jaxgames/DotsAndBoxes-v0", seat="random", rows=2, cols=2)
    settings: dict[str, Any] = {
        "n_steps": 512,
        "batch_size": 128,
        "learning_rate": 1e-3,
        "gamma": 1.0,
        "ent_coef": 0.01,
    }
    model = maskable_ppo("MlpPolicy", env, seed=0, device="cpu", **settings)

    def greedy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return model.predict(observations, action_masks=masks, deterministic=True)[0]

    assert win_rate(lambda _, masks: random_actions(rng, masks)) < 0.45
    assert win_rate(greedy) < 0.52
    model.learn(16_384)
    assert win_rate(greedy) > 0.58


def test_action_masker_and_vec_env_find_the_masks(maskable_ppo: Any) -> None:
    masks: Any = importlib.import_module("sb3_contrib.common.maskable.utils")
    wrappers: Any = importlib.import_module("sb3_contrib.common.wrappers")
    checker: Any = importlib.import_module("stable_baselines3.common.env_checker")
    vec_envs: Any = importlib.import_module("stable_baselines3.common.vec_env")

    with pytest.warns(UserWarning, match="image"):  # a board has three axes too
        checker.check_env(SeatEnv(BOXES))

    def masks_of(env: Any) -> Any:
        return env.action_masks()

    masker = wrappers.ActionMasker(SeatEnv(BOXES), masks_of)
    vec_env = vec_envs.DummyVecEnv([lambda: masker, lambda: SeatEnv(BOXES, seat=1)])
    vec_env.reset()
    assert masks.is_masking_supported(vec_env)
    assert masks.get_action_masks(vec_env).sum(-1).tolist() == [12, 11]  # one edge is drawn on the second board
    maskable_ppo("MlpPolicy", vec_env, n_steps=32, batch_size=32, seed=0, device="cpu").learn(64)
