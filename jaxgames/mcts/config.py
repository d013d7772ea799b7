"""The settings of a search, and the type of the function that gives it logits and values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import jax

from jaxgames._checks import ParameterError, check_choice, check_int, check_number

SelectionRule = Literal["gumbel", "puct", "two_calls"]
Seats = Literal["paranoid", "max_n"]  # how seats choose in the tree
SELECTION_RULES: tuple[str, ...] = get_args(SelectionRule)
SEATS: tuple[str, ...] = get_args(Seats)
MAX_SIMULATIONS = 100_000
DEFAULT_SLOTS = 64


class Evaluation(NamedTuple):
    """The logits and values that a function gives for every board of a batch."""

    logits: jax.Array  # float32[B, num_actions], of the mover's actions; those of illegal actions are not used
    values: jax.Array  # float32[B, num_players], the expected discounted return of each seat from this board on


Evaluate = Callable[[Any, Any], Evaluation]  # of params (a pytree) and states (a batch); hashable


@dataclass(frozen=True)
class SearchConfig:
    """The settings of a search. They are hashable, so they can be a static argument under `jax.jit`.

    Args:
      simulations: boards that the search adds to the tree of each root.
      search: "gumbel" (Danihelka et al., 2022), "puct" (Silver et al., 2018), or "two_calls": the Gumbel search without
        a tree (`jaxgames/mcts/two_calls.py`), with one simulation per slot at most in each call. It does not use
        `max_considered` and `seats`.
      slots: K, the actions that a node can try: the legal ones with the highest logits. None: 64. A game with fewer
        actions has a slot for each.
      max_considered: actions that the Gumbel search tries at the root.
      gumbel_scale: scale of the Gumbel noise at the root. 0: the search is deterministic.
      dirichlet_fraction: share of Dirichlet noise in the root's prior probabilities, from 0 to 1.
      dirichlet_alpha: the concentration of this noise is `dirichlet_alpha` / the number of legal actions.
      forced_playouts: k of forced playouts (Wu, 2019), for PUCT. A visited action of the root gets at
        least sqrt(k * prior * visits of the root) visits, and the improved policy leaves out forced ones. 0: off.
        KataGo has 2.
      gamma: discount of a turn. A ply after which the same seat moves again is not discounted.
      seats: how seats choose in the tree. "max_n": each seat prefers its own return. "paranoid": the root's seat
        prefers its own return, all others prefer that this return is low. In a zero-sum game of two both are the same.
      value_scale: weight of the values beside the logits in the Gumbel search.
      maxvisit_init: visits that are added to the highest count in this weight.
      pb_c_init: exploration constant of PUCT.
      pb_c_base: visits after which the exploration of PUCT grows noticeably.
      value_epsilon: smallest difference of returns that the search stretches to 1. Without it, noise in equal values
        would decide.
    """

    simulations: int = 64
    search: str = "gumbel"
    slots: int | None = None
    max_considered: int = 16
    gumbel_scale: float = 0.0
    dirichlet_fraction: float = 0.0
    dirichlet_alpha: float = 10.0
    forced_playouts: float = 0.0
    gamma: float = 1.0
    seats: str = "paranoid"
    value_scale: float = 0.1
    maxvisit_init: float = 50.0
    pb_c_init: float = 1.25
    pb_c_base: float = 19652.0
    value_epsilon: float = 0.01

    def __post_init__(self) -> None:
        check_int("simulations", self.simulations, 1, MAX_SIMULATIONS)
        check_choice("search", self.search, SELECTION_RULES)
        if self.slots is not None:
            check_int("slots", self.slots, 1, 2**31 - 1, " or None")
        check_int("max_considered", self.max_considered, 1, 2**31 - 1)
        check_choice("seats", self.seats, SEATS)
        check_number("dirichlet_fraction", self.dirichlet_fraction, 0, 1)
        check_number("gamma", self.gamma, 0, 1)
        for name in ("gumbel_scale", "forced_playouts", "value_scale", "maxvisit_init", "pb_c_init"):
            check_number(name, getattr(self, name), lowest=0)
        if self.forced_playouts > 0 and self.search != "puct":
            raise ParameterError("forced_playouts needs search='puct'")
        for name in ("dirichlet_alpha", "pb_c_base", "value_epsilon"):
            check_number(name, getattr(self, name))

    def num_slots(self, num_actions: int) -> int:
        """Returns K for a game with `num_actions` actions."""
        return min(num_actions, DEFAULT_SLOTS if self.slots is None else self.slots)
