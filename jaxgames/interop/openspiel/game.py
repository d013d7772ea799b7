"""Games of jaxgames as games of OpenSpiel: all of them by name, or one env from any position.

Actions have the numbers that they have in jaxgames. A chain of hops or jumps is several actions of the same player. A
truncated game is over, with the returns so far. An illegal action raises ValueError and changes nothing.
docs/interop/openspiel.md has examples, and the algorithms and bots of OpenSpiel that play these games.
"""

import contextlib
import functools
from typing import Any

import numpy as np

from jaxgames import registry
from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.host import BoardInfo, host
from jaxgames.interop.openspiel.positions import HistoryObserver, Node, Observer, paid, pyspiel, won

PREFIX = "jaxgames_"  # of the names in OpenSpiel
UNLIMITED = 1_000_000  # given as the longest game where `env.max_steps` is None
MAX_PLAYERS = 10  # of a game with the parameter `num_players`

Parameter = int | float | str | bool  # what OpenSpiel takes


# -- games ---------------------------------------------------------------------------------------------------------


class OpenSpielGame(pyspiel.Game):  # pyright: ignore[reportUntypedBaseClass]  # pyspiel has no types
    """Any env, or the game of a text for `jaxgames.make`, as a game of OpenSpiel in which winning counts.

    The returns are 1 to the winner and -1 / (num_players - 1) to each other seat, and 0 to all without a winner.
    Rewards of the env are not used. The game has no name in OpenSpiel, so it cannot be pickled; see `register`.
    """

    _pays = staticmethod(won)

    def __init__(self, env_or_id: Env[Any] | str) -> None:
        env = registry.as_env(env_or_id)
        game_type = _game_type(f"unregistered_{env.id}", env.id, (env.num_players, env.num_players), {}, True, True)
        super().__init__(game_type, _game_info(env, (-1.0, 1.0), True), {})
        self.env = env

    def new_initial_state(self, state: str | None = None) -> "OpenSpielState":
        """Returns the start of the game, or the position that a text describes, as `env.from_string` reads it."""
        if state is None:
            return OpenSpielState(self, Node(self.env, *_start(self.env), self._pays))
        if not isinstance(state, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
            raise TypeError(f"expected None or the text of a position of {self.env}, not {state!r}")
        return self.state_at(self.env.from_string(state))

    def state_at(self, board: Any) -> "OpenSpielState":
        """Returns an OpenSpiel state of any board of the env; its history and its returns begin there."""
        position = Node(self.env, board, host(self.env).look(board), self._pays)
        return OpenSpielState(self, position, f"{position}: ")

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "Observer | HistoryObserver":
        """Returns an observer: of the history if the type asks for perfect recall, else of the board."""
        if params:
            raise ParameterError(f"the observations of {self.env} have no parameters, not {params!r}")
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return Observer(self.env)
        return HistoryObserver(iig_obs_type)

    def observation_tensor_layout(self) -> Any:
        """Returns height, width, channels: the order of the axes of `env.observe`."""
        return pyspiel.TensorLayout.HWC

    def __reduce__(self) -> Any:
        raise TypeError(f"OpenSpielGame(env) cannot be pickled; use register() and pyspiel.load_game for {self.env}")


class RegisteredGame(OpenSpielGame):
    """A game that `pyspiel.load_game` made from its name and parameters. The returns are the sums of the rewards.

    Everything about it follows from its name and its parameters: OpenSpiel rebuilds games without calling `__init__`.
    """

    _pays = staticmethod(paid)
    _id = ""  # of the env; `register` makes a class per game

    def __init__(self, parameters: dict[str, Parameter]) -> None:
        env = _make(self._id, parameters)
        game_info = _game_info(env, env.return_range, env.zero_sum)
        pyspiel.Game.__init__(self, _registered_type(env), game_info, parameters)

    @functools.cached_property
    def env(self) -> Env[Any]:  # pyright: ignore[reportIncompatibleVariableOverride]  # computed when it is asked for
        """The env of the parameters."""
        return _make(self._id, self.get_parameters())

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what pickle stores: the name with the parameters, which any process can load."""
        return load, (str(self),)


class OpenSpielState(pyspiel.State):  # pyright: ignore[reportUntypedBaseClass]  # pyspiel has no types
    """A position of a game of jaxgames, as OpenSpiel's algorithms see it.

    Attributes:
      position: the board with its legal actions and returns.
      origin: the text of the position where the history begins, and ": "; "" for the start of the game.
    """

    def __init__(self, game: OpenSpielGame, position: Node, origin: str = "") -> None:
        super().__init__(game)
        self.position = position
        self.origin = origin

    def current_player(self) -> int:
        return self.position.player

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal

    def _apply_action(self, action: int) -> None:
        self.position = self.position.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self.position.action_to_string(action)

    def is_terminal(self) -> bool:
        return self.position.player == pyspiel.PlayerId.TERMINAL

    def rewards(self) -> list[float]:
        return self.position.rewards

    def returns(self) -> list[float]:
        return self.position.returns

    def observation_tensor(self, player: int | None = None) -> list[float]:
        """Returns the observation of a seat in one row; of the mover if `player` is None.

        The method of OpenSpiel asks for a second observation at every call, to know the size of the first.
        """
        seat = self.current_player() if player is None else player
        return self.position.observation(seat).ravel().astype(np.float32).tolist()

    def __str__(self) -> str:
        return str(self.position)

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what pickle stores: the game's name, the history and the position."""
        game = self.get_game()
        if not isinstance(game, RegisteredGame):
            return game.__reduce__()
        return load_state, (pyspiel.serialize_game_and_state(game, self),)


def registered_game(env_or_id: Env[Any] | str) -> RegisteredGame:
    """Returns the registered game with exactly the parameters of an env, or of its text; it calls `register`.

    Raises ValueError if no registered game with parameters for OpenSpiel makes this env.
    """
    env: Any = registry.as_env(env_or_id)
    register()
    if env.id in registry.list_games():
        given = _specification(env.id)
        given |= {name: value for name in given if (value := getattr(env, name, None)) is not None}
        if _make(env.id, given) == env:
            return pyspiel.load_game(f"{PREFIX}{env.id}", given)
    raise ParameterError(f"no registered game is {env}; use OpenSpielGame(env), or jaxgames.register its constructor")


def load(text: str) -> RegisteredGame:
    """Returns the game with a name and parameters, in a process that need not have called `register`."""
    register()
    return pyspiel.load_game(text)


def load_state(text: str) -> OpenSpielState:
    """Returns the state that `pyspiel.serialize_game_and_state` wrote, as `load` returns a game."""
    register()
    return pyspiel.deserialize_game_and_state(text)[1]


@functools.cache
def _start(env: Env[Any]) -> tuple[Any, BoardInfo]:
    """Returns the start and its values. OpenSpiel makes a new initial state for every copy of a state."""
    return host(env).init()


# -- registration --------------------------------------------------------------------------------------------------


def register() -> None:
    """Adds all games to OpenSpiel as `jaxgames_<id>`, those of `jaxgames.register` too.

    Then `pyspiel.load_game("jaxgames_chinese_checkers(size=2,num_players=6)")` takes the parameters of the env that
    are numbers, texts or bools. The others have the env's defaults, with two exceptions. `reward` is "win_loss" where
    the game has that scheme. A default of None is written as 0, since OpenSpiel has no None.

    A second call adds the games that `jaxgames.register` has added since the first. Games of chance are left out, and
    games that have a parameter without a default.
    """
    for id in registry.list_games():
        if any(parameter.default is parameter.empty for parameter in registry.parameters(id)):
            continue
        env = _make(id, _specification(id))
        if not env.needs_key:
            # OpenSpiel drops its reference after Python has ended, when an object must not be freed. A class never is.
            pyspiel.register_game(_registered_type(env), type("RegisteredGame", (RegisteredGame,), {"_id": id}))


def _registered_type(env: Env[Any]) -> Any:
    """Returns the `pyspiel.GameType` of a game with the parameters of `env`."""
    specification = _specification(env.id)
    seats = (2, MAX_PLAYERS) if "num_players" in specification else (env.num_players, env.num_players)
    return _game_type(f"{PREFIX}{env.id}", env.id, seats, specification, env.zero_sum, env.terminal_rewards)


def _specification(id: str) -> dict[str, Parameter]:
    """Returns the parameters that OpenSpiel offers, with their defaults."""
    defaults = {each.name: 0 if each.default is None else each.default for each in registry.parameters(id)}
    found = {name: default for name, default in defaults.items() if isinstance(default, Parameter)}
    if "reward" in found:
        with contextlib.suppress(ParameterError):  # the game has no such scheme
            registry.make(id, reward="win_loss")
            found["reward"] = "win_loss"
    return found


def _make(id: str, parameters: dict[str, Parameter]) -> Env[Any]:
    """Returns the env of a game for OpenSpiel's parameters. A 0 that stands for None is left out."""
    unset = {each.name for each in registry.parameters(id) if each.default is None and not parameters.get(each.name)}
    return registry.make(id, **{name: value for name, value in parameters.items() if name not in unset})


def _game_type(
    short_name: str,
    id: str,
    seats: tuple[int, int],
    specification: dict[str, Parameter],
    zero_sum: bool,
    terminal: bool,
) -> Any:
    """Returns a `pyspiel.GameType`; `seats` are the fewest and the most seats of the game."""
    kinds = pyspiel.GameType
    return kinds(
        short_name=short_name,
        long_name=f"{id} of jaxgames",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.DETERMINISTIC,
        information=kinds.Information.PERFECT_INFORMATION,
        utility=kinds.Utility.ZERO_SUM if zero_sum else kinds.Utility.GENERAL_SUM,
        reward_model=kinds.RewardModel.TERMINAL if terminal else kinds.RewardModel.REWARDS,
        min_num_players=seats[0],
        max_num_players=seats[1],
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=specification,
    )


def _game_info(env: Env[Any], utility: tuple[float, float], zero_sum: bool) -> Any:
    """Returns a `pyspiel.GameInfo`; `utility` is the lowest and the highest return of a seat."""
    if env.needs_key:
        raise ParameterError(f"{env.id} is a game of chance; OpenSpiel can play games without chance only")
    return pyspiel.GameInfo(
        num_distinct_actions=env.num_actions,
        max_chance_outcomes=0,
        num_players=env.num_players,
        min_utility=utility[0],
        max_utility=utility[1],
        utility_sum=0.0 if zero_sum else None,
        max_game_length=UNLIMITED if env.max_steps is None else env.max_steps,
    )
