"""The libraries that play games of jaxgames, each as one board: what a seat may do there, is shown and is paid."""

# pyright: reportMissingImports=false

from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import numpy as np
import pytest

import jaxgames
from tests.helpers.blocks import REASON

GAMES = [  # with all kinds of rewards and ends
    "checkers(max_plies=60)",
    "chinese_checkers(size=1, num_players=6, max_rounds=3)",
    "chinese_checkers_diamond(size=3, pieces=3, max_plies=30)",
    "dots_and_boxes(rows=2, cols=2)",
    "minichess(rules=king_capture, reward=material, max_plies=40)",
]
SEAT = 1  # of an adapter that plays one seat; `first` plays the others


class View(NamedTuple):
    """The outputs of an adapter after `reset` or `step`."""

    mover: int
    mask: Any  # bool[num_actions]; all False when the game is over
    observations: dict[int, Any]  # by seat
    rewards: dict[int, float]  # by seat, of the last step
    terminated: bool
    truncated: bool


class Adapter(Protocol):
    """One board of a game. Libraries are imported when an adapter is made, since importing all takes seconds."""

    one_seat: ClassVar[bool] = False  # whether it plays SEAT only
    has_chance: ClassVar[bool] = True
    has_illegal_actions: ClassVar[bool] = True  # whether they end the game; otherwise they raise ValueError

    def __init__(self, env: Any) -> None: ...

    def reset(self, seed: int) -> None: ...

    def step(self, action: int) -> None: ...

    def view(self) -> View: ...


class OfGymnasium(Adapter):
    one_seat = True

    def __init__(self, env: Any) -> None:
        from jaxgames.interop.gymnasium import SeatEnv

        self.env = SeatEnv(env, seat=SEAT, opponent="first")

    def reset(self, seed: int) -> None:
        observation, info = self.env.reset(seed=seed)
        self.result: Any = (observation, 0.0, False, False, info)

    def step(self, action: int) -> None:
        self.result = self.env.step(action)

    def view(self) -> View:
        observation, reward, terminated, truncated, info = self.result
        mask = info["action_mask"] == 1
        return View(info["seat"], mask, {SEAT: observation}, {SEAT: reward}, terminated, truncated)


class OfGymnax(Adapter):
    one_seat = True

    def __init__(self, env: Any) -> None:
        from jaxgames.interop.gymnax import SeatEnv

        self.env: Any = SeatEnv(env, seat=SEAT, opponent="first")
        self.params = self.env.default_params
        self.compiled: Any = jax.jit(self.env.reset_env), jax.jit(self.env.step_env)

    def reset(self, seed: int) -> None:
        self.key = jax.random.key(seed)
        observation, state = self.compiled[0](self.key, self.params)
        self.result: Any = (observation, state, 0.0, False, {"seat": state.game.seat})

    def step(self, action: int) -> None:
        self.key, key = jax.random.split(self.key)
        self.result = self.compiled[1](key, self.result[1], action, self.params)

    def view(self) -> View:
        observation, state, reward, terminated, info = self.result
        mask, truncated = self.env.action_mask(state), self.env.is_truncated(state, self.params)
        return View(int(info["seat"]), mask, {SEAT: observation}, {SEAT: float(reward)}, terminated, truncated)


class OfJaxMARL(Adapter):
    def __init__(self, env: Any) -> None:
        from jaxgames.interop.jaxmarl import JaxMARLEnv

        self.env: Any = JaxMARLEnv(env)

    def reset(self, seed: int) -> None:
        self.key = jax.random.key(seed)
        observations, state = self.env.reset(self.key)
        none = np.zeros(self.env.num_agents)
        self.result: Any = observations, state, dict(zip(self.env.agents, none, strict=True)), {}, {"truncated": none}

    def step(self, action: int) -> None:
        """The actions of the others are ignored, whatever they are: a move, or a number that is no action."""
        self.key, key = jax.random.split(self.key)
        joint = {agent: np.int32((0, 99, -1)[seat % 3]) for seat, agent in enumerate(self.env.agents)}
        joint[self.env.agents[self.view().mover]] = np.int32(action)
        self.result = self.env.step_env(key, self.result[1], joint)

    def view(self) -> View:
        """`no_op` is legal for exactly those who are not to move."""
        observations, state, rewards, dones, infos = self.result
        by_agent = self.env.get_avail_actions(state)
        masks = np.stack([by_agent[agent] for agent in self.env.agents])
        mover = int(masks[:, self.env.no_op].argmin())
        others = np.delete(masks, mover, axis=0)
        assert others[:, self.env.no_op].all()
        assert not others[:, :-1].any()
        assert masks.any(axis=1).all(), "everybody has an action, also at the end"
        assert {bool(done) for done in dones.values()} <= {bool(state.done)}
        truncated = bool(infos["truncated"][0])
        return View(
            mover,
            masks[mover, :-1],
            {seat: observations[agent] for seat, agent in enumerate(self.env.agents)},
            {seat: float(rewards[agent]) for seat, agent in enumerate(self.env.agents)},
            bool(state.done) and not truncated,
            truncated,
        )


class OfPgx(Adapter):
    def __init__(self, env: Any) -> None:
        from jaxgames.interop.pgx import PgxEnv

        self.env = PgxEnv(env, truncation="keep")
        observe: Any = jax.vmap(self.env.observe, in_axes=(None, 0))
        self.compiled: Any = jax.jit(self.env.init), jax.jit(self.env.step), jax.jit(observe)

    def reset(self, seed: int) -> None:
        self.key = jax.random.key(seed)
        self.state: Any = self.compiled[0](self.key)

    def step(self, action: int) -> None:
        self.key, key = jax.random.split(self.key)
        self.state = self.compiled[1](self.state, np.int32(action), key)

    def view(self) -> View:
        """Seats in place of player ids, of which the key draws the one that moves first."""
        state, players = self.state, self.env.num_players
        seats = [(player - state.current_player + state.board.current_player) % players for player in range(players)]
        over = state.terminated | state.truncated
        observations = self.compiled[2](state, np.arange(players))
        np.testing.assert_array_equal(state.observation, observations[state.current_player])
        return View(
            seats[state.current_player],
            state.legal_action_mask & ~over,
            {int(seat): observations[player] for player, seat in enumerate(seats)},
            {int(seat): float(state.rewards[player]) for player, seat in enumerate(seats)},
            state.terminated,
            state.truncated,
        )


class OfPettingZoo(Adapter):
    def __init__(self, env: Any) -> None:
        from jaxgames.interop.pettingzoo import raw_env

        self.env = raw_env(env)

    def reset(self, seed: int) -> None:
        self.env.reset(seed=seed)

    def step(self, action: int) -> None:
        self.env.step(action)

    def view(self) -> View:
        zoo = self.env
        shown = [zoo.observe(agent) for agent in zoo.agents]
        mover = zoo.agents.index(zoo.agent_selection)
        assert not any(other["action_mask"].any() for seat, other in enumerate(shown) if seat != mover)
        (terminated,), (truncated,) = {*zoo.terminations.values()}, {*zoo.truncations.values()}
        return View(
            mover,
            shown[mover]["action_mask"] == 1,
            {seat: each["observation"] for seat, each in enumerate(shown)},
            {seat: zoo.rewards[agent] for seat, agent in enumerate(zoo.agents)},
            terminated,
            truncated,
        )


class OfOpenSpiel(Adapter):
    has_chance = False
    has_illegal_actions = False

    def __init__(self, env: Any) -> None:
        from jaxgames.interop.openspiel import registered_game

        if isinstance(env, jaxgames.Env) and env.id not in [*jaxgames.list_games(), "auto_reset"]:
            jaxgames.register(env.id, type(env))
        self.game = registered_game(env)

    def reset(self, seed: int) -> None:
        self.state: Any = self.game.new_initial_state()

    def step(self, action: int) -> None:
        self.state.apply_action(action)

    def view(self) -> View:
        state, seats = self.state, range(self.game.num_players())
        truncated = bool(state.position.board.truncated)
        return View(
            state.current_player(),
            np.array(state.legal_actions_mask(), bool),
            {seat: np.array(state.observation_tensor(seat)) for seat in seats},
            dict(enumerate(state.rewards())),
            state.is_terminal() and not truncated,
            truncated,
        )


LIBRARIES: dict[str, type[Any]] = {
    "gymnasium": OfGymnasium,
    "gymnax": OfGymnax,
    "jaxmarl": OfJaxMARL,
    "openspiel": OfOpenSpiel,
    "pettingzoo": OfPettingZoo,
    "pgx": OfPgx,
}
MODULES = {"openspiel": "pyspiel"}  # of libraries that are imported by another name


def adapters(*names: str) -> list[Any]:
    """The adapters as parameters of a test; all of them without names. Those of missing libraries are skipped."""
    return [
        pytest.param(
            LIBRARIES[name],
            id=name,
            marks=pytest.mark.skipif(find_spec(MODULES.get(name, name)) is None, reason=f"{name} {REASON}"),
        )
        for name in names or LIBRARIES
    ]
