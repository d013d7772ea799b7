"""Adapters and agents of one board stay on the first CPU, whatever JAX's default device is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
def test_one_board_is_played_on_its_cpu() -> None:
    """Also by copies, and by what was pickled, which JAX loads to its default device; by `host` on any one."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", ON_TWO_DEVICES]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
