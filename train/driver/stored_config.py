"""Writes, reads and checks config.json: the learner, the versions and the settings of a run.

{"learner": "ppo" or "module:Class", "jaxgames": "0.1.0", "env_version": 1, "settings": {"env": "checkers", ...}}
"""

import dataclasses
import functools
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jaxgames
from jaxgames._named import from_file
from jaxgames._specs import MODULE_AND_NAME
from train.bounds import check_values
from train.driver.learner import Config, Learner, command_of, learner_of_module, text_of

# Settings that only a run of an earlier version has; they are left out.
REMOVED = {"proofs", "first_simulations", "fast_searches", "fast_simulations"}


def to_json(learner: Learner) -> dict[str, Any]:
    """Returns the content of a run's config.json."""
    return {
        "learner": text_of(type(learner)),
        "jaxgames": jaxgames.__version__,
        "env_version": learner.env.version,
        "settings": settings_of(learner.config),
    }


def settings_of(config: Config) -> dict[str, Any]:
    """Returns the settings in JSON's types."""
    return json.loads(json.dumps({field.name: getattr(config, field.name) for field in dataclasses.fields(config)}))


def load(path: Path, learners: Sequence[type[Learner]], or_own: bool = False) -> Learner:
    """Returns the learner with the settings in a config.json: one of `learners`, or with `or_own` a user's own one.

    Raises FileNotFoundError if there is none. Raises ValueError, with the path and the settings, unless it has
    settings of one of the learners and no others. A setting that it lacks has its default, which is logged.
    """
    try:
        stored = json.loads(path.read_bytes())
        text, settings = str(stored["learner"]), dict[str, Any](stored["settings"])
    except (FileNotFoundError, NotADirectoryError):
        commands = " or ".join(map(command_of, learners))
        raise FileNotFoundError(f"{path.parent} holds no run: expected a folder that {commands} wrote") from None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} has no learner and settings: {type(error).__name__}, {error}") from None
    learner_type = next((learner for learner in learners if text_of(learner) == text), None)
    if learner_type is None and not (or_own and MODULE_AND_NAME.fullmatch(text)):
        known = ", ".join([*map(text_of, learners), *["module:Class"] * or_own])
        raise ValueError(f"{path}: learner must be one of {known}, not {text!r}")
    settings = {name: value for name, value in settings.items() if name not in REMOVED}
    try:
        with from_file():
            learner_type = learner_type or learner_of_module(text)
            names = [field.name for field in dataclasses.fields(learner_type.config_type)]
            if unknown := [name for name in settings if name not in names]:
                raise ValueError(f"unknown settings: {', '.join(unknown)}")
            check_values(settings, learner_type.config_type)
            learner = learner_type(learner_type.config_type(**settings))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    if missing := [name for name in names if name not in settings]:
        log_once(f"{path} has no {', '.join(missing)}, so the defaults of this version are taken")
    if stored.get("env_version") != learner.env.version:
        raise ValueError(
            f"{path}: the run was trained on version {stored.get('env_version')} of {learner.env.id}, whose rules "
            f"changed: this is version {learner.env.version}; train it again"
        )
    return learner


@functools.cache
def log_once(text: str) -> None:
    """Prints a line on standard error, but not again."""
    print(text, file=sys.stderr)


def format_setting(value: Any) -> str:
    """Returns the value of a setting as text. A list has commas, such as 64,64."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # of any type


def changes(before: Mapping[str, Any], now: Mapping[str, Any], may_change: Collection[str] = ()) -> list[str]:
    """Returns the settings that differ, except those in `may_change`, with both values."""
    names = [name for name in {**before, **now} if name not in may_change and before.get(name) != now.get(name)]
    return [f"{name} was {json.dumps(before.get(name))} and is {json.dumps(now.get(name))}" for name in names]
