"""CPU seconds to a weakly solved board: how long learners train until their agents win against every reply.

    python -m benchmarks.solving alphazero klent --env "chinese_checkers_diamond(size=4, pieces=3)"
    python -m benchmarks.solving my_module:MyLearner "ppo(ent_coef=0.05)" --env "dots_and_boxes(rows=3, cols=3)"

A learner trains with the settings of its command and those in brackets, without a folder. From time to time its agent
is measured against the exact solution: the network alone, and with a search where its agents can search. The training
ends when both solve the board. The clock is the CPU time of the iterations, without compilation and measures.
"""

import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro

import jaxgames
from benchmarks import harness
from benchmarks.harness import Command
from jaxgames._specs import split_parameters
from jaxgames.mcts.config import SelectionRule
from jaxgames.solvers import Solution
from jaxgames.solvers.exact.solution import start_of
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.graph import Slots, States, graph_of
from jaxgames.solvers.strength.policy_table import BATCH, Act, PolicyTable
from jaxgames.solvers.strength.reachable import reachable_states
from train.agents import without_search
from train.driver.commands import progress_over, stamp
from train.driver.compilation import PROGRAMS, compiled_iteration, keep_programs
from train.driver.learner import Learner
from train.driver.tables import Column, table_of
from train.models.tabulated import with_table
from train.ops import sharding
from train.strength import deterministic, solution_of
from train.sweep import sweep_of

WAYS = ("network", "search")  # to play


@dataclass(frozen=True, kw_only=True)
class Arguments(harness.BenchmarkArguments):
    learners: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Learners with their settings in brackets: alphazero, "klent(kl_weight=0.5)", my_module:MyLearner."""
    env: str
    """The board, as `jaxgames.make` takes it; it has an exact solution."""
    solution: Path | None = None
    """The file that `python -m jaxgames.solvers` wrote for the board. If not given, it is solved first."""
    seeds: int = 6
    """Runs of every learner, with the seeds 0, 1, ..."""
    cpu_seconds: float = 300
    """The longest training; it also ends after the learner's own total_steps."""
    simulations: int = 64
    """Simulations of the search at play; 0 measures the network alone."""
    search: SelectionRule = "gumbel"
    """The rule of the search at play."""
    first: float = 10
    """CPU seconds of training before the first measure."""
    factor: float = 1.2
    """From one measure to the next, the clock grows by this factor."""


def measure_solving(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "seeds", "cpu_seconds", "first")
    if not arguments.learners:
        raise ValueError("name at least one learner, such as alphazero")
    if arguments.factor <= 1 or arguments.simulations < 0:
        given = f"{arguments.factor} and {arguments.simulations}"
        raise ValueError(f"factor must be above 1 and simulations at least 0, not {given}")
    runs = [(text, learner) for text in arguments.learners for learner in learners_of(text, arguments)]
    env = jaxgames.make(arguments.env)
    solution = solution_of(env, arguments.solution)
    seat = int(solution.value(start_of(env))[0] < 0)  # the one that perfect play favours
    settings = {"env": arguments.env, "simulations": arguments.simulations, "rule": arguments.search}
    result: dict[str, Any] = {"seat": seat, "rows": [], "runs": [], **stamp()}
    for text, learner in progress_over(runs, "runs"):
        run = {"learner": text, "seed": learner.config.seed, **train(learner, solution, seat, arguments)}
        result["runs"].append(run)
        of_learner = [run for run in result["runs"] if run["learner"] == text]
        others = [row for row in result["rows"] if row["learner"] != text]
        result["rows"] = [*others, {**settings, "learner": text, **medians(of_learner)}]
        harness.log(
            f"{text}, seed {run['seed']}: {', '.join(f'{way} {in_words(medians([run]), way)}' for way in WAYS)}"
        )
        harness.save(arguments, result)
    harness.log(table_of(result["rows"], TABLE))
    return result


def learners_of(text: str, arguments: Arguments) -> Iterable[Learner]:
    """Returns the learner that a text such as "klent(kl_weight=0.5)" names, with each seed."""
    name, settings = split_parameters(text, f"expected a learner such as klent(kl_weight=0.5), not {text!r}")
    values = settings | {"env": arguments.env}
    return sweep_of(name, {setting: (value,) for setting, value in values.items()}, arguments.seeds).cells.values()


def train(learner: Learner, solution: Solution[Any], seat: int, arguments: Arguments) -> dict[str, Any]:
    """Returns a run: of each way to play the CPU seconds and steps until the board was solved.

    It has no "search" if the learner's agents do not search.
    """
    mesh = sharding.mesh_for(1, learner.batch_sizes)
    iterate = compiled_iteration(learner, mesh)
    start = learner.load(jax.jit(learner.init)(jax.random.key(learner.config.seed)))
    state = sharding.shard(start, mesh, learner.partition_specs)
    data = sharding.shard(learner.load_data(), mesh, sharding.REPLICATED)
    ways = {"network": without_search(learner)}
    if arguments.simulations > 0 and ways["network"]:
        ways["search"] = {"simulations": arguments.simulations, "search": arguments.search}
    run: dict[str, Any] = {way: {} for way in ways}
    clock, due, number, last, now = 0.0, arguments.first, 0, False, dict[str, Any]()
    while not last:
        begin = time.process_time()
        state, _ = jax.block_until_ready(iterate(state, *data))
        clock, number = clock + time.process_time() - begin, number + 1
        last = number >= learner.config.num_iterations or clock >= arguments.cpu_seconds
        if clock < due and not last:
            continue
        due = clock * arguments.factor
        now = {"cpu_seconds": round(clock, 1), "steps": number * learner.config.steps_per_iteration}
        unsolved = [way for way in ways if "cpu_seconds" not in run[way]]
        for way in unsolved:
            agent = with_table(learner.agent(state.params, temperature=0.0, **ways[way]), solution.num_states)
            act = deterministic(way, agent, learner.env).act
            run[way] = now if solves(learner.env, act, solution, seat) else {}
        last |= all("cpu_seconds" in run[way] for way in unsolved)
    PROGRAMS.pop((learner, mesh), None)
    return run | {"trained": now}


# -- measure ----------------------------------------------------------------------------------------------


class Mistake(Exception):
    """A move loses some value."""


class CarefulPolicy(PolicyTable):
    """The moves of an agent up to its first mistake, for which it raises `Mistake`."""

    def slots(self, states: States) -> Slots:
        for begin in range(0, len(states), BATCH):
            part = states[begin : begin + BATCH]
            if self.game.losses(part, super().slots(part))[0].any():
                raise Mistake
        return super().slots(states)


def solves(env: Any, act: Act, solution: Solution[Any], seat: int) -> bool:
    """Returns whether an agent solves the board weakly. `seat` is the one that perfect play favours."""
    if solution.has_plies and solution.value(start_of(env))[0] != 0:  # the first mistake is enough to lose the win
        graph = graph_of(solution)
        try:
            reachable_states(graph, CarefulPolicy(solution, graph, act, seat), seat)
        except Mistake:
            return False
    return measure(env, act, solution, seat=seat, strong_states=1)["weak_solved"]


# -- table ------------------------------------------------------------------------------------------------


def medians(runs: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns medians of the CPU seconds and the steps by way to play, None where too few runs solved the board."""

    def of_way(found: list[dict[str, Any]]) -> dict[str, Any]:
        numbers = {
            key: statistics.median([each.get(key, math.inf) for each in found]) for key in ("cpu_seconds", "steps")
        }
        known = {key: None if math.isinf(number) else number for key, number in numbers.items()}
        return {**known, "solved": sum("steps" in each for each in found), "runs": len(found)}

    by_way = {way: [run[way] for run in runs if way in run] for way in WAYS}
    return {way: of_way(found) for way, found in by_way.items() if found}


def in_words(row: Mapping[str, Any], way: str) -> str:
    """Returns the medians of a way to play as a cell of the table."""
    if way not in row:
        return ""
    found = row[way]
    median = "" if found["steps"] is None else f"{found['cpu_seconds']:,.0f} s, {found['steps'] / 1e6:.2f} M steps: "
    return f"{median}{found['solved']} of {found['runs']}"


TABLE: dict[str, Column] = {
    "board": "`{env}`",
    "learner": "`{learner}`",
    "network alone": lambda row: in_words(row, "network"),
    "with a search": lambda row: in_words(row, "search"),
}

COMMANDS = (Command("solving", Arguments, measure_solving),)

if __name__ == "__main__":
    keep_programs()
    harness.run(*COMMANDS)
