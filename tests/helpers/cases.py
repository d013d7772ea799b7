"""The types of the material that each game supplies to the tests in `tests/contract`, which run for every game.

`tests/games/<id>/cases.py` holds one `Cases` named CASES. A rule of a game is a row there, and so are the games that
are played beside the slow reference. An env is named by a text for `jaxgames.make`.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tests.helpers.reference import AnyReference

WrongText = tuple[str | int, *tuple[str, ...]]  # a text, and parts of the message: what is wrong, what was expected
# Picks one of the legal actions: (reference, rng, position, {action: move}) -> action.
Chooser = Callable[[Any, np.random.Generator, Any, dict[int, Any]], int]


def at_random(reference: AnyReference, rng: np.random.Generator, position: Any, legal: dict[int, Any]) -> int:
    return list(legal)[int(rng.random() * len(legal))]


@dataclass(frozen=True)
class Rule:
    """Facts of a board after legal actions; only the last one may end the game."""

    name: str
    env: str
    position: str
    plays: str = ""  # in notation, with blanks between
    legal: str | None = None  # all legal actions afterwards, as in `plays`
    of: str = ""  # with which the texts in `legal` begin: others may be legal, too
    text: str = ""  # of the position afterwards; without plays that of the position itself, if it is left out
    rewards: Sequence[float] | None = None  # that the last action paid; zeros without a winner, if they are left out
    end: Literal["live", "draw", "truncated"] = "live"  # if there is no winner
    winner: int | None = None
    reason: str = ""  # part of `Outcome.reason`
    counters: Mapping[str, int] = field(default_factory=dict[str, int])  # fields that the text does not record


@dataclass(frozen=True)
class Played:
    """Games that the env and the reference play in lockstep, and how many of them must end in which way."""

    env: str
    ends: Mapping[str, int]  # the smallest number of games with each end: one of `Reference.end`, or "illegal"
    games: int  # at once: each number is compiled on its own
    texts: Callable[[np.random.Generator, Any], Sequence[str]] | None = None  # where they begin, if not at the start
    limit: int | None = None  # actions per game
    choose: Chooser = at_random
    illegal: float = 0.002  # share of the actions that are any numbers
    forms: Sequence[str] = ()  # in which the same is computed, besides that of CPUs
    seed: int = 1
    slow: bool = False


@dataclass(frozen=True, kw_only=True)
class Cases:
    """The material of one game."""

    id: str

    # Parameter sets for `check_env`: those of `make test`, and those of `make test-all` only.
    fast: Sequence[str]
    slow: Sequence[str]

    # Plain values of envs: {env: {attribute: value}}, such as {"checkers": {"num_actions": 128}}.
    facts: Mapping[str, Mapping[str, Any]]
    wrong_parameters: Sequence[tuple[Mapping[str, Any], str]]  # and a part of the message

    rules: Sequence[Rule]

    # Notation.
    wrong_positions: tuple[str, Sequence[WrongText]]  # of an env
    wrong_actions: tuple[str, str, Sequence[WrongText]]  # of an env, in a position; also numbers without a move
    not_in_text: Sequence[str] = ()  # fields of the state, besides the rewards, that the text does not record

    # The rules in slow plain Python, and the games that are compared with them.
    reference: Callable[[Any], AnyReference]  # of an env
    played: Sequence[Played]


def combinations(id: str, **values: Sequence[Any]) -> list[str]:
    """The game with every combination of the parameters' values."""
    sets = (dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))
    return [f"{id}({', '.join(f'{name}={value!r}' for name, value in chosen.items())})" for chosen in sets]
