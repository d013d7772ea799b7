"""From nothing to an agent that beats five random opponents, and a picture of it doing so: `make demo`.

Trains Chinese Checkers for six on the small star by self-play, all seats sharing one network, then plays 1,000 games
against five uniformly random opponents and ends with their summary as a line of JSON.
"""
# ruff: noqa: E402  # the first line shows at once: the imports below it take seconds

import sys
import time

BEGIN = time.monotonic()
print("Chinese Checkers for six, from nothing, by self-play; starting JAX ...", file=sys.stderr, flush=True)

import json
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames import render
from train import evaluate, play, plot
from train.driver import loop
from train.driver.run_folder import RunFolder
from train.models.policy import Params
from train.ppo import PPO, Config
from train.recipes import DEMO

FOLDER = Path("runs/demo")


def main() -> None:
    config = Config(**DEMO)
    settings = loop.Settings(run_dir=FOLDER, evaluate_every=20, checkpoint_every=50)
    shutil.rmtree(FOLDER, ignore_errors=True)
    run = RunFolder.create(FOLDER, PPO(config))
    if not loop.run_training(run.learner, run, settings)["finished"]:
        sys.exit(130)
    loop.log(f"learning curve  {plot.learning_curve(run)}")
    loop.log(f"animated game   {animate(run)}  (open it in a browser)")
    loop.log("1,000 games against five random opponents ...")
    result = evaluate.evaluate(evaluate.Arguments(FOLDER, games=1000))
    loop.log(f"{time.monotonic() - BEGIN:.0f} seconds in all")
    print(json.dumps(result))


def animate(run: RunFolder) -> Path:
    """Plays a few games against random opponents and writes the shortest one that was won as an animated SVG."""
    learner = run.learner
    env, num_games, num_steps = learner.env, 32, 300
    pilots = play.one_seat(jax.random.key(0), num_games, env.num_players, seat=0)

    @jax.jit
    def record(params: Params) -> Any:
        start_key, key = jax.random.split(jax.random.key(1))
        games = play.start(env, start_key, num_games)
        return play.record(
            env, [learner.policy], [params], pilots, games, key, num_steps, temperature=run.config.temperature
        )

    games, boards, actions = jax.device_get(record(run.params()))
    shortest = np.where(games.won[:, 0], games.length, num_steps).argmin()
    states = jax.tree.map(lambda x: x[:, shortest], boards)
    picture = render.animate(env, states, actions[:-1, shortest], seconds_per_step=0.4)
    path = run.folder / "game.svg"
    picture.save(path)
    return path


if __name__ == "__main__":
    main()
