"""The cards of the baseline agents: the game of each, how it was trained, and its results.

The folder of this module has two files for each agent: NAME.policy, which `jaxgames.policies.file` reads, and its card,
NAME.json. `python -m train.baselines` in a checkout writes both.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jaxgames import registry
from jaxgames._checks import check_choice
from jaxgames.env import Env

FOLDER = Path(__file__).parent
NO_EFFECT_ON_PLAY = ("reward", "max_rounds", "max_plies", "draw_rule")
"""Parameters of games that change neither the observations nor the legal actions of a live board."""


class Command(NamedTuple):
    """A command that took part in the training of an agent."""

    text: str  # behind `python -m`
    steps: int | None  # until the policy in the file; positions in imitation; None for a command that does not train
    cpu_seconds: float | None  # user and system time, compilation included; None if it was not measured


class WinRate(NamedTuple):
    """Games of an agent on one seat against copies of another agent on all other seats."""

    opponent: str
    games: int
    wins: int
    draws: int  # also games that a limit ended
    rate: float  # wins / games
    interval: tuple[float, float]  # 95 %
    command: str
    agent: str = "baseline"  # how it played, such as "baseline(simulations=64)"


class Rating(NamedTuple):
    """The place of an agent on a ladder."""

    agent: str
    elo: float  # `random` has 0
    interval: tuple[float | None, float | None]  # 95 %; None for an end that the games do not bound
    cpu_ms: float | None = None  # CPU milliseconds of a move, 64 boards at once; None if they were not measured


@dataclass(frozen=True)
class Card:
    """The facts about a baseline agent."""

    name: str
    env: str  # the game, as `jaxgames.make` takes it
    training: str  # in a sentence, which names the teachers
    self_play: str  # what self-play alone reached on the board
    self_play_source: str  # the section of the docs with this figure; "" if there is none
    commands: tuple[Command, ...]  # in their order; the last one wrote the file
    parameters: int  # numbers in the network
    sha256: str  # of the program and the parameters in the file
    win_rates: tuple[WinRate, ...]
    ladder: tuple[Rating, ...]  # the highest rating first
    ladder_command: str
    has_values: bool = True  # whether its network learned values, which a search and reviews need
    commit: str | None = None  # of the repository when the file was written; None if unknown
    processor: str | None = None  # of that machine; None if unknown

    @property
    def file(self) -> Path:
        """The file of the policy."""
        return FOLDER / f"{self.name}.policy"


ENTRIES: dict[str, Any] = {"commands": Command, "win_rates": WinRate, "ladder": Rating}  # of a card, with their types


def list_baselines() -> list[str]:
    """Returns the names of the baseline agents, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.policy"))


def card(name: str) -> Card:
    """Returns the card of a baseline agent. Raises ParameterError (a ValueError) for another name, with all names."""
    check_choice("name", name, list_baselines())
    return read(FOLDER / f"{name}.json")


def find(env: Env[Any]) -> str | None:
    """Returns the name of the baseline agent that plays a game, or None.

    Games that differ only in the parameters NO_EFFECT_ON_PLAY, or by `auto_reset`, have the same agent.
    """
    texts = {name: text for name, text in _games().items() if text.partition("(")[0] == env.id}
    return next((name for name, text in texts.items() if plays(registry.make(text), env.unwrapped)), None)


def plays(of_agent: Env[Any], env: Env[Any]) -> bool:
    """Returns whether two games have the same observations and the same legal actions."""
    return registry.differ_only_in(NO_EFFECT_ON_PLAY, of_agent, env)


def read(path: Path) -> Card:
    """Returns the card in a file."""
    named = json.loads(path.read_text(encoding="utf-8"))
    for field, kind in ENTRIES.items():
        entries: list[dict[str, Any]] = named[field]  # which have lists where a card has tuples
        lists = [{key: tuple(value) for key, value in entry.items() if type(value) is list} for entry in entries]
        named[field] = tuple(kind(**entry | tuples) for entry, tuples in zip(entries, lists, strict=True))
    return Card(**named)


@functools.cache
def _games() -> dict[str, str]:
    return {name: card(name).env for name in list_baselines()}
