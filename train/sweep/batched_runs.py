"""Runs of a sweep as one learner: they differ only in seeds and numbers, and are one program.

    runs = BatchedRuns((PPO(Config(gamma=0.3)), PPO(Config(gamma=0.5))), devices=2)
    state, metrics = runs.iterate(state)        # every array has a leading axis of runs, metrics too

The runs are divided over the devices of the mesh. A device computes its runs at the same time, as a `vmap`. On a CPU,
one run at a time per core was twice as fast: its cores are virtual devices (`train.ops.sharding.provide_cores`), and
each computes its runs one after the other.
"""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

import jaxgames
from jaxgames import arena
from jaxgames._platforms import has_cpu_form
from jaxgames.agents import Agent
from train.driver.learner import Learner, names_of_numbers
from train.ops import sharding
from train.ops.sharding import REPLICATED, SHARDED, data_to_keys, keys_to_data, on_each_device


class BatchedState(NamedTuple):
    """The train states of all runs between two iterations."""

    runs: Any  # the learner's train states, stacked: leaves [padded runs, ...]
    iteration: jax.Array  # int32[], the same for every run

    @property
    def params(self) -> Any:
        return self.runs.params


@dataclass(frozen=True)
class BatchedRuns(Learner):
    """The learner of runs whose learners are equal except for the seed and numbers."""

    name: ClassVar[str] = "sweep"

    learners: tuple[Learner, ...]
    devices: int = 1

    @property
    def first(self) -> Learner:
        """The learner of the first run."""
        return self.learners[0]

    @property
    def config(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]  # no one sets it
        """The settings of the first run."""
        return self.first.config

    @property
    def padded(self) -> int:
        """The number of runs, rounded up to equally many on every device. The added runs repeat the first one."""
        return -(-len(self.learners) // self.devices) * self.devices

    @property
    def varied(self) -> dict[str, np.ndarray]:
        """The numbers that differ between runs: float32[padded] by their names."""
        names = names_of_numbers(self.first)
        values = {name: [getattr(each.numbers, name) for each in self.learners] for name in names}
        return {
            name: np.array(pad(of_runs, self.padded), np.float32)
            for name, of_runs in values.items()
            if len(set(of_runs)) > 1
        }

    @property
    def env(self) -> jaxgames.Env[Any]:
        return self.first.env

    @property
    def headline(self) -> dict[str, Any]:
        common = {name: value for name, value in self.first.headline.items() if name != "seed"}
        return common | {"cells": f"{len(self.learners)} cells"}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"the runs, filled up": self.padded}

    @property
    def partition_specs(self) -> BatchedState:
        return BatchedState(SHARDED, REPLICATED)  # pyright: ignore[reportArgumentType]  # specs stand for arrays

    def init(self, key: jax.Array) -> BatchedState:
        """Returns the train states before the first iteration. The key is not used: each run has its own seed."""
        seeds = np.array(pad([each.config.seed for each in self.learners], self.padded), np.int32)

        def init_run(run: tuple[jax.Array, dict[str, jax.Array]]) -> Any:
            seed, numbers = run
            return self.run_with(numbers).init(jax.random.key(seed))

        return BatchedState(jax.lax.map(init_run, (seeds, self.varied)), jnp.int32(0))

    def run_with(self, varied: dict[str, jax.Array]) -> Learner:
        """Returns the learner of a run with these numbers, float32[] each, inside of the trace that they belong to."""
        first: Any = self.first
        return dataclasses.replace(first, numbers=dataclasses.replace(first.numbers, **varied)) if varied else first

    def make_agent(self, text: str) -> Agent:
        return self.first.make_agent(text)

    def check_load(self) -> None:
        self.first.check_load()

    def load(self, train_state: BatchedState) -> BatchedState:
        """Returns the train states with what each run takes from other runs."""
        states = zip(self.learners, self.split(train_state), strict=True)
        return self.join([learner.load(each) for learner, each in states])

    def split(self, train_state: BatchedState) -> list[Any]:
        """Returns the train state of each run, on the host except for PRNG keys."""
        words = jax.device_get(keys_to_data(train_state.runs))
        of_runs = [jax.tree.map(lambda leaf, index=index: leaf[index], words) for index in range(len(self.learners))]
        return [data_to_keys(each, train_state.runs) for each in of_runs]

    def join(self, train_states: list[Any]) -> BatchedState:
        """Returns the train states of runs that are all at the same iteration."""
        runs = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pad(train_states, self.padded))
        return BatchedState(runs, jnp.int32(train_states[0].iteration))

    def load_data(self) -> tuple[Any, ...]:
        return self.first.load_data()

    def iterate(self, train_state: BatchedState, *data: Any) -> tuple[BatchedState, dict[str, jax.Array]]:
        """Returns the train states after one iteration, and metrics (float32[runs] each)."""

        def iterate_run(data: tuple[Any, ...], numbers: dict[str, jax.Array], run: Any) -> Any:
            return self.run_with(numbers).iterate(run, *data)

        map_runs = self.map_runs(iterate_run, REPLICATED, SHARDED, SHARDED)
        runs, metrics = map_runs(data, self.varied, train_state.runs)
        return BatchedState(runs, train_state.iteration + 1), self.without_padding(metrics)

    def results_against(
        self, train_state: BatchedState, opponent: Agent, key: jax.Array, num_games: int
    ) -> dict[str, Any]:
        """Returns the results of every run: of the games of a run that trains alone, in one program."""
        mesh = sharding.mesh_for(self.devices, self.batch_sizes)
        opponent = jax.device_put(opponent, sharding.shardings(mesh, REPLICATED))
        with jax.set_mesh(mesh):
            return _evaluate(self, num_games, opponent, train_state.params, key)

    def map_runs(self, function: Callable[..., Any], *parts: PartitionSpec) -> Callable[..., Any]:
        """Returns `function` of one run for all runs, each device its own. REPLICATED arguments have no runs."""

        def of_device(*arguments: Any) -> Any:
            common = [each for each, part in zip(arguments, parts, strict=True) if part == REPLICATED]
            of_runs = tuple(each for each, part in zip(arguments, parts, strict=True) if part == SHARDED)
            own = functools.partial(function, *common)
            return jax.lax.map(lambda run: own(*run), of_runs) if has_cpu_form() else jax.vmap(own)(*of_runs)

        return on_each_device(of_device, *parts, out=SHARDED)

    def without_padding(self, metrics: dict[str, jax.Array]) -> dict[str, jax.Array]:
        """Returns metrics float32[runs] of metrics float32[padded]."""
        return {name: values[: len(self.learners)] for name, values in metrics.items()}


def pad(values: list[Any], length: int) -> list[Any]:
    """Returns the values, extended to a length by repeats of the first one."""
    return values + values[:1] * (length - len(values))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _evaluate(runs: BatchedRuns, num_games: int, opponent: Agent, params: Any, key: jax.Array) -> dict[str, jax.Array]:
    def evaluate_run(opponent: Agent, key: jax.Array, params: Any) -> dict[str, jax.Array]:
        return arena.evaluate(runs.env, runs.first.agent(params), opponent, key, num_games)

    results = runs.map_runs(evaluate_run, REPLICATED, REPLICATED, SHARDED)(opponent, key, params)
    return runs.without_padding(results)
