"""The searches that benchmarks/search.py compares, each as a program of a key, parameters and boards.

    ours     `jaxgames.mcts.search`, over the slots of a config
    dense    `mctx.gumbel_muzero_policy` over all actions of the same game, with the same rules of selection
    pgx      the same function of mctx on a game of Pgx, whose nodes hold Pgx's whole state

All of them search with the same kind of network: dense layers with ReLU, one linear layer for logits and value.
"""

import dataclasses
import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np

import jaxgames
from benchmarks.random_play import Playing, at_random, play_loop
from jaxgames.mcts import Evaluation, SearchConfig, bytes_per_node, search
from jaxgames.mcts.tree import MASKED_LOGIT
from jaxgames.wrappers import seat_discount

PLIES = 16  # of random play before the roots
Params = list[tuple[jax.Array, jax.Array]]  # the weights and the bias of each layer
_RootFnOutput: Any = mctx.RootFnOutput  # chex's dataclasses are not those of JAX to a type checker
_RecurrentFnOutput: Any = mctx.RecurrentFnOutput
_gumbel_muzero_policy: Any = mctx.gumbel_muzero_policy


class Side(NamedTuple):
    """A search that is ready to be timed."""

    program: Callable[..., Any]  # (key, params, boards) -> what the search finds
    params: Params
    boards: Any
    bytes_per_node: int


# -- network ----------------------------------------------------------------------------------------------


def init_network(inputs: int, hidden_sizes: tuple[int, ...], num_actions: int) -> Params:
    """Returns the parameters of a network with random weights; its last layer gives the logits and the value."""
    sizes = (inputs, *hidden_sizes, num_actions + 1)
    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    shapes = zip(keys, sizes, sizes[1:], strict=False)
    return [(jax.random.normal(key, (n, m)) / np.sqrt(n), jnp.zeros(m)) for key, n, m in shapes]


def parameters_for(env: jaxgames.Env[Any], hidden_sizes: tuple[int, ...]) -> Params:
    """Returns the parameters of the network of a game of this project."""
    return init_network(int(np.prod(env.observation_shape)), hidden_sizes, env.num_actions)


def apply_network(params: Params, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns logits float32[B, num_actions] and the mover's values float32[B] for observations bool[B, ...]."""
    features = observation.reshape(len(observation), -1).astype(jnp.float32)
    *hidden, (weights, bias) = params
    for matrix, offset in hidden:
        features = jax.nn.relu(features @ matrix + offset)
    out = features @ weights + bias
    return out[:, :-1], jnp.tanh(out[:, -1])


@dataclass(frozen=True)
class NetworkEvaluate:
    """The network as `jaxgames.mcts.Evaluate`, for a zero-sum game of two seats."""

    env: jaxgames.Env[Any]

    def __call__(self, params: Params, states: Any) -> Evaluation:
        logits, value = apply_network(params, jax.vmap(self.env.observe)(states))
        of_seat_0 = jnp.where(states.current_player == 0, value, -value)
        return Evaluation(logits, jnp.stack([of_seat_0, -of_seat_0], axis=1))


# -- sides ------------------------------------------------------------------------------------------------


def ours(game: str, boards: int, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    """Returns the search of this project."""
    env = game_of_two(game)

    def program(key: jax.Array, params: Params, states: Any) -> Any:
        return search(env, NetworkEvaluate(env), config, key, params, states)

    params = parameters_for(env, hidden_sizes)
    return Side(program, params, positions(env, boards), bytes_per_node(env, config))


def dense(game: str, boards: int, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    """Returns mctx over all actions of a game of this project."""
    env = game_of_two(game)
    program = functools.partial(_dense_search, env, config)
    params = parameters_for(env, hidden_sizes)
    return _mctx_side(program, params, positions(env, boards))


def pgx(game: str, boards: int, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    """Returns mctx on a game of Pgx. Raises ValueError if Pgx is not installed."""
    if importlib.util.find_spec("pgx") is None:
        raise ValueError('the peer needs pgx: pip install "jaxgames[dev]", or leave the part "peer" out')
    from benchmarks.peer_process import pgx_env

    bare, playing = pgx_env(game)
    states = positions_of(playing, boards)
    params = init_network(int(np.prod(states.observation.shape[1:])), hidden_sizes, states.legal_action_mask.shape[1])
    return _mctx_side(functools.partial(_pgx_search, bare, config), params, states)


def _dense_search(env: jaxgames.Env[Any], config: SearchConfig, key: jax.Array, params: Params, states: Any) -> Any:
    """Returns the output of mctx on boards of this project."""

    def evaluated(params: Params, states: Any) -> tuple[jax.Array, jax.Array]:
        logits, value = apply_network(params, jax.vmap(env.observe)(states))
        return jnp.where(jax.vmap(env.legal_action_mask)(states), logits, MASKED_LOGIT), value

    def recurrent(params: Params, key: jax.Array, action: jax.Array, states: Any) -> Any:
        after = jax.vmap(env.step)(states, action)  # finished boards, which mctx steps too, stay as they are
        logits, value = evaluated(params, after)
        return _next(after, states.current_player, seat_discount(states, after), logits, value), after

    logits, value = evaluated(params, states)
    root = _RootFnOutput(prior_logits=logits, value=value, embedding=states)
    return _mctx_search(config, key, params, root, recurrent, ~jax.vmap(env.legal_action_mask)(states))


def _pgx_search(env: Any, config: SearchConfig, key: jax.Array, params: Params, states: Any) -> Any:
    """Returns the output of mctx on states of Pgx, which hold observations and masks."""

    def evaluated(params: Params, states: Any) -> tuple[jax.Array, jax.Array]:
        logits, value = apply_network(params, states.observation)
        return jnp.where(states.legal_action_mask, logits, MASKED_LOGIT), value

    def recurrent(params: Params, key: jax.Array, action: jax.Array, states: Any) -> Any:
        mover = states.current_player
        states = jax.vmap(env.step)(states, action)
        logits, value = evaluated(params, states)
        return _next(states, mover, -jnp.ones_like(value), logits, value), states

    logits, value = evaluated(params, states)
    root = _RootFnOutput(prior_logits=logits, value=value, embedding=states)
    return _mctx_search(config, key, params, root, recurrent, ~states.legal_action_mask)


def _next(states: Any, mover: jax.Array, discount: jax.Array, logits: jax.Array, value: jax.Array) -> Any:
    """Returns mctx's record of a step; a terminated board has neither a value nor a future."""
    return _RecurrentFnOutput(
        reward=states.rewards[jnp.arange(len(mover)), mover],
        discount=jnp.where(states.terminated, 0.0, discount),
        prior_logits=logits,
        value=jnp.where(states.terminated, 0.0, value),
    )


def _mctx_search(config: SearchConfig, key: jax.Array, params: Params, root: Any, recurrent: Any, illegal: Any) -> Any:
    """Returns the output of mctx with the settings of a config."""
    return _gumbel_muzero_policy(
        params,
        key,
        root,
        recurrent,
        num_simulations=config.simulations,
        invalid_actions=illegal,
        max_num_considered_actions=config.max_considered,
        gumbel_scale=config.gumbel_scale,
        qtransform=functools.partial(
            mctx.qtransform_completed_by_mix_value,
            value_scale=config.value_scale,
            maxvisit_init=config.maxvisit_init,
            epsilon=config.value_epsilon,
        ),
    )


def _mctx_side(search_all: Callable[..., Any], params: Params, boards: Any) -> Side:
    """Returns a search of mctx as a side; of its output, the tree is not kept."""

    def program(key: jax.Array, params: Params, states: Any) -> Any:
        output = search_all(key, params, states)
        return output.action, output.action_weights, output.search_tree.node_values[:, 0]

    tree = jax.eval_shape(search_all, jax.random.key(0), params, boards).search_tree
    per_tree = ("root_invalid_actions", "extra_data")
    arrays = [getattr(tree, field.name) for field in dataclasses.fields(tree) if field.name not in per_tree]
    nodes = tree.node_visits.size
    total = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(arrays))
    return Side(program, params, boards, total // nodes)


# -- boards -----------------------------------------------------------------------------------------------


def positions(env: jaxgames.Env[Any], boards: int) -> Any:
    """Returns positions of random games of this project, live ones."""
    return positions_of(Playing(env), boards).board


def positions_of(playing: Any, boards: int) -> Any:
    """Returns the boards of random play with restarts after `PLIES` steps."""

    @jax.jit
    def play(key: jax.Array) -> Any:
        init_key, key = jax.random.split(key)
        start = jax.vmap(playing.init)(jax.random.split(init_key, boards))
        return play_loop(playing, boards, PLIES, at_random)(key, start, None)[0]

    return play(jax.random.key(0))


def game_of_two(game: str) -> jaxgames.Env[Any]:
    """Returns the game that a text names.

    Raises ValueError unless it is a zero-sum game of two seats, as mctx needs it.
    """
    env = jaxgames.make(game)
    if env.num_players != 2 or not env.zero_sum:
        raise ValueError(f"env must be a zero-sum game of two seats, which mctx can search too, not {env}")
    return env
