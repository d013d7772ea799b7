"""A program for an environment that has jaxgames without extras.

It imports the library, plays a game of each kind, and moves once with each baseline agent.

It fails if the import starts a device, or if a module of an extra is loaded at the end.
"""

import sys
from importlib import metadata, resources

import jax
import numpy as np
from jax._src import xla_bridge

import jaxgames

GAMES = (
    "checkers",
    "chinese_checkers(size=2, num_players=2, max_rounds=20)",
    "chinese_checkers_diamond(size=4, pieces=3)",
    "dots_and_boxes(rows=2, cols=2)",
    "minichess",
)
FOREIGN = {  # what the extras import, for training and for other libraries
    *("distrax", "flax", "matplotlib", "mctx", "optax", "orbax", "PIL", "resvg_py", "tensorboardX", "tqdm", "tyro"),
    *("gymnasium", "gymnax", "jaxmarl", "numba", "open_spiel", "pandas", "pettingzoo", "pgx", "pyspiel", "torch"),
    *("starlette", "uvicorn"),
}


def play(name: str) -> str:
    """Plays a random game to its end and returns the last position as text."""
    env = jaxgames.make(name)
    step, legal = jax.jit(env.step), jax.jit(env.legal_action_mask)
    state, random = env.init(jax.random.key(0)), np.random.default_rng(0)
    while not (state.terminated or state.truncated):
        state = step(state, random.choice(np.flatnonzero(legal(state))))
    return env.to_string(state)


def baseline_move(name: str) -> str:
    """Returns the first move of a baseline agent as text."""
    env = jaxgames.make(jaxgames.baselines.card(name).env)
    state = env.init(jax.random.key(0))
    agent = jaxgames.agents.make("baseline", env)
    actions = jax.jit(agent.act)(jax.random.key(0), jax.tree.map(lambda leaf: leaf[None], state))
    return env.action_to_string(state, int(actions[0]))


def main() -> None:
    """Runs the checks; an AssertionError names the one that failed."""
    assert not xla_bridge.backends_are_initialized(), "the import of jaxgames started a device"
    assert (resources.files("jaxgames") / "py.typed").is_file(), "py.typed is missing"
    assert metadata.version("jaxgames") == jaxgames.__version__
    assert {name.partition("(")[0] for name in GAMES} == {*jaxgames.list_games()}
    for name in GAMES:
        print(name, play(name))
    assert jaxgames.baselines.list_baselines(), "there are no baseline agents"
    for name in jaxgames.baselines.list_baselines():
        print("baseline", name, baseline_move(name))
    loaded = sorted(FOREIGN & sys.modules.keys())
    assert not loaded, f"the games load {loaded}"


if __name__ == "__main__":
    main()
