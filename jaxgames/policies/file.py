"""Policies in files of their own, which `python -m train.export` writes and `jaxgames.policies.exported` plays.

A file has the network as a program of `jax.export` (StableHLO, for any number of boards), the parameters as arrays, and
a header. It needs neither flax nor `train`. JAX reads programs of versions that are at most six months older, so old
files must be exported again.

A file is a program, which computes arrays from arrays. Nothing in it is unpickled, and operations that reach the host
or another library are refused (`FORBIDDEN`). But a file from somebody else can compute for ever, which not even Ctrl-C
ends, or take all memory. Play only files of people whom you trust.
"""

import dataclasses
import hashlib
import json
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from jaxgames import _files
from jaxgames._files import FileKind
from jaxgames.env import Env

Platform = Literal["cpu", "cuda", "rocm", "tpu"]

HEADER, PROGRAM, PARAMETER = "header", "program", "parameter."  # names of the arrays in a file
UNREAD = "values"  # an entry of the header that files may have
KIND = FileKind(
    format=1,
    noun="an exported policy",
    relation="has a policy for",
    source="train.export",
    how_to_write="write one with python -m train.export RUN --output FILE in a checkout of the repository",
    again="export a run again with python -m train.export in a checkout of the repository",
    compressed=False,
)

FORBIDDEN = re.compile(r"\.(custom_call(?! @shape_assertion\()|infeed|outfeed|send|recv)\b")  # operations of StableHLO


@dataclass(frozen=True)
class Header:
    """The facts about an exported policy, as JSON in its file. The file also has the game and its version."""

    learner: str  # such as "ppo"
    run: str  # the folder of the run
    iteration: int  # of the checkpoint
    network: dict[str, Any]  # the settings of the network, such as its name and sizes
    sharing: str  # of the parameters between seats: "shared", "shared_encoder" or "independent"
    observation_shape: tuple[int, ...]
    num_actions: int
    num_players: int
    temperature: float  # with which the run's own agent plays
    value_shape: tuple[int, ...]  # of a row's value: () or (num_players,)
    platforms: tuple[str, ...]
    jax_version: str
    calling_convention_version: int
    kept_arguments: tuple[int, ...]  # the indices of the arguments that the program reads
    sha256: str  # of the program and the parameters
    gamma: float = 1.0  # discount of a turn in a search


class Content(NamedTuple):
    """The content of a file: the header, the program and the parameters."""

    header: Header
    module: bytes  # StableHLO
    params: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class ExportedPolicy:
    """The program of a file as a `jaxgames.policies.policy.Policy`. Those of equal programs are equal."""

    digest: str  # SHA-256 of the program
    header: Header = field(compare=False)
    text: str = field(compare=False)  # of the agent that plays with it, as `jaxgames.agents.make` takes it
    call: Callable[..., tuple[jax.Array, jax.Array]] = field(compare=False, repr=False)

    def apply(self, params: Any, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns logits float32[B, num_actions] and values float32[B, *value_shape], in scaled reward."""
        return self.call(params, observation, seat.astype(jnp.int32))

    def __str__(self) -> str:
        return self.text


def load(
    path: str | Path, env: Env[Any], plays: Callable[[Env[Any], Env[Any]], bool] = operator.eq
) -> tuple[ExportedPolicy, tuple[jax.Array, ...]]:
    """Returns the policy and the parameters of a file.

    Args:
      path: the file.
      env: the game to play, with or without `auto_reset`.
      plays: returns whether a policy for the first game plays the second one. By default they must be equal.

    Raises OSError if the file cannot be read, ValueError, with the reason, if it is not for this game, this platform or
    this version of JAX.
    """
    game, (header, module, params) = read(path)
    if not plays(game, env.unwrapped):
        raise ValueError(f"{path} has a policy for {game}, not for {env}")
    _check_runs_here(path, header)
    with _files.refusing_wrong_entries(KIND, path):
        program = _program(header, module, params)
    digest = hashlib.sha256(module).hexdigest()
    return ExportedPolicy(digest, header, f"exported({path})", _mappable(program)), tuple(jax.device_put(params))


def _check_runs_here(path: str | Path, header: Header) -> None:
    """Raises ValueError unless the program is for this platform and for this version of JAX."""
    platform = export.default_export_platform()
    if platform not in header.platforms:
        raise ValueError(
            f"{path} was made for {', '.join(header.platforms)}, not for {platform}: export the run with --platforms "
            f"{' '.join([*header.platforms, platform])}"
        )
    lowest = export.minimum_supported_calling_convention_version
    highest = export.maximum_supported_calling_convention_version
    if not lowest <= header.calling_convention_version <= highest:
        raise ValueError(
            f"{path} was made with JAX {header.jax_version} and its calling convention "
            f"{header.calling_convention_version}, and JAX {jax.__version__} reads {lowest} to {highest}: install that "
            "JAX, or export the run again with this one"
        )


# -- files ---------------------------------------------------------------------------------------------------------


def write(path: str | Path, env: Env[Any], content: Content) -> None:
    """Writes a policy to a file, which `read` reads; creates the folders of the file."""
    header = json.dumps(dataclasses.asdict(content.header))
    arrays = {HEADER: np.asarray(header), PROGRAM: np.frombuffer(content.module, np.uint8)}
    arrays |= {f"{PARAMETER}{number}": leaf for number, leaf in enumerate(content.params)}
    _files.write_file(KIND, path, env, arrays)


def read(path: str | Path) -> tuple[Env[Any], Content]:
    """Returns the game and the content of a file.

    Raises OSError if it cannot be read. Raises ValueError, with the reason, for a file that is cut short or altered, or
    has another format or another version of the game.
    """
    game, arrays = _files.read_file(KIND, path)
    if HEADER not in arrays:
        raise ValueError(f"{path} is not {KIND.noun}: {KIND.how_to_write}")
    with _files.refusing_wrong_entries(KIND, path):
        stored = {name: _tuples(value) for name, value in json.loads(str(arrays.pop(HEADER))).items()}
        header = Header(**{name: value for name, value in stored.items() if name != UNREAD})
        module = arrays.pop(PROGRAM)
        params = tuple(arrays[f"{PARAMETER}{number}"] for number in range(len(arrays)))
    return game, Content(header, module.tobytes(), params)


def digest_of(module: bytes, params: Sequence[np.ndarray]) -> str:
    """Returns the SHA-256 of a program and its parameters in hexadecimal digits."""
    digest = hashlib.sha256(module)
    for leaf in params:
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # of JSON


# -- programs ------------------------------------------------------------------------------------------------------


def arguments(observation_shape: Sequence[int], params: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the shapes of a program's arguments: parameters, observations and seats, for any number of rows."""
    (rows,) = export.symbolic_shape("rows")
    of_params = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in params)
    observation = jax.ShapeDtypeStruct((rows, *observation_shape), jnp.bool_)
    return of_params, observation, jax.ShapeDtypeStruct((rows,), jnp.int32)


def _program(header: Header, module: bytes, params: Sequence[np.ndarray]) -> export.Exported:
    """Returns the program of a file: the export of a function with its arguments and results, with its module in place.

    `Exported.serialize` would store the export as a whole, but needs flatbuffers, which JAX does not install. A module
    with operations that reach outside of it is refused.
    """

    def outline(params: Any, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        # Of arguments only, so that it can be traced while constants are computed, inside of another trace.
        number, rows = seat.astype(jnp.float32), seat.shape[0]
        logits = jax.lax.broadcast_in_dim(number, (rows, header.num_actions), (0,))
        return logits, jax.lax.broadcast_in_dim(number, (rows, *header.value_shape), (0,))

    made = export.export(jax.jit(outline), platforms=header.platforms)(*arguments(header.observation_shape, params))
    program = dataclasses.replace(
        made,
        fun_name="exported",
        mlir_module_serialized=module,
        module_kept_var_idx=header.kept_arguments,
        calling_convention_version=header.calling_convention_version,
    )
    try:
        text = program.mlir_module()
    except jax.errors.JaxRuntimeError as error:
        raise ValueError("the program cannot be read") from error
    if (forbidden := FORBIDDEN.search(text)) is not None:
        raise ValueError(f"the program reaches outside of itself, by the operation {forbidden[1]}")
    return program


def _mappable(program: export.Exported) -> Callable[..., Any]:
    """Returns the call of a program, with a rule for `vmap`, which programs of `jax.export` do not have.

    Mapped rows are rows of one larger batch. Where the parameters are mapped, the program runs once for each of them.
    """

    @jax.custom_batching.custom_vmap
    def call(params: Any, observation: jax.Array, seat: jax.Array) -> Any:
        return program.call(params, observation, seat)

    @call.def_vmap
    def _(axis_size: int, is_mapped: Any, *arguments: Any) -> Any:
        def spread(leaf: jax.Array, mapped: bool) -> jax.Array:
            return leaf if mapped else jnp.broadcast_to(leaf, (axis_size, *leaf.shape))

        if any(jax.tree.leaves(is_mapped[0])):
            entries = jax.tree.map(spread, arguments, tuple(is_mapped))
            return jax.lax.map(lambda entry: call(*entry), entries), (True, True)
        rows = [spread(leaf, mapped) for leaf, mapped in zip(arguments[1:], is_mapped[1:], strict=True)]
        results = call(arguments[0], *(leaf.reshape(-1, *leaf.shape[2:]) for leaf in rows))
        return jax.tree.map(lambda leaf: leaf.reshape(axis_size, -1, *leaf.shape[1:]), results), (True, True)

    return call
