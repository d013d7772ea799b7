"""A program for an environment with sb3-contrib: MaskablePPO finds the masks of `SeatEnv` behind its own wrappers."""

# sb3-contrib needs PyTorch, which is in no extra
# pyright: reportMissingImports=false

import warnings
from typing import Any

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv

from jaxgames.interop.gymnasium import SeatEnv

BOXES = "dots_and_boxes(rows=2, cols=2)"


def masks_of(env: Any) -> Any:
    return env.action_masks()


def main() -> None:
    """Runs the checks; an AssertionError names the one that failed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(SeatEnv(BOXES))
    assert any("image" in str(each.message) for each in caught), "a board has three axes, as an image has"

    masker = ActionMasker(SeatEnv(BOXES), masks_of)
    vec_env = DummyVecEnv([lambda: masker, lambda: SeatEnv(BOXES, seat=1)])
    vec_env.reset()
    assert is_masking_supported(vec_env)
    assert get_action_masks(vec_env).sum(-1).tolist() == [12, 11]  # one edge is drawn on the second board
    MaskablePPO("MlpPolicy", vec_env, n_steps=32, batch_size=32, seed=0, device="cpu").learn(64)


if __name__ == "__main__":
    main()
