"""The time to a weakly solved board: of learners that are known to solve it after an iteration."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import pytest

import jaxgames
from benchmarks import solving
from jaxgames.agents import Agent
from jaxgames.solvers.exact.agent import SolverAgent
from tests.helpers.scripted_agents import Preferring
from tests.helpers.solved import solved_diamond
from train.driver.learner import Learner

BOARD = "chinese_checkers_diamond(size=3, pieces=1)"
ENV = jaxgames.make(BOARD)
SOLUTION = solved_diamond(3, 1)
PERFECT = SolverAgent(ENV, type(SOLUTION), "solver", "first", SOLUTION.device_table)
FIRST = Preferring(ENV, jnp.zeros(ENV.num_actions))


@dataclass(frozen=True)
class Config:
    env: str = BOARD
    seed: int = 0
    perfect_after: int = 3
    total_steps: int = 70
    steps_per_iteration: ClassVar[int] = 10
    num_iterations: ClassVar[int] = 7


class TrainState(NamedTuple):
    params: jax.Array  # int32[], iterations
    iteration: jax.Array


@dataclass(frozen=True)
class Sudden(Learner):
    """Its agent plays the first legal action, and perfectly after some iterations; with a search two earlier."""

    name: ClassVar[str] = "sudden"
    config_type: ClassVar[type[Config]] = Config
    config: Config

    @property
    def env(self) -> Any:
        return ENV

    def init(self, key: jax.Array) -> TrainState:
        return TrainState(jnp.int32(0), jnp.int32(0))

    def iterate(self, train_state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
        return TrainState(train_state.params + 1, train_state.iteration + 1), {}

    def agent(  # pyright: ignore[reportIncompatibleMethodOverride]  # a learner can have other arguments
        self, params: Any, temperature: float | None = None, simulations: int = 8, search: str = "gumbel"
    ) -> Agent:
        after = self.config.perfect_after - 2 * (simulations > 0)
        return PERFECT if params >= after else FIRST


class Alone(Sudden):
    """Its agents do not search."""

    def agent(self, params: Any, temperature: float | None = None) -> Agent:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Sudden.agent(self, params, simulations=0)


def run(*learners: str, **changes: Any) -> list[dict[str, Any]]:
    """Runs of one seed, which are measured after every iteration."""
    given: dict[str, Any] = {"env": BOARD, "seeds": 1, "first": 1e-9, "factor": 1 + 1e-9, **changes}
    arguments = solving.Arguments(learners=learners, **given)
    return solving.measure_solving(arguments)["runs"]


def test_steps_are_counted_to_the_first_measure_that_finds_the_board_solved() -> None:
    searching, alone, never = run(
        f"{__name__}:Sudden(perfect_after=5)", f"{__name__}:Alone", f"{__name__}:Sudden(perfect_after=100)"
    )
    assert searching["network"]["steps"] == 50
    assert searching["search"]["steps"] == 30
    assert searching["trained"]["steps"] == 50  # it ends when both have solved the board
    (without_search,) = run(f"{__name__}:Sudden(perfect_after=5)", simulations=0)
    assert without_search["network"]["steps"] == 50
    assert "search" not in without_search
    assert alone["network"]["steps"] == 30
    assert "search" not in alone
    assert never["trained"]["steps"] == 70
    assert never["network"] == never["search"] == {}


def test_measures_wait_for_the_clock_and_the_longest_training_ends_it() -> None:
    early = f"{__name__}:Alone(perfect_after=2)"
    (late,), (rare,), (short,) = run(early, first=1e9), run(early, factor=1e9), run(early, cpu_seconds=1e-9)
    assert late["network"]["steps"] == 70  # the last iteration is always measured
    assert rare["network"]["steps"] == 70  # after one measure too early
    assert short["trained"]["steps"] == 10
    assert short["network"] == {}


@pytest.mark.parametrize("first_seat", [False, True])
def test_agent_plays_the_seat_that_perfect_play_favours(first_seat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one box the second seat wins, in 2 x 2 boxes the first one."""
    env = jaxgames.make("dots_and_boxes", rows=1 + first_seat, cols=1 + first_seat)
    seats: list[int] = []

    def solves(env: Any, act: Any, solution: Any, seat: int) -> bool:
        seats.append(seat)
        return True

    monkeypatch.setattr(solving, "solves", solves)
    run(f"{__name__}:Alone", env=str(env))
    assert seats == [int(not first_seat)]


def test_medians_count_runs_that_do_not_solve_the_board_as_longest() -> None:
    solved = [{"cpu_seconds": 10.0 * number, "steps": 100 * number} for number in (3, 1, 2)]
    runs: list[Any] = [*({"network": each, "search": {}} for each in solved), {"network": {}}]
    row = solving.medians(runs)
    assert row["network"] == {"cpu_seconds": 25, "steps": 250, "solved": 3, "runs": 4}
    assert row["search"] == {"cpu_seconds": None, "steps": None, "solved": 0, "runs": 3}
    assert solving.in_words(row, "network") == "25 s, 0.00 M steps: 3 of 4"
    assert solving.in_words(row, "search") == "0 of 3"
    assert solving.in_words(solving.medians([{"network": {}}]), "search") == ""


@pytest.mark.parametrize(
    ("learners", "changes", "words"),
    [
        (("nobody",), {}, "learner must be one of ppo"),
        (("ppo(no_such=1)",), {}, "no_such"),
        ((), {}, "name at least one learner"),
        (("ppo",), {"cpu_seconds": 0.0}, "cpu_seconds must be positive"),
        (("ppo",), {"factor": 1.0}, "factor must be above 1"),
        (("ppo",), {"env": "checkers"}, "games that can be solved"),
    ],
)
def test_wrong_input_is_refused_before_a_learner_trains(
    learners: tuple[str, ...], changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solving, "train", pytest.fail)
    settings: dict[str, Any] = {"env": BOARD, **changes}
    with pytest.raises(ValueError, match=words):
        solving.measure_solving(solving.Arguments(learners=learners, **settings))
