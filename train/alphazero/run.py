"""A run of AlphaZero, without the algorithm: its arrays, first train state, optimizer, agents, split over devices."""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.mcts import SearchConfig
from jaxgames.mcts.config import Seats, SelectionRule
from jaxgames.solvers.strength import VALUE_THRESHOLD
from train.alphazero.config import Config
from train.models.policy import Params, Policy, outputs_of, split_statistics, with_seat_values
from train.network_learner import NetworkLearner, key_of_game
from train.ops import replay
from train.ops.episodes import EpisodeStats, Metrics
from train.ops.optimizers import linear
from train.ops.sharding import REPLICATED, SHARDED
from train.ops.start_positions import Starts, init_starts
from train.ops.targets import outcomes
from train.recipes import ALPHAZERO, ALPHAZERO_PRESETS


class Sample(NamedTuple):
    """One step in the replay buffer. `observations_of` returns the observation of its position."""

    position: jax.Array  # uint8[observation_bytes], the bits of the observation, eight per byte
    slots: jax.Array  # int16 or int32[K], the actions of the search; -1 in padding
    weights: jax.Array  # float16[K], the search's policy over them
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

    def with_game(self, number: int, game: GameState) -> "TrainState":
        """Returns the train state with another state of the game at this place."""
        return self._replace(games=(*self.games[:number], game, *self.games[number + 1 :]))


class Steps(NamedTuple):
    """The steps of a rollout, leaves [rollout_length, num_envs, ...]."""

    state: jaxgames.State  # the live board on which the step was played
    action: jax.Array  # int32[]
    is_random: jax.Array  # bool[], whether the action was drawn from all legal ones
    slots: jax.Array  # int32[K], the actions of the search; -1 in padding
    weights: jax.Array  # float32[K], the search's policy over them
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


@dataclass(frozen=True)
class Run(NetworkLearner):
    """A run of AlphaZero, which is static under jit."""

    name: ClassVar[str] = "alphazero"
    config_type: ClassVar[type[Config]] = Config
    recipes, presets = ALPHAZERO, ALPHAZERO_PRESETS

    config: Config

    def make_policy(self, env: jaxgames.Env[Any]) -> Policy:
        return with_seat_values(env, super().make_policy(env))

    @property
    def headline(self) -> dict[str, Any]:
        c = self.config
        others = {"other_envs": ", ".join(c.other_envs)} if c.other_envs else {}
        return {"env": c.env, **others, "search": c.search, "simulations": c.simulations, "seed": c.seed}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"num_envs": self.config.num_envs, "minibatch_size": self.config.minibatch_size}

    @property
    def partition_specs(self) -> Any:
        whole: Any = REPLICATED  # specs in place of arrays
        boards: Any = SHARDED
        return TrainState(whole, whole, whole, boards, whole, whole)

    @property
    def search_gamma(self) -> float:
        return self.config.gamma

    def search_of_agent(
        self, simulations: int | None, search: SelectionRule | None, seats: Seats | None
    ) -> tuple[SearchConfig | None, float]:
        c = self.config
        simulations = c.evaluation_simulations if simulations is None else simulations
        if search is None and c.search == "two_calls":
            search = "gumbel"  # docs/search.md has matches of the two at play
        return c.search_without_noise(simulations, search, seats) if simulations else None, c.temperature

    def learning_rate(self, step: jax.Array) -> jax.Array:
        c, first, last = self.config, self.numbers.learning_rate, self.numbers.final_learning_rate
        iteration = step // (c.num_updates * len(self.games))
        if c.lr_drop_after is not None:
            return jnp.where(iteration < c.lr_drop_after, jnp.float32(first), jnp.float32(last))
        return linear(first, last, iteration, c.num_iterations)

    def average_decay(self, step: jax.Array) -> jax.Array:
        """Returns float32[], the decay of the moving average after `step` gradient steps (int32[]).

        It grows to `ema`, so that the random first parameters soon have no weight.
        """
        done = step.astype(jnp.float32)
        return jnp.minimum(self.config.ema, (1 + done) / (10 + done))

    def init(self, key: jax.Array) -> TrainState:
        key, params_key, *game_keys = jax.random.split(key, 4)  # of boards and starts
        params = self.init_params(params_key)
        games = tuple(
            learner.init_game(*(key_of_game(key, learner.game) for key in game_keys)) for learner in self.by_game
        )
        opt_state = self.optimizer().init(split_statistics(params)[0])
        return self.with_params(TrainState(params, None, opt_state, games, key, jnp.int32(0)), params)

    def init_game(self, boards_key: jax.Array, starts_key: jax.Array) -> GameState:
        """Returns the state of the game before the first iteration."""
        c, env, n = self.config, self.env, self.config.num_envs
        capacity = replay.capacity_of(c.replay_size, n, c.rollout_length)
        return GameState(
            boards=jax.vmap(env.init)(jax.random.split(boards_key, n)),
            episode_stats=EpisodeStats(jnp.zeros(n, jnp.int32), jnp.zeros((n, env.num_players), jnp.float32)),
            starts=init_starts(env, starts_key, n, c.random_plies) if c.random_starts > 0 else None,
            replay=replay.empty(sample_shape(c, env), n, capacity),
        )

    def with_params(self, train_state: TrainState, params: Params) -> TrainState:
        return train_state._replace(params=params, learning=params if self.config.ema > 0 else None)


def samples_of(env: jaxgames.Env[Any], steps: Steps, targets: jax.Array) -> Sample:
    """Returns the samples of a rollout, leaves [rollout_length, num_envs, ...].

    `targets` are the value targets of all seats, float32[rollout_length, num_envs, num_players].
    """
    heads = jax.vmap(functools.partial(outputs_of, env))(targets, steps.seat)
    return Sample(
        jax.lax.map(functools.partial(packed_observations, env), steps.state), steps.slots, steps.weights, heads
    )


def sample_shape(config: Config, env: jaxgames.Env[Any]) -> Sample:
    """Returns the shapes and types of one sample."""
    num_slots = config.self_play_search.num_slots(env.num_actions)
    num_values = outputs_of(env, jnp.zeros((1, env.num_players)), jnp.zeros(1, jnp.int32)).shape[1]
    shapes: Any = (
        jax.ShapeDtypeStruct((-(-int(np.prod(env.observation_shape)) // 8),), jnp.uint8),
        jax.ShapeDtypeStruct((num_slots,), jnp.int16 if env.num_actions <= 2**15 else jnp.int32),
        jax.ShapeDtypeStruct((num_slots,), jnp.float16),
        jax.ShapeDtypeStruct((num_values,), jnp.float32),
    )
    return Sample(*shapes)


def packed_observations(env: jaxgames.Env[Any], boards: Any) -> jax.Array:
    """Returns uint8[B, observation_bytes], the bits of the observations of boards with leaves [B, ...]."""
    bits = jax.vmap(env.observe)(boards)
    return jnp.packbits(bits.reshape(bits.shape[0], -1), axis=-1)


def observations_of(env: jaxgames.Env[Any], positions: jax.Array) -> jax.Array:
    """Returns bool[B, *observation_shape] of the positions of samples, uint8[B, observation_bytes]."""
    size = int(np.prod(env.observation_shape))
    return jnp.unpackbits(positions, axis=-1, count=size).astype(jnp.bool_).reshape(-1, *env.observation_shape)


def search_metrics(steps: Steps) -> Metrics:
    """Returns means over the steps of a rollout; means over finished games are NaN if no game ended."""
    entropy = -jax.scipy.special.xlogy(steps.weights, steps.weights).sum(-1).mean()
    paid, known = jax.vmap(outcomes, in_axes=1, out_axes=1)(steps.rewards, steps.terminated | steps.truncated)

    def of_mover(values: jax.Array) -> jax.Array:
        return jnp.take_along_axis(values, steps.seat[..., None], axis=-1)[..., 0]

    outcome, searched = of_mover(paid), of_mover(steps.values)
    is_draw = jnp.abs(steps.predicted) <= VALUE_THRESHOLD
    accurate = jnp.where(is_draw, 0.0, jnp.sign(steps.predicted)) == jnp.sign(outcome)
    return {
        "search_entropy": entropy,
        "search_value_error": jnp.square(searched - outcome).mean(where=known),
        "self_play_value_accuracy": accurate.mean(where=known),
    }
