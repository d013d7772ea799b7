"""One contract for the adapters of all libraries: each shows the game as the env does, and ends it as the env does.

Also without their libraries, and on a machine with several devices.
"""

import copy
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxgames
import jaxgames.interop
from tests.distribution.programs import FOREIGN
from tests.helpers.positions import compiled, start
from tests.helpers.sticks import LuckySticks, ShortSticks, Sticks
from tests.interop.adapters import GAMES, SEAT, Adapter, View, adapters

BOXES = "dots_and_boxes(rows=2, cols=2, reward=boxes)"  # pays before the end; who completes a box moves again
every_adapter = pytest.mark.parametrize("adapter", adapters())


class Reference:
    """A game in the env itself, and what its seats have been paid since the last step of an adapter."""

    def __init__(self, env: Any, one_seat: bool) -> None:
        self.env, self.one_seat = env, one_seat
        self.state, self.paid = start(env), np.zeros(env.num_players)
        self._others_play()

    @property
    def over(self) -> bool:
        return bool(self.state.terminated | self.state.truncated)

    def step(self, action: int) -> None:
        self.paid = np.zeros(self.env.num_players)
        self._play(action)
        self._others_play()

    def _play(self, action: int) -> None:
        self.state = compiled(self.env).step(self.state, np.int32(action))
        self.paid += np.asarray(self.state.rewards)

    def _others_play(self) -> None:
        while self.one_seat and not self.over and self.state.current_player != SEAT:
            self._play(int(np.asarray(compiled(self.env).mask(self.state)).argmax()))


def assert_same(view: View, reference: Reference) -> None:
    look, state = compiled(reference.env).look(reference.state), reference.state
    assert (bool(view.terminated), bool(view.truncated)) == (state.terminated, state.truncated)
    assert reference.over or view.mover == state.current_player
    np.testing.assert_array_equal(view.mask, look.mask)
    assert sorted(view.observations) == ([SEAT] if reference.one_seat else [*range(reference.env.num_players)])
    for seat, observation in view.observations.items():
        np.testing.assert_array_equal(np.ravel(observation), np.ravel(look.seats[seat]))
    assert view.rewards == pytest.approx({seat: reference.paid[seat] for seat in view.rewards})


def play_beside(made: Adapter, env: Any, seeds: int) -> set[str]:
    """Plays random games with an adapter and in the env; returns how they ended."""
    ends = set[str]()
    for seed in range(seeds):
        rng, reference = np.random.default_rng(seed), Reference(env, made.one_seat)
        made.reset(seed)
        assert_same(made.view(), reference)
        while not reference.over:
            action = int(rng.choice(np.flatnonzero(made.view().mask)))
            made.step(action)
            reference.step(action)
            assert_same(made.view(), reference)
        ends.add("truncated" if reference.state.truncated else "terminated")
    return ends


@every_adapter
@pytest.mark.parametrize(
    "env",
    [
        *(ShortSticks(), jaxgames.make(BOXES)),
        *(pytest.param(jaxgames.make(game), marks=pytest.mark.slow) for game in GAMES),
    ],
    ids=str,
)
def test_random_games_are_those_of_the_env(adapter: type[Adapter], env: Any) -> None:
    """Players, masks, observations of each seat, rewards and flags."""
    ends = play_beside(adapter(env), env, seeds=8 if env.num_actions < 10 else 3)
    assert not isinstance(env, ShortSticks) or ends == {"terminated", "truncated"}


@every_adapter
@pytest.mark.parametrize("action", [2, 3])
def test_illegal_action_of_the_mover_ends_the_game_and_costs_one(adapter: type[Adapter], action: int) -> None:
    """Three sticks are taken of fewer, or the number is none of an action. In JaxMARL, 3 does nothing."""
    made, reference = adapter(Sticks()), Reference(Sticks(), adapter.one_seat)
    made.reset(0)
    while made.view().mask[2]:
        made.step(1)
        reference.step(1)
    assert_same(made.view(), reference)
    if adapter.has_illegal_actions:
        made.step(action)
        reference.step(action)
        assert made.view().terminated
    else:
        with pytest.raises(ValueError, match=rf"one of \[0\], not {action}"):
            made.step(action)
    assert_same(made.view(), reference)


@pytest.mark.parametrize("adapter", adapters("gymnasium", "gymnax", "jaxmarl", "pgx"))
def test_finished_game_does_not_change_and_pays_nothing(adapter: type[Adapter]) -> None:
    made, reference = adapter(Sticks()), Reference(Sticks(), adapter.one_seat)
    made.reset(0)
    while not reference.over:
        made.step(0)
        reference.step(0)
    made.step(0)
    reference.paid[:] = 0
    assert_same(made.view(), reference)


def observed_games(made: Adapter, seeds: Iterable[Any]) -> list[list[str]]:
    """The observations of games in which single sticks are taken."""
    games: list[list[str]] = []
    for seed in seeds:
        made.reset(seed)
        games.append([])
        while not (made.view().terminated or made.view().truncated):
            made.step(0)
            games[-1].append(str([np.asarray(each) for each in made.view().observations.values()]))
    return games


@pytest.mark.parametrize("adapter", [each for each in adapters() if each.values[0].has_chance])
def test_game_of_chance_is_repeated_by_its_seed_and_differs_by_it(adapter: type[Adapter]) -> None:
    """Also on an adapter whose game is over."""
    made = adapter(LuckySticks())
    games = observed_games(made, range(8))
    assert observed_games(made, range(8)) == games
    assert len({*map(tuple, games)}) > 1


@pytest.mark.parametrize("adapter", adapters("gymnasium", "pettingzoo"))
def test_reset_without_a_seed_continues_from_the_last_one(adapter: type[Adapter]) -> None:
    made, seeds = adapter(LuckySticks()), (7, *[None] * 8)
    games = observed_games(made, seeds)
    assert observed_games(made, seeds) == games
    assert len({*map(tuple, games[1:])}) > 1


@pytest.mark.parametrize("adapter", adapters("gymnasium", "pettingzoo"))
def test_copies_and_pickles_play_on_alone(adapter: type[Adapter]) -> None:
    """Also before the first reset."""
    env = jaxgames.make(BOXES)
    made = adapter(env)
    pickle.loads(pickle.dumps(made)).reset(0)
    made.reset(0)
    made.step(1)
    copies = [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    games = ((made, 2), (copies[0], 3), (copies[1], 4))
    for each, action in games:
        each.step(action)
    for each, action in games:
        reference = Reference(env, made.one_seat)
        for played in (1, action):
            reference.step(played)
        assert_same(each.view(), reference)


@every_adapter
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("chess", ValueError, "unknown game 'chess'; the games are"),
        (3, TypeError, "expected an env or a text"),
        (jaxgames.auto_reset(Sticks()), ValueError, "without auto_reset"),
    ],
    ids=["unknown game", "no env", "auto_reset"],
)
def test_what_is_no_game_is_refused(adapter: type[Adapter], given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        adapter(given)


# -- without foreign libraries ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [
        *sorted(f"interop.{path.stem}" for path in Path(jaxgames.interop.__file__).parent.glob("[!_]*")),
        "play.web.server",
    ],
)
def test_module_without_its_library_names_the_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The foreign libraries are hidden, and the modules that this process has imported. Two modules need none."""
    imported = dict(sys.modules)
    for name in {*imported, *FOREIGN}:
        package, _, attribute = name.rpartition(".")
        if name.partition(".")[0] in FOREIGN:
            monkeypatch.setitem(sys.modules, name, None)  # an import of it raises ImportError
        elif name.startswith(("jaxgames.interop.", "jaxgames.play.web.")):
            monkeypatch.delitem(sys.modules, name)
            monkeypatch.delattr(imported[package], attribute, raising=False)
    if module in ("interop.seat_play", "interop.uci"):
        importlib.import_module(f"jaxgames.{module}")
        return
    extra = module.split(".")[0] if module.startswith("play") else module.split(".")[1]
    with pytest.raises(ImportError, match=rf'pip install "jaxgames\[{extra}\]"$') as raised:
        importlib.import_module(f"jaxgames.{module}")
    assert isinstance(raised.value.__cause__, ImportError), "the error of the foreign import is kept"


# -- devices ---------------------------------------------------------------------------------------------------------

ON_TWO_DEVICES = """
import copy, pickle
import jax
jax.config.update("jax_num_cpu_devices", 2)
from jax._src import xla_bridge
from jaxgames.host import host
assert not xla_bridge.backends_are_initialized()
first, second = jax.devices("cpu")
from jaxgames.interop.gymnasium import SeatEnv
from jaxgames.interop.openspiel import OpenSpielGame
from jaxgames.interop.pettingzoo import raw_env
from tests.helpers.scripted_agents import TakerOnHost
from tests.helpers.sticks import LuckySticks, Sticks

def on(tree):
    return {device for leaf in jax.tree.leaves(tree) for device in leaf.devices()}

key = jax.device_put(jax.random.key(0), first)
assert host(LuckySticks()).device == first
jax.config.update("jax_default_device", first)
game = host(LuckySticks(), second)
for state in (game.init(key)[0], LuckySticks().from_string("7 0"), jax.device_put(game.init(key)[0], first)):
    assert on(game.step(state, 0, key)[0]) == {second}
    assert game.look(state).player == 0
    assert game.observe(state, 1).any()

jax.config.update("jax_default_device", second)
zoo = raw_env(LuckySticks())
zoo.reset(seed=0)
zoo.step(0)
assert on((zoo.board, vars(zoo)["_key"])) == {first}
state = OpenSpielGame(Sticks()).new_initial_state()
state.apply_action(0)
assert on(state.position.board) == {first}
for opponent in ("random", TakerOnHost(1)):
    env = SeatEnv(LuckySticks(), seat="random", opponent=opponent)
    env.reset(seed=0)
    for each in (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        each.step(0)
        assert on((vars(each)["_episode"].key, vars(each)["_episode"].state.board)) == {first}
        each.reset(seed=1)
        assert on((vars(each)["_episode"].key, vars(each)["_episode"].state.board)) == {first}
"""


@pytest.mark.slow  # a start of JAX, with two virtual devices
def test_one_board_is_played_on_the_first_cpu_whatever_the_default_device_is() -> None:
    """Also by copies, and by what was pickled, which JAX loads to its default device; by `host` on any one."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", ON_TWO_DEVICES]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
