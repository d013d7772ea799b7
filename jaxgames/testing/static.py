"""Checks before a game is played: attributes, signatures, and the shapes of what the methods return when traced."""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env, State
from jaxgames.registry import list_games, make
from jaxgames.wrappers import AutoReset


def check_values(env: Any) -> None:
    """Checks the attributes and signatures, and that the env is hashable and equals what its text makes."""
    require(isinstance(env, Env), f"expected a jaxgames.Env, not {_name(env)}: pass an instance, as in MyGame(size=3)")
    if isinstance(env, AutoReset):
        raise AssertionError(f"the games of {env} never end: check the env inside")
    frozen = getattr(getattr(env, "__dataclass_params__", None), "frozen", False)
    require(frozen, f"{type(env).__name__} must be a frozen dataclass: write @dataclass(frozen=True) above its class")
    values = {name: _value(env, name) for name in ("id", "num_players", "num_actions", "version", "observation_shape")}
    sound = isinstance(values["id"], str) and values["id"].isidentifier()
    require(sound, f"id must be a Python identifier, not {values['id']!r}")
    for name, least in (("num_players", 2), ("num_actions", 1), ("version", 1)):
        value = values[name]
        require(type(value) is int and value >= least, f"{name} must be an int of at least {least}, not {value!r}")
    shape = values["observation_shape"]
    sound = isinstance(shape, tuple) and all(type(size) is int and size > 0 for size in shape)
    require(sound, f"observation_shape must be a tuple of positive ints, not {shape!r}")
    support = _value(env, "observation_support")
    sound = isinstance(support, np.ndarray) and support.dtype == np.bool_ and support.shape == shape
    require(sound, f"observation_support must be a numpy bool{list(shape)}")
    limit = _value(env, "max_steps")
    require(limit is None or (type(limit) is int and limit > 0), f"max_steps must be None or positive, not {limit!r}")
    bounds = _value(env, "reward_range")
    sound = isinstance(bounds, tuple) and [type(bound) for bound in bounds] == [float, float]
    sound = sound and bounds[0] <= -1 and bounds[1] >= 1 / (env.num_players - 1)
    require(sound, f"reward_range must be two floats and hold what an illegal action pays, not {bounds!r}")
    for name in ("zero_sum", "terminal_rewards"):
        require(type(_value(env, name)) is bool, f"{name} must be a bool, not {_value(env, name)!r}")
    must_return("hash(env), which makes it static under jax.jit,", hash, env)
    if env.id in list_games():
        twin = must_return(f"make({str(env)!r})", make, str(env))
        same = (twin, hash(twin)) == (env, hash(env))
        require(same, f"make({str(env)!r}) must give an equal env with an equal hash, not {twin}")


def _value(env: Any, name: str) -> Any:
    """Returns an attribute. Raises AssertionError where it is missing, fails, or is a method without @property."""
    require(hasattr(type(env), name) or name in vars(env), f"{type(env).__name__} must define {name}")
    value = must_return(name, getattr, env, name)
    require(not inspect.ismethod(value), f"{name} must be a value, not a method: write @property above it")
    return value


def check_shapes(env: Env[Any]) -> None:
    """Checks the types and shapes that the functions return; they are traced, not run."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    action = jax.ShapeDtypeStruct((), jnp.int32)
    start = _traced(env, "init", key)
    _check_state(env, "init", start)
    for name, arguments, shape in (
        ("legal_action_mask", (), (env.num_actions,)),
        ("observe", (), env.observation_shape),
        ("observe", (action,), env.observation_shape),
        ("winners", (), (env.num_players,)),
    ):
        leaf = _traced(env, name, start, *arguments)
        call = f"{name}({', '.join(('state', 'player')[: 1 + len(arguments)])})"
        require(hasattr(leaf, "shape"), f"{call} must be bool{list(shape)}, not {_name(leaf)}")
        require(_type(leaf) == f"bool{list(shape)}", f"{call} must be bool{list(shape)}, not {_type(leaf)}")
    after = _traced(env, "step", start, action, key)
    _check_state(env, "step", after)
    same = jax.tree.structure(start) == jax.tree.structure(after)
    require(same, "step must return a state of the structure that init returns")
    for (path, old), new in zip(jax.tree_util.tree_leaves_with_path(start), jax.tree.leaves(after), strict=True):
        same = (old.shape, old.dtype, old.weak_type) == (new.shape, new.dtype, new.weak_type)
        weak = " with a weak type: write the dtype in _init, as in jnp.int32(0)" if _type(old) == _type(new) else ""
        name = jax.tree_util.keystr(path)
        require(same, f"step must keep shapes and dtypes, but {name} goes from {_type(old)}{weak} to {_type(new)}")


def _check_state(env: Env[Any], where: str, state: Any) -> None:
    require(isinstance(state, State), f"{where} must return a jaxgames.State, not {_name(state)}")
    flags = {"current_player": "int32[]", "terminated": "bool[]", "truncated": "bool[]"}
    for name, expected in (flags | {"rewards": f"float32[{env.num_players}]"}).items():
        found = _type(getattr(state, name))
        require(found == expected, f"{where}: {name} must be {expected}, not {found}")


def _traced(env: Env[Any], name: str, *arguments: Any) -> Any:
    """Returns the shapes that a public method returns."""
    return must_return(name, jax.eval_shape, getattr(env, name), *arguments)


def _name(value: Any) -> str:
    """Returns the name of a class, or of the class of a value."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _type(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"


def must_return(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the result of a call. Raises AssertionError with `name` where the call fails."""
    try:
        return function(*arguments)
    except Exception as error:
        message = f"{name} must not fail, but raised {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        if isinstance(error, jax.errors.ConcretizationTypeError | jax.errors.TracerArrayConversionError):
            message += " It runs under jax.jit: write jnp.where in place of `if`, and jnp in place of numpy or int()"
        raise AssertionError(message) from error


def require(condition: Any, message: str) -> None:
    """Raises AssertionError with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)
