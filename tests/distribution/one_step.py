"""A program for an environment that has one extra: `python one_step.py EXTRA` uses what the extra is for, once.

Each function below has the name of its extra. `train` is on the path, as in a checkout.
"""

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
    assert Path("board.png").stat().st_size > 0 < Path("game.gif").stat().st_size


def train() -> None:
    """Trains for one iteration and evaluates and plots the run."""
    small = ("--num-envs", "2", "--rollout-length", "16", "--num-minibatches", "2", "--total-steps", "32")
    _run_module("train.ppo", "--env", GAME, "--run-dir", "run", "--evaluation-games", "2", *small)
    _run_module("train.evaluate", "run", "--games", "2")
    _run_module("train.plot", "run")


def search() -> None:
    """Chooses an action by tree search."""
    env = jaxgames.make(GAME)
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 2))
    actions = jaxgames.agents.make("mcts(simulations=4)", env).act(jax.random.key(1), boards)
    assert actions.shape == (2,)


def distrax() -> None:
    """Takes a sample and its log-probability."""
    from train.ops.masked_categorical_distrax import MaskedCategorical

    distribution = MaskedCategorical(jnp.zeros(3), jnp.array([True, False, True]))
    action, log_prob = distribution.sample_and_log_prob(seed=jax.random.key(0))
    assert int(action) in (0, 2)
    assert jnp.allclose(log_prob, jnp.log(0.5))


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
