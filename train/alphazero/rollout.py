"""Self-play of AlphaZero: one search per step on every board, and the samples that follow from it.

All boards play at the same time, and a finished board restarts in the same step. A game starts from the game's own
start or, with a share of `random_starts`, from a random position.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.agents import explored
from jaxgames.mcts import SearchConfig, SearchResult, search
from jaxgames.mcts.search import choose_boards
from jaxgames.policies.policy import Policy, PolicyEvaluate, reward_scale
from jaxgames.solvers.strength import VALUE_THRESHOLD
from train.alphazero.config import Config
from train.models.policy import Params
from train.models.tabulated import table_or_network
from train.models.value_heads import outputs_of
from train.ops import replay
from train.ops.episodes import EpisodeStats, Metrics, map_next_boards
from train.ops.sharding import REPLICATED, SHARDED_BY_BOARD, on_each_device
from train.ops.start_positions import Starts, init_starts, next_starts
from train.ops.value_targets import discounts, lambda_returns, outcomes


class Sample(NamedTuple):
    """One step in the replay buffer. `observations_of` returns the observation of its position."""

    position: Any  # the live board if `stores_boards`; else uint8[observation_bytes], the bits of its observation
    slots: jax.Array  # int16 or int32[K], the actions of the search; -1 in padding
    weights: jax.Array  # float16[K], the search's policy over them; zeros where it is not learned
    values: jax.Array  # float32[1 or num_players], the targets of the value head


class Minibatch(NamedTuple):
    """Samples as the loss reads them, leaves [B, ...]."""

    observation: jax.Array  # bool[*observation_shape]
    slots: jax.Array  # int32[K], see Sample
    weights: jax.Array  # float16[K]
    values: jax.Array  # float32[1 or num_players]


class GameState(NamedTuple):
    """The part of a train state that belongs to one game."""

    boards: Any  # live states [num_envs]
    episode_stats: EpisodeStats  # [num_envs]
    starts: Starts | None  # random positions, one per board; None without `random_starts`
    replay: Sample  # [num_envs, capacity, ...]


class TrainState(NamedTuple):
    """The whole state of a run between two iterations."""

    params: Params  # of the agents; with `ema`, the moving average of `learning`
    learning: Params | None  # the parameters that gradient steps change; None if `params` are these
    opt_state: Any  # optax's
    games: tuple[GameState, ...]  # of `env`, and of each of `other_envs`
    key: jax.Array
    iteration: jax.Array  # int32[]

    @property
    def learning_params(self) -> Params:
        """The parameters that gradient steps change, and that self-play searches with."""
        return self.params if self.learning is None else self.learning


class Steps(NamedTuple):
    """The steps of a rollout, leaves [rollout_length, num_envs, ...]."""

    state: jaxgames.State  # the live board on which the step was played
    action: jax.Array  # int32[]
    is_random: jax.Array  # bool[], whether the action was drawn from all legal ones
    slots: jax.Array  # int32[K], the actions of the search; -1 in padding
    weights: jax.Array  # float32[K], the search's policy over them; zeros after a fast search
    predicted: jax.Array  # float32[], the network's value of the mover, scaled as all values and rewards here
    values: jax.Array  # float32[num_players], `policy_values` of the search
    next_values: jax.Array  # float32[num_players], of the board that the step led to, before any restart
    rewards: jax.Array  # float32[num_players]
    terminated: jax.Array  # bool[]
    truncated: jax.Array  # bool[]
    next_seat: jax.Array  # int32[], the mover of the board that the step led to, before any restart
    episode_stats: EpisodeStats  # of the game that the step belongs to, the step included
    step_key: None = None  # the search refuses games of chance
    learner_seats: None = None  # the learner plays all seats

    @property
    def seat(self) -> jax.Array:
        """int32[...], the mover."""
        return self.state.current_player


def init_game(config: Config, env: jaxgames.Env[Any], boards_key: jax.Array, starts_key: jax.Array) -> GameState:
    """Returns the state of a game before the first iteration. Each key is a PRNG key."""
    capacity = replay.capacity_of(config.replay_size, config.num_envs, config.rollout_length)
    return GameState(
        boards=jax.vmap(env.init)(jax.random.split(boards_key, config.num_envs)),
        episode_stats=EpisodeStats(
            jnp.zeros(config.num_envs, jnp.int32), jnp.zeros((config.num_envs, env.num_players), jnp.float32)
        ),
        starts=(
            init_starts(env, starts_key, config.num_envs, config.random_plies) if config.random_starts > 0 else None
        ),
        replay=replay.empty(sample_shape(config, env), config.num_envs, capacity),
    )


def collect(
    config: Config,
    env: jaxgames.Env[Any],
    policy: Policy,
    params: Params,
    game: GameState,
    key: jax.Array,
    iteration: jax.Array,
) -> tuple[GameState, Steps]:
    """Returns the new state of a game and `rollout_length` steps of every board.

    After the last step there is one more search, for the values of the boards that it led to. `iteration` is int32[],
    the iterations before this one.
    """
    scale = reward_scale(env)
    policy, params = policy_in_self_play(config, env, policy, params)
    evaluate = PolicyEvaluate(env, policy)

    def step(carry: Any, x: tuple[jax.Array, jax.Array]) -> Any:
        (boards, stats, starts), (key, is_last) = carry, x
        search_key, action_key, step_key, restart_key = jax.random.split(key, 4)
        result, is_learned = search_in_self_play(config, env, evaluate, search_key, params, boards, iteration)
        action = choose(config, action_key, result, stats.length)
        random_key = jax.random.fold_in(action_key, 1)
        action, is_random = with_random_moves(config, env, random_key, boards, action)
        after = jax.vmap(env.step)(boards, action, jax.random.split(step_key, config.num_envs))
        ended = after.terminated | after.truncated
        stats_after = EpisodeStats(stats.length + 1, stats.returns + after.rewards)
        steps = Steps(
            state=boards,
            action=action,
            is_random=is_random,
            slots=result.slots,
            weights=jnp.where(is_learned, result.weights, 0),
            predicted=result.raw_values * scale,
            values=result.policy_values * scale,
            next_values=jnp.zeros_like(result.values),
            rewards=after.rewards * scale,
            terminated=after.terminated,
            truncated=after.truncated,
            next_seat=after.current_player,
            episode_stats=stats_after,
        )
        stats_after = EpisodeStats(
            jnp.where(ended, 0, stats_after.length), jnp.where(ended[:, None], 0, stats_after.returns)
        )
        boards, starts = restart(config, env, restart_key, ended, after, starts)
        new = boards, stats_after, starts
        return jax.tree.map(lambda old, new: jnp.where(is_last, old, new), carry, new), steps

    num_searches = config.rollout_length + 1
    xs = jax.random.split(key, num_searches), np.arange(num_searches) == config.rollout_length
    start = game.boards, game.episode_stats, game.starts
    (boards, stats, starts), searched = jax.lax.scan(step, start, xs)
    steps: Steps = jax.tree.map(lambda x: x[:-1], searched)
    steps = steps._replace(next_values=searched.values[1:])
    if not config.truncation_is_draw:
        steps = steps._replace(next_values=with_cut_off_values(env, policy, params, steps))
    return game._replace(boards=boards, episode_stats=stats, starts=starts), steps


def policy_in_self_play(config: Config, env: jaxgames.Env[Any], policy: Policy, params: Params) -> tuple[Policy, Any]:
    """Returns the policy and its parameters, or a table for its searches where that takes fewer evaluations."""
    devices = max(jax.sharding.get_abstract_mesh().size, 1)  # each computes a whole table
    evaluations = config.evaluations_per_iteration // devices
    return table_or_network(env, policy, params, evaluations, config.self_play_search)


def search_in_self_play(
    config: Config,
    env: jaxgames.Env[Any],
    evaluate: PolicyEvaluate,
    key: jax.Array,
    params: Params,
    boards: Any,
    iteration: jax.Array,
) -> tuple[SearchResult, jax.Array]:
    """Returns the result of a step's search on every board, and whether its policy is to be learned, bool[].

    A share of the steps has a fast search, on all boards alike: its policy is not learned. Under `jax.vmap` over runs
    all of the searches are computed.
    """

    def search_with(settings: SearchConfig) -> Callable[[jax.Array], SearchResult]:
        return lambda key: search(env, evaluate, settings, key, params, boards)

    def full(key: jax.Array) -> SearchResult:
        searches = [search_with(settings) for settings in config.searches_of_stages]
        stage = jnp.minimum(iteration * len(searches) // config.num_iterations, len(searches) - 1)
        return jax.lax.switch(stage, searches, key)

    if config.fast_searches == 0:
        return full(key), jnp.bool_(True)
    key, which_key = jax.random.split(key)
    is_fast = jax.random.bernoulli(which_key, config.fast_searches)
    return jax.lax.cond(is_fast, search_with(config.fast_search), full, key), ~is_fast


def choose(config: Config, key: jax.Array, result: SearchResult, length: jax.Array) -> jax.Array:
    """Returns the actions int32[B]: sampled from the search's policy in the first steps, then the search's choice.

    `length` is int32[B], the steps that the games have had.
    """
    if config.sampled_plies == 0:
        return result.action
    slot = jax.random.categorical(key, jnp.log(result.weights))
    sampled = jnp.take_along_axis(result.slots, slot[:, None], axis=1)[:, 0].astype(result.action.dtype)
    return jnp.where(length < config.sampled_plies, sampled, result.action)


def with_random_moves(
    config: Config, env: jaxgames.Env[Any], key: jax.Array, boards: Any, actions: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Returns the actions int32[B], of which a share is replaced by random legal ones, and which are, bool[B]."""
    if config.random_moves == 0:
        return actions, jnp.zeros(actions.shape, jnp.bool_)
    return explored(env, actions, config.random_moves, key, boards)


def restart(
    config: Config, env: jaxgames.Env[Any], key: jax.Array, ended: jax.Array, boards: Any, starts: Starts | None
) -> tuple[Any, Starts | None]:
    """Returns live boards, new ones where a game `ended` (bool[num_envs]), and the random positions after this step."""
    init_key, which_key, starts_key = jax.random.split(key, 3)
    new = jax.vmap(env.init)(jax.random.split(init_key, config.num_envs))
    if starts is None:
        return choose_boards(ended, new, boards), None
    is_random = jax.random.uniform(which_key, ended.shape) < config.random_starts
    new = choose_boards(is_random, starts.boards, new)
    return choose_boards(ended, new, boards), next_starts(env, starts_key, starts, config.random_plies)


def with_cut_off_values(env: jaxgames.Env[Any], policy: Policy, params: Params, steps: Steps) -> jax.Array:
    """Returns `next_values`, with the network's values of the boards on which a limit cut off a game.

    Such boards are rare, so only they are evaluated, in chunks of num_envs.
    """

    def of_device(params: Params, steps: Steps) -> jax.Array:
        evaluate = PolicyEvaluate(env, policy)
        return map_next_boards(env, lambda boards: evaluate(params, boards).values, steps, steps.truncated)

    of_steps = on_each_device(of_device, REPLICATED, SHARDED_BY_BOARD, out=SHARDED_BY_BOARD)
    values = of_steps(params, steps) * reward_scale(env)
    return jnp.where(steps.truncated[..., None], values, steps.next_values)


def value_targets(config: Config, steps: Steps) -> jax.Array:
    """Returns float32[rollout_length, num_envs, num_players], the value targets of all seats.

    The target of a step with a random action is the search's value of its board, and the targets of earlier steps use
    this value in place of what follows.
    """
    ended = steps.terminated | steps.truncated
    over = ended if config.truncation_is_draw else steps.terminated
    discount = discounts(steps.seat, steps.next_seat, over, config.gamma)
    returns = functools.partial(lambda_returns, td_lambda=config.td_lambda)
    stops = ended | jnp.roll(steps.is_random, -1, axis=0)  # after the last step there is a stop in any case
    targets = jax.vmap(returns, in_axes=1, out_axes=1)(steps.rewards, discount, steps.next_values, stops)
    return jnp.where(steps.is_random[..., None], steps.values, targets)


def samples_of(env: jaxgames.Env[Any], steps: Steps, targets: jax.Array) -> Sample:
    """Returns the samples of a rollout, leaves [rollout_length, num_envs, ...]."""
    heads = jax.vmap(functools.partial(outputs_of, env))(targets, steps.seat)
    positions = (
        steps.state if stores_boards(env) else jax.lax.map(functools.partial(packed_observations, env), steps.state)
    )
    return Sample(positions, steps.slots, steps.weights, heads)


def sample_shape(config: Config, env: jaxgames.Env[Any]) -> Sample:
    """Returns the shapes and types of one sample."""
    num_slots = config.self_play_search.num_slots(env.num_actions)
    num_values = outputs_of(env, jnp.zeros((1, env.num_players)), jnp.zeros(1, jnp.int32)).shape[1]
    shapes: Any = (
        jax.eval_shape(env.init) if stores_boards(env) else jax.ShapeDtypeStruct((observation_bytes(env),), jnp.uint8),
        jax.ShapeDtypeStruct((num_slots,), jnp.int16 if env.num_actions <= 2**15 else jnp.int32),
        jax.ShapeDtypeStruct((num_slots,), jnp.float16),
        jax.ShapeDtypeStruct((num_values,), jnp.float32),
    )
    return Sample(*shapes)


def stores_boards(env: jaxgames.Env[Any]) -> bool:
    """Returns whether the replay buffer has boards, because they are fewer bytes than the bits of observations."""
    return env.state_bytes < observation_bytes(env)


def observation_bytes(env: jaxgames.Env[Any]) -> int:
    """Returns the bytes of an observation with eight places per byte."""
    return -(-int(np.prod(env.observation_shape)) // 8)


def packed_observations(env: jaxgames.Env[Any], boards: Any) -> jax.Array:
    """Returns uint8[B, observation_bytes], the bits of the observations of boards with leaves [B, ...]."""
    bits = jax.vmap(env.observe)(boards)
    return jnp.packbits(bits.reshape(bits.shape[0], -1), axis=-1)


def observations_of(env: jaxgames.Env[Any], positions: Any) -> jax.Array:
    """Returns bool[B, *observation_shape] of the positions of samples, leaves [B, ...]."""
    if stores_boards(env):
        return jax.vmap(env.observe)(positions)
    size = int(np.prod(env.observation_shape))
    return jnp.unpackbits(positions, axis=-1, count=size).astype(jnp.bool_).reshape(-1, *env.observation_shape)


def search_metrics(steps: Steps) -> Metrics:
    """Returns means over the steps of a rollout; means over finished games are NaN if no game ended."""
    entropies = -jax.scipy.special.xlogy(steps.weights, steps.weights).sum(-1)
    entropy = entropies.mean(where=(steps.weights > 0).any(-1))
    paid, known = jax.vmap(outcomes, in_axes=1, out_axes=1)(steps.rewards, steps.terminated | steps.truncated)

    def of_mover(values: jax.Array) -> jax.Array:
        return jnp.take_along_axis(values, steps.seat[..., None], axis=-1)[..., 0]

    outcome, searched = of_mover(paid), of_mover(steps.values)
    accurate = predicted_result(steps.predicted) == jnp.sign(outcome)
    return {
        "search_entropy": entropy,
        "search_value_error": jnp.square(searched - outcome).mean(where=known),
        "self_play_value_accuracy": accurate.mean(where=known),
    }


def predicted_result(values: jax.Array) -> jax.Array:
    """Returns float32[...], 1 for a value that predicts a win, -1 for a loss, 0 for a draw."""
    return jnp.where(values > VALUE_THRESHOLD, 1.0, jnp.where(values < -VALUE_THRESHOLD, -1.0, 0.0))
