"""Trains an agent that beats five random opponents, and draws one of its games: `make demo`.

The game is Chinese Checkers for six players on the small star; one network learns all seats by self-play. Then the
agent plays 1,000 games against five uniformly random opponents. It prints a table of these games, and JSON as its last
line. It ends with an error if the agent wins fewer than nine games of ten.
"""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from train.driver.run_folder import RunFolder

FOLDER = Path("runs/demo")
MIN_WIN_RATE = 0.9


def main() -> None:
    start = time.monotonic()
    print("Chinese Checkers for six, from nothing, by self-play; starting JAX ...", file=sys.stderr, flush=True)
    from train import evaluate, plot  # here, because importing JAX takes seconds and the first line should not wait
    from train.driver import compilation, loop
    from train.driver.run_folder import RunFolder
    from train.ppo import PPO, config_for

    compilation.keep_programs()
    settings = loop.Settings(run_dir=FOLDER, evaluate_every=20, checkpoint_every=50)
    shutil.rmtree(FOLDER, ignore_errors=True)
    run = RunFolder.create(FOLDER, PPO(config_for("chinese_checkers(size=2, num_players=6)")))
    if not loop.run_training(run.learner, [run], settings)["finished"]:
        sys.exit(130)
    loop.log(f"learning curve  {plot.plot(plot.Arguments(runs=(FOLDER,)))[0]}")
    loop.log(f"animated game   {animate_shortest_win(run)}  (open it in a browser)")
    loop.log("1,000 games against five random opponents ...")
    result = evaluate.evaluate(evaluate.Arguments(agent=str(FOLDER), games=1000))
    loop.log(f"{time.monotonic() - start:.0f} seconds in all")
    print(evaluate.table(result))
    print(json.dumps(result))
    check(result["win_rate"])


def check(win_rate: float) -> None:
    """Ends the program with an error if the agent has won too few of its games."""
    if not win_rate >= MIN_WIN_RATE:
        sys.exit(f"the agent won {win_rate:.3f} of its games; at least {MIN_WIN_RATE} were expected")


def animate_shortest_win(run: "RunFolder", num_games: int = 32, num_steps: int = 300) -> Path:
    """Plays a few games against random opponents and writes the shortest one that the agent won as an animated SVG."""
    import jax
    import numpy as np

    from jaxgames import arena, render
    from jaxgames.agents import RandomAgent
    from train import agents

    env = run.learner.env
    players = (agents.agent_of_run(run), RandomAgent(env))
    agent_of_seat = arena.one_seat(jax.random.key(0), num_games, env.num_players, seat=0)

    @jax.jit
    def record(players: Any) -> Any:
        start_key, key = jax.random.split(jax.random.key(1))
        games = arena.start(env, start_key, num_games)
        games, boards, actions = arena.record(env, players, agent_of_seat, games, key, num_steps)
        return arena.winners(env, games)[:, 0], games.length, boards, actions

    won, length, boards, actions = jax.device_get(record(players))
    shortest = np.where(won, length, num_steps).argmin()
    states = jax.tree.map(lambda x: x[:, shortest], boards)
    picture = render.animate(env, states, actions[:-1, shortest], seconds_per_step=0.4)
    path = run.folder / "game.svg"
    picture.save(path)
    return path


if __name__ == "__main__":
    main()
