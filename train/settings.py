"""Functions for the settings of all learners: checks of values, and defaults by game or preset."""

from collections.abc import Mapping, Sequence
from typing import Any

import jaxgames
from jaxgames import Env

MAX_SEED = 2**31 - 2  # JAX drops higher bits than 32; the next number is the seed of evaluations
ADDED = {"added": True}  # metadata of a setting that older runs do not have; they were trained with its default
NETWORK_SETTINGS = ("network", "channels", "hidden_sizes", "activation")


def check_positive(config: Any, names: Sequence[str]) -> None:
    """Raises ValueError unless the settings with these names are above 0, and fit into 64 bits."""
    for name in names:
        if not getattr(config, name) > 0:
            raise ValueError(f"{name} must be positive, not {getattr(config, name)}")
        if not getattr(config, name) < 2**63:
            raise ValueError(f"{name} must be less than 2**63, not {getattr(config, name)}")


def check_not_negative(config: Any, names: Sequence[str]) -> None:
    """Raises ValueError unless the settings with these names are 0 or more."""
    for name in names:
        if not getattr(config, name) >= 0:
            raise ValueError(f"{name} must be 0 or more, not {getattr(config, name)}")


def check_at_most(config: Any, limits: Mapping[str, float]) -> None:
    """Raises ValueError unless each setting is from 0 to its limit."""
    for name, highest in limits.items():
        if not 0 <= getattr(config, name) <= highest:
            raise ValueError(f"{name} must be from 0 to {highest}, not {getattr(config, name)}")


def check_widths(config: Any, names: Sequence[str]) -> None:
    """Raises ValueError unless the settings with these names hold positive numbers."""
    for name in names:
        if any(width < 1 for width in getattr(config, name)):
            raise ValueError(f"{name} must be positive numbers, not {getattr(config, name)}")


def check_same_game(setting: str, first: Env[Any], other: Env[Any], name: str) -> None:
    """Raises ValueError unless a further board is one of the same game, where a return has the same meaning.

    Their returns can differ by a factor: with reward=margin, a value is a share of the boxes of its board.

    Args:
      setting: that names the further board.
      first: the game of `env`.
      other: the further board.
      name: of the further board in the message.
    """
    for field in ("id", "num_players", "reward"):
        ours, theirs = (getattr(env, field, None) for env in (first, other))
        if ours != theirs:
            raise ValueError(f"{setting} must have the {field} of env, {ours}: it is {theirs} in {name}")


def default_settings(
    env: str,
    preset: str | None,
    recipes: Mapping[str, Mapping[str, Any]],
    presets: Mapping[str, Mapping[str, Any]],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the settings of a preset or of a game's recipe, changed by those that are given.

    With another `network`, the network settings of the recipe or preset are left out.

    Args:
      env: the game, which has no effect if there is a preset.
      preset: a name in `presets`; None for the recipe of the game.
      recipes: settings by the id of a game.
      presets: settings by the name of a preset.
      given: settings that replace those.

    Raises ValueError for an unknown game, parameter or preset.
    """
    if preset is None:
        settings = {"env": env} | dict(recipes.get(jaxgames.make(env).id, {}))
    elif preset in presets:
        settings = dict(presets[preset])
    else:
        raise ValueError(f"unknown preset {preset!r}; the presets are {', '.join(presets)}")
    if given.get("network") is not None:
        settings = {name: value for name, value in settings.items() if name not in NETWORK_SETTINGS}
    return settings | dict(given)
