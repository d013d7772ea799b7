"""A program for an environment that has one extra: `python one_step.py EXTRA` uses what the extra is for, once.

Each function below has the name of its extra. `train` is on the path, as in a checkout.
"""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

import jaxgames

GAME = "dots_and_boxes(rows=1, cols=2)"


def render() -> None:
    """Writes a PNG and a GIF."""
    env = jaxgames.make(GAME)
    states = [env.init(), env.step(env.init(), 0)]
    jaxgames.render.svg(env, states[0]).save("board.png")
    jaxgames.render.animate(env, states, [0]).save("game.gif")
    assert Path("game.gif").stat().st_size


def train() -> None:
    """Trains for one iteration and evaluates and plots the run."""
    small = ("--num-envs", "2", "--rollout-length", "16", "--num-minibatches", "2", "--total-steps", "32")
    _run_module("train.ppo", "--env", GAME, "--run-dir", "run", "--evaluation-games", "2", *small)
    _run_module("train.evaluate", "run", "--games", "2")
    _run_module("train.plot", "run")


def wandb() -> None:
    """Logs a number to Weights & Biases, without a connection."""
    from train.driver.loggers import LOGGERS

    os.environ["WANDB_MODE"] = "offline"
    Path("run").mkdir()
    with LOGGERS["wandb"](Path("run"), {"env": GAME}, 1) as log:
        log(1, {"win_rate": 0.5})
    assert [*Path("run").glob("wandb/offline-run-*/*.wandb")]


def search() -> None:
    """Chooses an action by tree search."""
    env = jaxgames.make(GAME)
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 2))
    actions = jaxgames.agents.make("mcts(simulations=4)", env).act(jax.random.key(1), boards)
    assert actions.shape == (2,)


def numba() -> None:
    """Compiles the search in Dots and Boxes and finds a value."""
    from jaxgames.games.dots_and_boxes.search import ExactSearch

    assert ExactSearch(jaxgames.make(GAME), compiled=True).search().value == 0


def distrax() -> None:
    """Takes a sample and its log-probability."""
    from distrax import Categorical

    logits = jnp.array([0.0, jnp.finfo(jnp.float32).min, 0.0])
    action, log_prob = Categorical(logits=logits).sample_and_log_prob(seed=jax.random.key(0))
    assert int(action) in (0, 2)
    assert jnp.allclose(log_prob, jnp.log(0.5))


def play() -> None:
    """Makes the application that serves the page."""
    import uvicorn

    from jaxgames.play.web.server import app

    uvicorn.Config(app(jaxgames.make(GAME), ["human", "first"]), log_level="error").load()


def pettingzoo() -> None:
    """Takes the first agent's step."""
    from jaxgames.interop.pettingzoo import aec_env

    env = aec_env(GAME)
    env.reset(seed=0)
    env.step(0)
    assert env.agent_selection == "player_1"


def gymnasium() -> None:
    """Takes a step in an environment that `gymnasium.make` finds; the adapter's module is named in front of it."""
    import gymnasium

    env = gymnasium.make("jaxgames.interop.gymnasium:jaxgames/DotsAndBoxes-v0", rows=1, cols=2, opponent="first")
    _, info = env.reset(seed=0)
    assert info["action_mask"].all()
    info = env.step(0)[-1]
    assert info["action_mask"].sum() == 5  # both seats have drawn an edge


def openspiel() -> None:
    """Takes a step in a game that OpenSpiel loads by name, and plays one action of a bot."""
    import pyspiel

    from jaxgames.interop import openspiel

    openspiel.register()
    state = pyspiel.load_game("jaxgames_dots_and_boxes(rows=1,cols=2)").new_initial_state()
    state.apply_action(0)
    assert 0 not in state.legal_actions()
    env = jaxgames.make(GAME)
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 1))
    assert jaxgames.agents.make("openspiel(simulations=2)", env).act(jax.random.key(1), boards).shape == (1,)


def pgx() -> None:
    """Takes a step."""
    from jaxgames.interop.pgx import PgxEnv

    env = PgxEnv(GAME)
    state = env.step(env.init(jax.random.key(0)), jnp.int32(0))
    assert not state.legal_action_mask[0]


def gymnax() -> None:
    """Takes a step of one seat."""
    from jaxgames.interop.gymnax import SeatEnv

    env = SeatEnv(GAME, opponent="first")
    _, state = env.reset(jax.random.key(0), env.default_params)
    state = env.step(jax.random.key(1), state, 0, env.default_params)[1]
    assert env.action_mask(state).sum() == 5  # both seats have drawn an edge


def jaxmarl() -> None:
    """Takes a step of all agents, of which one moves."""
    from jaxgames.interop.jaxmarl import JaxMARLEnv

    env = JaxMARLEnv(GAME)
    _, state = env.reset(jax.random.key(0))
    state = env.step(jax.random.key(1), state, {"agent_0": 0, "agent_1": env.no_op})[1]
    assert env.get_avail_actions(state)["agent_1"].sum() == 6  # all edges but one


def docs() -> None:
    """Builds a site of one page with the reference of one function."""
    Path("mkdocs.yml").write_text("site_name: test\nplugins:\n  - mkdocstrings\n")
    Path("docs").mkdir()
    Path("docs/index.md").write_text("# Reference\n\n::: jaxgames.make\n")
    _run_module("zensical", "build", "--strict")
    assert "Returns the env of a game" in Path("site/index.html").read_text()


def _run_module(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
