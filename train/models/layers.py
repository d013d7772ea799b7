"""The type of a network, and the parts that networks share.

    encoder    observation bool[B, *observation_shape]  ->  features float32[B, ...]
    heads      features  ->  logits float32[B, num_actions], values float32[B]

The two are apart so that seats can share the encoder and have their own heads (`train.models.policy`).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import ParameterError, ParameterTypeError, check_int

EnvT = TypeVar("EnvT", bound=Env[Any])

ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "tanh": nn.tanh,
    "relu": nn.relu,
    "gelu": nn.gelu,
    "elu": nn.elu,
    "silu": nn.silu,
}
ComputeDtype = Literal["float32", "bfloat16"]
COMPUTE_DTYPES: tuple[str, ...] = get_args(ComputeDtype)

MAX_SIZE = 1_000_000  # the largest number of units, channels or blocks that a network accepts


@dataclass(frozen=True)
class Network:
    """The encoder and the heads of one game: Flax modules without parameters, hashable and static under jit.

    The modules named in `training_mode` take a second argument, `training`. It is None in play. In the update it is
    bool[B], the rows that count in the statistics of the batch. Units can then be dropped with the random numbers of
    "dropout". The optimizer changes only the collection "params". After a gradient step, other collections, such as
    "batch_stats", have the values that the modules gave them.

    With `any_board`, the parameters have the same shapes on every board of the game. So the modules that the network's
    function returns for one board can apply parameters that were trained on another one.
    """

    encoder: nn.Module
    heads: nn.Module
    training_mode: tuple[Literal["encoder", "heads"], ...] = ()
    any_board: bool = False


class DenseHeads(nn.Module):
    """The two heads: float32[..., features] -> logits float32[..., num_actions], values float32[...]."""

    num_actions: int

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = nn.Dense(self.num_actions, kernel_init=small())(features)
        value = nn.Dense(1, kernel_init=small())(features)
        return logits, value[..., 0]


class FlatDense(nn.Module):
    """A dense layer with orthogonal weights: float32[..., features] -> float32[..., width].

    It is one product of two matrices. On a CPU the gradient of `flax.linen.Dense` on three axes takes twice the time.
    """

    width: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        y = nn.Dense(self.width, kernel_init=orthogonal())(x.reshape(-1, x.shape[-1]))
        return y.reshape(*x.shape[:-1], self.width)


def orthogonal() -> Any:
    """Returns the initializer of layers that an activation follows."""
    return nn.initializers.orthogonal(np.sqrt(2))


def residual_dense(x: jax.Array, width: int, blocks: int, drop: nn.Dropout) -> jax.Array:
    """Returns float32[..., width]: a dense stem, residual blocks of two dense layers, layer norm, ReLU and dropout.

    It is called inside of a compact method, whose module gets the layers.
    """
    x = nn.Dense(width, kernel_init=orthogonal())(x)
    for _ in range(blocks):
        y = drop(nn.relu(nn.Dense(width, kernel_init=orthogonal())(nn.LayerNorm()(x))))
        x = x + nn.Dense(width, kernel_init=nn.initializers.zeros)(y)
    return drop(nn.relu(nn.LayerNorm()(x)))


def small() -> Any:
    """Returns the initializer of last layers, which makes first policies nearly uniform and first values nearly 0."""
    return nn.initializers.orthogonal(0.01)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def take_cells(x: jax.Array, cells: tuple[int, ...], back: tuple[int, ...]) -> jax.Array:
    """Returns the entries of other cells: [len(cells), ...], the entry i of `x` (of the same shape) at cells[i].

    It is 0 where cells[i] is len(cells), off the board. `back` leads back: where cells[i] = j, back[j] = i. So the
    gradient is taken in the same way; JAX's own would add up single entries.
    """
    return jnp.concatenate([x, jnp.zeros_like(x[:1])])[np.array(cells)]


take_cells.defvjp(
    lambda x, cells, back: (take_cells(x, cells, back), None),
    lambda cells, back, _, gradient: (take_cells(gradient, back, cells),),
)


def game_for(network: str, env: Env[Any], kind: type[EnvT], instead: str) -> EnvT:
    """Returns the game without wrappers. Raises ParameterError if the network is not made for it."""
    game = env.unwrapped
    if not isinstance(game, kind):
        raise ParameterError(f"{network} plays only {kind.id}, not {env}: use {instead}")
    return game


def check_sizes(name: str, sizes: object) -> tuple[int, ...]:
    """Returns the numbers as a tuple. Raises ParameterError unless they are one or more positive integers."""
    expected = f"{name} must be one or more positive integers, such as [64, 64]"
    if not isinstance(sizes, (list, tuple)):
        raise ParameterTypeError(f"{expected}, not {sizes!r}")
    numbers: tuple[Any, ...] = tuple(sizes)  # pyright: ignore[reportUnknownVariableType]  # the elements are checked next
    if not numbers or not all(type(number) is int and number > 0 for number in numbers):
        raise ParameterError(f"{expected}, not {sizes!r}")
    return numbers


def check_single(name: str, number: object) -> int:
    """Returns the number; of a list with one entry, as `--channels 64` gives it, the entry.

    Raises ParameterError unless it is a positive integer.
    """
    if isinstance(number, tuple) and len(number) == 1:  # pyright: ignore[reportUnknownArgumentType]  # checked next
        number = number[0]
    check_int(name, number, 1, MAX_SIZE)
    assert isinstance(number, int)
    return number


def check_dropout(dropout: object) -> float:
    """Returns the probability that a unit is dropped. Raises ParameterError unless it is at least 0 and less than 1."""
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
        raise ParameterError(f"dropout must be at least 0 and less than 1, not {dropout!r}")
    return float(dropout)


def check_grid(network: str, env: Env[Any]) -> tuple[int, int, int]:
    """Returns the observation's height, width and planes. Raises ParameterError if observations are not grids."""
    if len(env.observation_shape) != 3:
        raise ParameterError(
            f"{network} needs observations of shape [height, width, planes], and those of {env} have shape "
            f"{list(env.observation_shape)}: use mlp"
        )
    height, width, planes = env.observation_shape
    return height, width, planes
