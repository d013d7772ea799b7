"""The types of the material that each game supplies to the tests in `tests/contract`, which run for every game.

`tests/games/<id>/cases.py` holds one `Cases` named CASES: positions, texts and expected values. A new game has a
`cases.py`, and tests of its own for moves, ends and rewards.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hypothesis import strategies as st

from tests.helpers.reference import Reference

WrongText = tuple[Any, str, str]  # a text, and two parts of the message: what is wrong in it, what was expected


@dataclass(frozen=True)
class Finished:
    """A game that ends, from a live position: by legal actions in notation, or by one illegal action, an integer."""

    name: str
    env: str
    position: str
    actions: Sequence[str] | int
    rewards: Sequence[float]  # that the last action pays
    kind: Literal["win", "draw", "truncated", "forfeit"]
    winners: tuple[int, ...] = ()
    reason: str = ""  # part of `Outcome.reason`
    counters: Mapping[str, int] = field(default_factory=dict[str, int])  # fields that the text does not record


@dataclass(frozen=True)
class Judged:
    """A live position on which the mask and the penalty are compared for all actions."""

    env: str
    position: str
    illegal: Sequence[str | int] = ()  # actions that must be among the illegal ones, in notation or by number


@dataclass(frozen=True)
class Placement:
    """A position in notation that need not be reachable, and whether it is over."""

    env: str
    text: str
    over: tuple[bool, bool] | None = None  # (terminated, truncated); None leaves it open


@dataclass(frozen=True, kw_only=True)
class Cases:
    """The material of one game. An env is named by a text for `jaxgames.make`."""

    id: str

    # Parameter sets for `check_env`: those of `make test`, and those of `make test-all` only.
    fast: Sequence[str]
    slow: Sequence[str]

    # Plain values of envs: {env: {attribute: value}}, such as {"checkers": {"num_actions": 128}}.
    facts: Mapping[str, Mapping[str, Any]]
    wrong_parameters: Sequence[tuple[Mapping[str, Any], str]]  # and a part of the message

    judged: Sequence[Judged]  # positions on which `step` and the mask must agree for every action
    finished: Sequence[Finished]  # at least one of each kind that the game knows

    # Notation.
    wrong_positions: tuple[str, Sequence[WrongText]]  # of an env
    wrong_actions: tuple[str, str, Sequence[WrongText]]  # of an env, in a position
    no_actions: Sequence[tuple[str, str, int, str]]  # env, position, an action that names no move, part of the message
    positions: Sequence[Placement]  # texts that read back exactly
    placements: st.SearchStrategy[Placement]  # the same at random
    not_in_text: Sequence[str] = ()  # fields of the state, besides the rewards, that the text does not record

    # The rules in slow plain Python, and the envs that are compared with them.
    reference: Callable[[Any], Reference[Any, Any]]  # of an env
    referenced: Sequence[str]

    seats_see_the_same_start: Sequence[str]  # envs


def combinations(id: str, **values: Sequence[Any]) -> list[str]:
    """The game with every combination of the parameters' values."""
    sets = (dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))
    return [f"{id}({', '.join(f'{name}={value!r}' for name, value in chosen.items())})" for chosen in sets]
