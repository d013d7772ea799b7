"""The cells of a sweep as one learner: runs that differ only in seeds and traced settings, in one program.

    cells = Cells(Group((PPO(Config(gamma=0.3)), PPO(Config(gamma=0.5))), devices=2))
    state, metrics = cells.iterate(state)        # every array has a leading axis of cells, metrics too

`train.driver.loop` trains `Cells` as it trains any learner. The cells are divided over the devices of the mesh. Each
device computes `at_once` cells at the same time, as a `vmap`, and its other cells one after the other.

On a CPU, one cell at a time per core was fastest, twice as fast as a `vmap` (docs/training/sweep.md). So the cores of a
CPU are virtual devices there (`train.ops.sharding.provide_cores`). Other platforms compute all cells at once.
"""

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
from jaxgames.agents import Agent
from train.driver.learner import Config, Learner, data_of, with_traced
from train.driver.loop import Settings, evaluation_key
from train.driver.metrics import to_floats
from train.ops import sharding
from train.ops.sharding import REPLICATED, SHARDED, is_key, keys_to_data, on_each_device


class CellsState(NamedTuple):
    """The train states of all cells between two iterations."""

    cells: Any  # the learner's train states, stacked: leaves [padded cells, ...]
    iteration: jax.Array  # int32[], the same for every cell

    @property
    def params(self) -> Any:
        return self.cells.params


@dataclass(frozen=True)
class Group:
    """Cells whose learners are equal except for the seed and traced settings, and how they are computed."""

    learners: tuple[Learner, ...]
    devices: int = 1
    at_once: int = 1
    """Cells that a device computes at the same time."""

    @property
    def first(self) -> Config:
        """The settings of the first cell."""
        return self.learners[0].config

    @property
    def env(self) -> str:
        return self.first.env

    @property
    def seed(self) -> int:
        return self.first.seed

    @property
    def total_steps(self) -> int:
        """The steps of each cell."""
        return self.first.total_steps

    @property
    def steps_per_iteration(self) -> int:
        return self.first.steps_per_iteration

    @property
    def num_iterations(self) -> int:
        return self.first.num_iterations

    @property
    def padded(self) -> int:
        """The number of cells, rounded up to full chunks on every device. The added cells repeat the first one."""
        together = self.devices * self.at_once
        return -(-len(self.learners) // together) * together

    @property
    def seeds(self) -> np.ndarray:
        """int32[padded]."""
        return np.array(pad([each.config.seed for each in self.learners], self.padded), np.int32)

    @property
    def numbers(self) -> dict[str, np.ndarray]:
        """The traced settings that differ between cells: float32[padded] by their names."""
        names = self.learners[0].traced_settings
        values = {name: [getattr(each.config, name) for each in self.learners] for name in names}
        return {
            name: np.array(pad(of_cells, self.padded), np.float32)
            for name, of_cells in values.items()
            if len(set(of_cells)) > 1
        }


@dataclass(frozen=True)
class Cells(Learner):
    """The learner of a group of cells; see `train.driver.learner.Learner`."""

    name: ClassVar[str] = "sweep"
    config_type: ClassVar[type[Any]] = Group

    config: Group

    @property
    def first(self) -> Learner:
        """The learner of the first cell."""
        return self.config.learners[0]

    @property
    def env(self) -> jaxgames.Env[Any]:
        return self.first.env

    @property
    def headline(self) -> dict[str, Any]:
        common = {name: value for name, value in self.first.headline.items() if name != "seed"}
        return common | {"cells": f"{len(self.config.learners)} cells"}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"the cells, filled up": self.config.padded}

    @property
    def partition_specs(self) -> CellsState:
        return CellsState(SHARDED, REPLICATED)  # pyright: ignore[reportArgumentType]  # specs stand for arrays

    def agent(
        self, params: Any, temperature: float | None = None, epsilon: float = 0.0, top: int | None = None
    ) -> Agent:
        """Returns the agent of one cell with these parameters."""
        return self.first.agent(params, temperature, epsilon, top)

    def init(self, key: jax.Array) -> CellsState:
        """Returns the train states before the first iteration. The key is not used: each cell has its own seed."""
        states = jax.lax.map(lambda seed: self.first.init(jax.random.key(seed)), self.config.seeds)
        return CellsState(states, jnp.int32(0))

    def init_params(self, key: jax.Array) -> Any:
        """Returns random parameters of one cell."""
        return self.first.init_params(key)

    def make_agent(self, text: str) -> Agent:
        """Returns the agent that `text` names."""
        return self.first.make_agent(text)

    def load(self, train_state: CellsState) -> CellsState:
        """Returns the train states with what each cell takes from other runs."""
        return stack([self.first.load(each) for each in unstack(train_state.cells, self.config.padded)])

    def largest_arrays(self, key: jax.Array) -> Any:
        """Returns the states of all cells, and the arrays of the cells that are computed at the same time."""
        computed = jax.random.split(key, self.config.at_once * self.config.devices)
        return self.init(key), jax.vmap(self.first.largest_arrays)(computed)

    def load_data(self) -> tuple[Any, ...]:
        """Returns the data that all cells learn from; see `train.driver.learner.data_of`."""
        return data_of(self.first)

    def iterate(self, train_state: CellsState, data: tuple[Any, ...] = ()) -> tuple[CellsState, dict[str, jax.Array]]:
        """Returns the train states after one iteration, and metrics (float32[cells] each)."""

        def iterate_cell(
            data: tuple[Any, ...], numbers: dict[str, jax.Array], cell: Any
        ) -> tuple[Any, dict[str, jax.Array]]:
            return with_traced(self.first, numbers).iterate(cell, *data)

        cells, metrics = self._map(iterate_cell, REPLICATED, SHARDED, SHARDED)(
            data, self.config.numbers, train_state.cells
        )
        metrics = {name: values[: len(self.config.learners)] for name, values in metrics.items()}
        return CellsState(cells, train_state.iteration + 1), metrics

    def evaluate(
        self, num_games: int, seat: int | None, opponent: Agent, params: Any, key: jax.Array
    ) -> dict[str, jax.Array]:
        """Returns `arena.evaluate` of every cell with the same key, float32[cells] each. Trace it within the mesh.

        Args:
          params: parameters of the cells, leaves [padded, ...].
        """

        def evaluate_cell(opponent: Agent, key: jax.Array, params: Any) -> dict[str, jax.Array]:
            return arena.evaluate(self.env, self.agent(params), opponent, key, num_games, seat=seat)

        results = self._map(evaluate_cell, REPLICATED, REPLICATED, SHARDED)(opponent, key, params)
        return {name: values[: len(self.config.learners)] for name, values in results.items()}

    def _map(self, function: Callable[..., Any], *parts: PartitionSpec) -> Callable[..., Any]:
        """Returns `function` of one cell for all cells, each device its own. REPLICATED arguments have no cells."""

        def of_device(*arguments: Any) -> Any:
            common = [each for each, part in zip(arguments, parts, strict=True) if part == REPLICATED]
            of_cells = tuple(each for each, part in zip(arguments, parts, strict=True) if part == SHARDED)
            own = functools.partial(function, *common)
            if self.config.at_once == 1:
                return jax.lax.map(lambda cell: own(*cell), of_cells)
            count, size = self.config.padded // self.config.devices, self.config.at_once
            chunks = jax.tree.map(lambda x: x.reshape(count // size, size, *x.shape[1:]), of_cells)
            results = jax.lax.map(lambda chunk: jax.vmap(own)(*chunk), chunks)
            return jax.tree.map(lambda x: x.reshape(count, *x.shape[2:]), results)

        return on_each_device(of_device, *parts, out=SHARDED)


def pad(values: list[Any], length: int) -> list[Any]:
    """Returns the values, extended to a length by repeats of the first one."""
    return values + values[:1] * (length - len(values))


def stack(states: list[Any]) -> CellsState:
    """Returns the train states of cells that are all at the same iteration."""
    iteration = jnp.int32(states[0].iteration)
    return CellsState(jax.tree.map(lambda *leaves: jnp.stack(leaves), *states), iteration)


def unstack(cells: Any, count: int) -> list[Any]:
    """Returns the first `count` train states of stacked ones, on the host except for PRNG keys."""
    words = jax.device_get(keys_to_data(cells))
    kinds = jax.tree.map(is_key, cells)

    def cell(index: int) -> Any:
        def leaf(words: Any, is_key: bool) -> Any:
            return jax.random.wrap_key_data(words[index]) if is_key else words[index]

        return jax.tree.map(leaf, words, kinds)

    return [cell(index) for index in range(count)]


# -- evaluation ----------------------------------------------------------------------------------------------------


def evaluate_cells(
    cells: Cells, settings: Settings, opponent: Agent, train_state: CellsState, iteration: int
) -> dict[str, np.ndarray | float]:
    """Returns `train.driver.loop.evaluation` of every cell: the same games as those of a single run, in one program."""
    key, games, seat = evaluation_key(iteration), settings.evaluation_games, settings.evaluation_seat
    mesh = sharding.mesh_for(cells.config.devices, cells.batch_sizes)
    opponent = jax.device_put(opponent, sharding.shardings(mesh, REPLICATED))
    with jax.set_mesh(mesh):
        return to_floats(_evaluate(cells, games, seat, opponent, train_state.params, key))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _evaluate(
    cells: Cells, num_games: int, seat: int | None, opponent: Agent, params: Any, key: jax.Array
) -> dict[str, jax.Array]:
    return cells.evaluate(num_games, seat, opponent, params, key)
