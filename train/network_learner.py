"""The parts that learners of a network share: the network of every board, its agents, and parameters to start from."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import jax
import optax

import jaxgames
from jaxgames.agents import Agent
from jaxgames.mcts import SearchConfig
from jaxgames.mcts.config import Seats, SelectionRule
from jaxgames.policies.agent import PolicyAgent, temperature_of
from train import agents
from train.driver.learner import Learner
from train.models.policy import Params, Policy, merge_statistics, split_statistics
from train.ops.episodes import Metrics
from train.ops.optimizers import make_optimizer
from train.pretrained import load_params
from train.settings import NETWORK_SETTINGS


@dataclass(frozen=True)
class NetworkLearner(Learner):
    """A learner of one network, which plays every board that it learns."""

    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # settings by the id of a game
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # settings by the name of a preset

    config: Any  # a `NetworkConfig`
    numbers: Any = None
    """The settings that only traced arithmetic reads, a pytree; None: `config.numbers`."""
    game: int = 0
    """The place in `games` of the one that `env` and `policy` are of; see `by_game`."""

    @classmethod
    def config_for(cls, env: str | None = None, *, preset: str | None = None, **changes: Any) -> Any:
        """Returns the default settings for a game: its recipe with `changes`.

        With another `network`, the settings of the recipe's own network are left out.

        Args:
          env: a game as `jaxgames.make` takes it, such as "minichess(rules=king_capture)". None: the preset's, or the
            default of the learner.
          preset: a name in `presets`. It stands in place of the game's recipe; one without a game changes the recipe.
          **changes: fields of `config_type`.

        Raises:
          ValueError: an unknown game, parameter or preset, or a setting that is not allowed.
          OSError: a file that a setting names cannot be read.
        """
        if preset is not None and preset not in cls.presets:
            raise ValueError(f"unknown preset {preset!r}; the presets are {', '.join(cls.presets)}")
        settings = {} if preset is None else cls.presets[preset]
        if "env" not in settings:
            settings = {**cls.recipes.get(jaxgames.make(env or cls.config_type.env).id, {}), **settings}
        if changes.get("network") is not None:
            settings = {name: value for name, value in settings.items() if name not in NETWORK_SETTINGS}
        game: dict[str, Any] = {} if env is None else {"env": env}
        return cls.config_type(**{**settings, **game, **changes})

    def __post_init__(self) -> None:
        if self.numbers is None:
            object.__setattr__(self, "numbers", self.config.numbers)
        _ = self.games  # checks the network

    @functools.cached_property
    def games(self) -> tuple[tuple[jaxgames.Env[Any], Policy], ...]:
        """Every board and its policy. All policies have the same parameters.

        Raises ValueError for a network that is unknown or does not fit the boards.
        """
        envs = [jaxgames.make(text) for text in (self.config.env, *getattr(self.config, "other_envs", ()))]
        games = tuple((env, self.make_policy(env)) for env in envs)
        if len({*envs}) > 1 and not games[0][1].network.any_board:
            raise ValueError(
                "other_envs needs a network whose parameters fit every board, such as --network graph, "
                f"not {self.config.network or 'the default network'}"
            )
        return games

    def make_policy(self, env: jaxgames.Env[Any]) -> Policy:
        """Returns the policy for a board."""
        c = self.config
        given = {"hidden_sizes": c.hidden_sizes, "channels": c.channels, "activation": c.activation}
        if (dtype := getattr(c, "compute_dtype", "float32")) != "float32":  # which only some networks have
            given["compute_dtype"] = dtype
        return Policy.of(env, getattr(c, "sharing", "shared"), c.network, **given)

    @functools.cached_property
    def by_game(self) -> tuple[Self, ...]:
        """This learner for each of `games`: its `env` and `policy` are of this game."""
        return tuple(dataclasses.replace(self, game=game) for game in range(len(self.games)))

    @property
    def env(self) -> jaxgames.Env[Any]:
        return self.games[self.game][0]

    @property
    def policy(self) -> Policy:
        """The policy of `env`."""
        return self.games[self.game][1]

    @property
    def search_gamma(self) -> float:
        """The discount of a turn in a search on the network; `gamma` is that of a round, a turn of every seat."""
        return getattr(self.config, "gamma", 1.0) ** (1 / self.env.num_players)

    def agent(
        self,
        params: Params,
        temperature: float | None = None,
        top: int | None = None,
        simulations: int | None = None,
        search: SelectionRule | None = None,
        seats: Seats | None = None,
    ) -> Agent:
        """Returns the agent with these parameters; see `Learner.agent`.

        Args:
          temperature: 1 samples from the policy, 0 plays greedily. None is the temperature of the settings; with a
            search 0, unless the learner trains with one. With `top`, None is 1 where that is 0.
          simulations: of a tree search on the network; 0 plays with the network alone. None is 0, or a setting.
          search: the rule of the search, "gumbel", "puct" or "two_calls"; None is "gumbel", or "puct" after such
            self-play.
          seats: how seats choose in the tree, "paranoid" or "max_n"; None is "paranoid", or a setting.
        """
        config, default = self.search_of_agent(simulations, search, seats)
        agent = PolicyAgent(params, self.env, self.policy, temperature_of(temperature, default, top), top)
        return agent if config is None else agent.with_search(config)

    def search_of_agent(
        self, simulations: int | None, search: SelectionRule | None, seats: Seats | None
    ) -> tuple[SearchConfig | None, float]:
        """Returns the search of an agent, None for the network alone, and the temperature where none is given."""
        if not simulations:
            return None, self.config.temperature
        return SearchConfig(simulations, search or "gumbel", gamma=self.search_gamma, seats=seats or "paranoid"), 0.0

    def make_agent(self, text: str) -> Agent:
        return agents.make(text, self.env)

    def init_params(self, key: jax.Array) -> Params:
        return self.policy.init(key)

    def learning_rate(self, step: jax.Array) -> jax.Array:
        """Returns float32[], the learning rate of the gradient step after `step` others (int32[]), for `optimizer`."""
        raise NotImplementedError

    def optimizer(self) -> optax.GradientTransformation:
        """Returns AdamW with gradients clipped by their norm."""
        return make_optimizer(self.learning_rate, self.numbers.max_grad_norm, self.numbers.weight_decay)

    def outputs(self, params: Params, boards: Any) -> tuple[jax.Array, jax.Array]:
        """Returns the logits and the values of the policy for boards with leaves [B, ...], as the seats to move."""
        return self.policy.apply(params, jax.vmap(self.env.observe)(boards), boards.current_player)

    def load(self, train_state: Any) -> Any:
        """Returns the train state with the parameters of `init_from`."""
        if self.config.init_from is None:
            return train_state
        return self.with_params(train_state, load_params(self.config.init_from, train_state.params, self.config))

    def train(self, key: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        """Returns the last train state of a whole run, and metrics with a leading axis of iterations.

        Under `jax.vmap` over keys or over `numbers`, one program trains many runs.
        """
        start, data = self.load(self.init(key)), self.load_data()
        return jax.lax.scan(lambda state, _: self.iterate(state, *data), start, length=self.config.num_iterations)

    def with_params(self, train_state: Any, params: Params) -> Any:
        """Returns the train state of a run that starts from these parameters."""
        return train_state._replace(params=params)


def gradient_of(loss: Callable[[Params], tuple[jax.Array, tuple[Metrics, Params]]], params: Params) -> Any:
    """Returns the gradient of `loss(params)` in place of the weights, with the network's statistics after it; metrics.

    `loss` also returns metrics and these statistics.
    """
    weights, before = split_statistics(params)
    of_weights = jax.grad(lambda weights: loss(merge_statistics(weights, before)), has_aux=True)
    gradient, (metrics, after) = of_weights(weights)
    return merge_statistics(gradient, after), metrics


def after_step(optimizer: optax.GradientTransformation, learned: Params, params: Params, opt_state: Any) -> Any:
    """Returns the parameters and the state of the optimizer after a step by what `gradient_of` returns."""
    (gradient, statistics), weights = split_statistics(learned), split_statistics(params)[0]
    with jax.numpy_dtype_promotion("standard"):  # optax needs it
        updates, opt_state = optimizer.update(gradient, opt_state, weights)
        return merge_statistics(optax.apply_updates(weights, updates), statistics), opt_state


def key_of_game(key: jax.Array, number: int) -> jax.Array:
    """Returns the key of one of `NetworkLearner.games` by its number: of the first one the key itself."""
    return jax.random.fold_in(key, number) if number else key
