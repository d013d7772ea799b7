"""What an installed jaxgames is for, in an environment with one extra: `python programs.py EXTRA`; `none` has no extra.

Each function has the name of its extra; of other extras the adapter is imported, which imports its library. `train` is
on the path then, as in a checkout.
"""

import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames

FOREIGN = {  # what the extras import, for training and for other libraries
    *("distrax", "flax", "matplotlib", "mctx", "optax", "orbax", "PIL", "resvg_py", "tensorboardX", "tqdm", "tyro"),
    *("gymnasium", "gymnax", "jaxmarl", "numba", "open_spiel", "pandas", "pettingzoo", "pgx", "pyspiel", "torch"),
    *("starlette", "uvicorn"),
}
GAME = "dots_and_boxes(rows=1, cols=2)"


def none() -> None:
    """Plays the start of each game and moves with each baseline."""
    assert metadata.version("jaxgames") == jaxgames.__version__
    for name in jaxgames.list_games():
        env = jaxgames.make(name)
        step, legal = jax.jit(env.step), jax.jit(env.legal_action_mask)
        state, random = env.init(jax.random.key(0)), np.random.default_rng(0)
        for _ in range(8):
            state = step(state, random.choice(np.flatnonzero(legal(state))))
        print(name, env.to_string(state))
    assert jaxgames.baselines.list_baselines(), "there are no baseline agents"
    for name in jaxgames.baselines.list_baselines():
        print("baseline", name, first_move("baseline", jaxgames.baselines.card(name).env))


def first_move(agent: str, game: str) -> str:
    """The action of an agent at the start, as text."""
    env = jaxgames.make(game)
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 1))
    (action,) = jaxgames.agents.act_compiled(jaxgames.agents.make(agent, env), jax.random.key(0), boards)
    return env.action_to_string(jax.tree.map(lambda leaf: leaf[0], boards), int(action))


def render() -> None:
    env = jaxgames.make(GAME)
    states = [env.init(), env.step(env.init(), 0)]
    jaxgames.render.svg(env, states[0]).save("board.png")
    jaxgames.render.animate(env, states, [0]).save("game.gif")
    assert Path("game.gif").stat().st_size


def train() -> None:
    small = ("--num-envs", "2", "--rollout-length", "16", "--num-minibatches", "2", "--total-steps", "32")
    for arguments in (
        ("train.ppo", "--env", GAME, "--run-dir", "run", "--evaluation-games", "2", *small),
        ("train.evaluate", "run", "--games", "2"),
        ("train.plot", "run"),
    ):
        subprocess.run([sys.executable, "-m", *arguments], check=True)


def search() -> None:
    assert first_move("mcts(simulations=4)", GAME)


def numba() -> None:
    from jaxgames.games.dots_and_boxes.search import ExactSearch

    assert ExactSearch(jaxgames.make(GAME), compiled=True).search().value == 0


def distrax() -> None:
    from distrax import Categorical

    assert int(Categorical(logits=jnp.array([0.0, 100.0])).sample(seed=jax.random.key(0))) == 1


def play() -> None:
    """Makes the application that serves the page."""
    import uvicorn

    from jaxgames.play.web.server import app

    uvicorn.Config(app(jaxgames.make(GAME), ["human", "first"]), log_level="error").load()


def gymnasium() -> None:
    """`gymnasium.make` finds the environment by the name of the adapter's module in front of it."""
    import gymnasium

    env = gymnasium.make("jaxgames.interop.gymnasium:jaxgames/DotsAndBoxes-v0", rows=1, cols=2, opponent="first")
    _, info = env.reset(seed=0)
    assert info["action_mask"].all()
    info = env.step(0)[-1]
    assert info["action_mask"].sum() == 5  # both seats have drawn an edge


def openspiel() -> None:
    """OpenSpiel loads the game by its name, and its bot plays one action."""
    import pyspiel

    from jaxgames.interop import openspiel

    openspiel.register()
    state = pyspiel.load_game("jaxgames_dots_and_boxes(rows=1,cols=2)").new_initial_state()
    state.apply_action(0)
    assert 0 not in state.legal_actions()
    assert first_move("openspiel(simulations=2)", GAME)


if __name__ == "__main__":
    extra = sys.argv[1]
    globals()[extra]() if extra in globals() else importlib.import_module(f"jaxgames.interop.{extra}")
