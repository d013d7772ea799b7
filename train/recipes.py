"""The recipes of games and the presets of the learners, from `recipes.toml`."""

import tomllib
from pathlib import Path
from typing import Any

TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def settings_of(table: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings of a table: those of the common table that it names as `like`, changed by its own."""
    common = TABLES["common"][table["like"]] if "like" in table else {}
    settings = {name: value for name, value in {**common, **table}.items() if name != "like"}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


RECIPES, PRESETS, ALPHAZERO, ALPHAZERO_PRESETS, IMITATION, IMITATION_PRESETS = (
    {name: settings_of(table) for name, table in TABLES[tables].items()}
    for tables in ("ppo", "ppo_presets", "alphazero", "alphazero_presets", "imitation", "imitation_presets")
)
