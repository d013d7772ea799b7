"""The critic's own parameters: those that a policy's values depend on, and its logits do not.

While only they change, every action keeps its probability to the last bit. In most networks they are the last layer of
the value. They are read from the traced program of the logits, so this holds for every network and every sharing.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Var

from train.models.policy import Params, Policy, merge_statistics, split_statistics

ROWS = 2  # observations of the traced batch; any number would do


def critic_only(policy: Policy) -> Params:
    """Returns a bool for each array of the policy's parameters: whether the logits do not depend on it.

    Raises ValueError if there is no such array.
    """
    of_one_seat = dataclasses.replace(policy, sharing="shared")  # each seat's logits depend on the same arrays
    params = jax.eval_shape(of_one_seat.init, jax.random.key(0))
    observation = jax.ShapeDtypeStruct((ROWS, *policy.observation_shape), jnp.bool_)
    seat = jax.ShapeDtypeStruct((ROWS,), jnp.int32)
    program = jax.make_jaxpr(lambda *inputs: of_one_seat.apply(*inputs)[0])(params, observation, seat)
    leaves, structure = jax.tree.flatten(params)
    own = [not used for used in inputs_of_result(program)[: len(leaves)]]
    if not any(own):
        raise ValueError(
            f"all parameters of {policy.network} change its logits, so its critic cannot learn alone: "
            "leave out critic_warmup, or choose a network whose value has its own layer"
        )
    return jax.tree.unflatten(structure, own)


def inputs_of_result(program: Any) -> list[bool]:
    """Returns for each input of a traced program whether a result of it may depend on the input.

    An operation counts as a whole, so an input can be marked that no result depends on, but never the other way round.
    """
    jaxpr: Any = program.jaxpr
    needed = {variable for variable in jaxpr.outvars if isinstance(variable, Var)}
    for operation in reversed(jaxpr.eqns):
        if needed.intersection(operation.outvars):
            needed.update(variable for variable in operation.invars if isinstance(variable, Var))
    return [variable in needed for variable in jaxpr.invars]


def keep_policy(policy: Policy, kept: jax.Array, params: Params, learned: Params) -> Params:
    """Returns a gradient with the network's statistics after it; if `kept` (bool[]), those of the critic's own arrays.

    Then all other gradients are 0, and all other statistics those of `params`.
    """
    weights, statistics = split_statistics(params)
    unchanged = merge_statistics(jax.tree.map(jnp.zeros_like, weights), statistics)
    own = critic_only(policy)
    return jax.tree.map(lambda own, old, new: new if own else jnp.where(kept, old, new), own, unchanged, learned)
