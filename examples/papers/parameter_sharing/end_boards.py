"""Figure 6: end boards of games on larger stars, against random players and of the policy against itself.

    python -m examples.papers.parameter_sharing.end_boards --runs runs/star_3 runs/star_4

The runs are folders of `train.ppo`, such as runs of the presets `star_3` and `star_4`. Without runs, short ones are
trained here for N = 3 and N = 4: as in the study, 100 iterations of 4,000 steps. The policy has seat 0, which is red.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from examples.papers._experiment import Experiment, Report, run_experiment, train_all
from examples.papers.parameter_sharing.study import settings_of
from jaxgames import Env, arena, make, render
from jaxgames.agents import RandomAgent
from jaxgames.games.chinese_checkers import ChineseCheckers
from train import agents
from train.driver.tables import markdown
from train.sweep import sweep_of

GAME = "chinese_checkers(size={}, num_players=6)"
SEAT = 0
RANDOM = "random players"
AGAINST = (RANDOM, "itself")  # the players on the other seats
QUICK: dict[str, Any] = {"sizes": (3,), "iterations": 1, "games": 2, "drawn": 1, "max_steps": 60}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/parameter_sharing/end_boards")
    runs: tuple[str, ...] = ()
    """Runs on six-seat stars, as runs/star_3 or runs/star_3@40. None: short runs are trained here."""
    sizes: tuple[int, ...] = (3, 4)
    """N of the runs that are trained here."""
    iterations: int = 100
    """Iterations of runs that are trained here."""
    seeds: int = 1
    """Runs that are trained here for each size."""
    games: int = 20
    """Games against random players, and of self-play, of each run."""
    drawn: int = 2
    """End boards of each kind in the picture."""
    max_steps: int = 60_000
    """Steps after which a game is drawn as it is."""


def report(arguments: Arguments) -> Report:
    rows: list[dict[str, Any]] = []
    for text, seed in (dict.fromkeys(arguments.runs) or trained_here(arguments)).items():
        env = agents.env_of(text)
        if not isinstance(env, ChineseCheckers):
            raise ValueError(
                f"{text} is not a run on a star: name the folder of a run of train.ppo, such as runs/star_3"
            )
        ends: list[str] = []
        for against in AGAINST:
            key = {"run": text, "against": against, "num_games": arguments.games, "max_steps": arguments.max_steps}
            result = arguments.once(key, functools.partial(play, env, *key.values()))
            ends += result.pop("boards")[: arguments.drawn]
            rows.append({"run": text, "N": env.size, "seed": seed, "against": against, **result})
        star = make("chinese_checkers", size=env.size, num_players=env.num_players)  # drawn without sums of rewards
        boards = [star.from_string(end) for end in ends]
        path = arguments.output / f"end_boards_{text.strip('/').replace('/', '_')}.svg"
        render.svg(star, boards, columns=2 * arguments.drawn).save(path)
    return Report({"rows": rows}, table(rows))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the rows as a Markdown table."""
    left_out = "seed" if rows[0].get("seed") is None else "run"  # runs trained here have long names
    columns = [name for name in rows[0] if name != left_out]
    return markdown(columns, [[row[name] for name in columns] for row in rows])


def trained_here(arguments: Arguments) -> dict[str, int | None]:
    """Returns the seeds of the runs that are trained here, by their texts."""
    seeds: dict[str, int | None] = {}
    for size in arguments.sizes:
        folder = arguments.output / "runs" / str(size)
        settings = settings_of("parameter_sharing", arguments.iterations, env=GAME.format(size))
        sweep = sweep_of("ppo", settings, arguments.seeds)
        train_all(sweep, folder)
        seeds |= {str(folder / name): learner.config.seed for name, learner in sweep.cells.items()}
    return seeds


def play(env: Env[Any], text: str, against: str, num_games: int, max_steps: int) -> dict[str, Any]:
    """Returns how the games ended, over or after `max_steps`, and their "boards" at the end as text."""
    agent = agents.make(text, env)
    other = RandomAgent(env) if against == RANDOM else agent
    start_key, play_key = jax.random.split(jax.random.key(0))
    seats = arena.one_seat(start_key, num_games, env.num_players, SEAT)
    begun = arena.start(env, start_key, num_games)
    finish = jax.jit(arena.advance_until_over, static_argnums=0, static_argnames="max_steps")
    played: Any = jax.device_get(finish(env, (agent, other), seats, begun, play_key, max_steps=max_steps))
    boards = (jax.tree.map(lambda leaf, game=game: leaf[game], played.boards) for game in range(num_games))
    won = np.asarray(arena.winners(env, played))
    return {
        "games": num_games,
        "won by the policy's seat": round(float(won[:, SEAT].mean()), 3),
        "won by another seat": round(float(won[:, SEAT + 1 :].any(-1).mean()), 3),
        "no winner": round(float((~won.any(-1)).mean()), 3),
        "mean rounds": round(float(played.boards.round.mean()), 1),
        "boards": [env.to_string(board) for board in boards],
    }


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
