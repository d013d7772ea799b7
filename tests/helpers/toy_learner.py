"""The smallest learner: it prefers actions at random, and the driver trains it as it trains any other.

python -m tests.helpers.toy_learner --run-dir FOLDER
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

import jaxgames
from jaxgames.agents import Agent
from jaxgames.wrappers import AutoResetState
from tests.helpers.scripted_agents import Preferring
from tests.helpers.sticks import Sticks
from train.driver import cli
from train.driver.learner import Learner
from train.ops.sharding import REPLICATED, SHARDED

ENV = jaxgames.auto_reset(Sticks())


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Numbers:
    learning_rate: float = 0.5


@dataclass(frozen=True)
class Config:
    env: str = "sticks"
    total_steps: int = 40
    seed: int = 0
    num_envs: int = 4
    learning_rate: float = 0.5
    sizes: tuple[int, ...] = (3, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        if self.num_envs < 1:
            raise ValueError(f"num_envs must be positive, not {self.num_envs}")

    @property
    def steps_per_iteration(self) -> int:
        return self.num_envs

    @property
    def num_iterations(self) -> int:
        return -(-self.total_steps // self.steps_per_iteration)


class TrainState(NamedTuple):
    params: dict[str, jax.Array]
    boards: AutoResetState[Any]  # [num_envs]
    nothing: jax.Array  # float32[2, 0]
    key: jax.Array
    iteration: jax.Array


@dataclass(frozen=True)
class ToyLearner(Learner):
    name: ClassVar[str] = "toy"
    config_type: ClassVar[type[Config]] = Config

    config: Config
    numbers: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", self.numbers or Numbers(self.config.learning_rate))

    @property
    def env(self) -> jaxgames.Env[Any]:
        return Sticks()

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"num_envs": self.config.num_envs}

    @property
    def partition_specs(self) -> Any:
        return TrainState(REPLICATED, SHARDED, REPLICATED, REPLICATED, REPLICATED)  # pyright: ignore[reportArgumentType]  # specs stand for arrays

    def agent(self, params: Any, temperature: float | None = None, top: int | None = None) -> Agent:
        return Preferring(Sticks(), params["preference"])

    def init_params(self, key: jax.Array) -> dict[str, jax.Array]:
        return {"preference": jnp.zeros(3), "weights": jnp.zeros(self.config.sizes)}

    def init(self, key: jax.Array) -> TrainState:
        params = self.init_params(key)
        boards = jax.vmap(ENV.init)(jax.random.split(key, self.config.num_envs))
        return TrainState(params, boards, jnp.zeros((2, 0)), key, jnp.int32(0))

    def iterate(self, train_state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
        key, noise_key = jax.random.split(train_state.key)
        noise = self.numbers.learning_rate * jax.random.normal(noise_key, (3,))
        params = train_state.params | {"preference": train_state.params["preference"] + noise}
        boards = jax.vmap(ENV.step)(train_state.boards, jnp.zeros(self.config.num_envs, jnp.int32))
        metrics = {"noise": noise.sum(), "undefined": jnp.float32(jnp.nan)}
        return TrainState(params, boards, train_state.nothing, key, train_state.iteration + 1), metrics


def main() -> None:
    cli.main(ToyLearner)


if __name__ == "__main__":
    main()
