"""The commands that make the baseline agents of the project, one entry of RECIPES for each agent.

An agent and its file have one name. The commands are as they are typed, without `python -m`, in their order. The last
one writes the file. `train.baselines` runs them.
"""

from dataclasses import dataclass

RUNS = "runs/baselines"  # the folder of runs and positions in the commands
OUTPUT = "jaxgames/baselines"  # the folder of the files in the commands
CHECKSUM_DIGITS = 8  # of the checksum of a file, in the name of the ladder's folder


@dataclass(frozen=True)
class Recipe:
    """The commands of an agent, and the games that measure it."""

    env: str
    """The game of the measurements, which the agent has to play."""
    training: str
    """The training, in a sentence for its card."""
    commands: tuple[str, ...]
    others: tuple[str, ...] = ()
    """Agents of the ladder, beside random, greedy and baseline."""
    match_games: int = 400
    ladder_games: int = 100
    """Games of every pair."""

    def match_command(self, opponent: str, num_players: int) -> str:
        """Returns the command for games on one seat against copies of an opponent on all other seats."""
        seats = f" --seats 1 {num_players - 1}" if num_players > 2 else ""
        openings = -(-self.match_games // num_players)
        settings = f"--games {self.match_games} --openings {openings} --seating alternating{seats}"
        return f'train.match baseline {opponent} --env "{self.env}" {settings}'

    def ladder_command(self, name: str, sha256: str) -> str:
        """Returns the command of the ladder, whose folder belongs to this file of the agent."""
        others = "".join(f' "{other}"' for other in self.others)
        output = f"{RUNS}/ladder_{name}_{sha256[:CHECKSUM_DIGITS]}"
        return f'train.ladder "{self.env}" greedy baseline{others} --games {self.ladder_games} --output {output}'


def _export(name: str, run: str, more: str = "") -> str:
    return f"train.export {RUNS}/{run} --output {OUTPUT}/{name}.policy --half{more}"


def _untrained_star(env: str, size: int, center: float, match_games: int, ladder_games: int) -> Recipe:
    """Returns the recipe of an agent that plays a star board by the plan of hops alone."""
    name = f"chinese_checkers_{size}"
    return Recipe(
        env=env,
        training="None: the plan of hops with which the network `hops` begins, before any training.",
        commands=(
            f'train.ppo --preset star_{size} --network "hops(steepness=8.0, center={center})" --hidden-sizes 16 '
            f"--total-steps 1 --keep-every 1 --evaluate-every 0 --run-dir {RUNS}/{name}",
            _export(name, f"{name}@0"),
        ),
        match_games=match_games,
        ladder_games=ladder_games,
    )


RECIPES: dict[str, Recipe] = {
    "checkers": Recipe(
        env="checkers",
        training="PPO by self-play.",
        commands=(
            f"train.ppo --env checkers --total-steps 4500000 --run-dir {RUNS}/checkers",
            _export("checkers", "checkers"),
        ),
        others=("alphabeta(depth=1)", "alphabeta(depth=2)"),
        ladder_games=60,
    ),
    "chinese_checkers_2": Recipe(
        env="chinese_checkers(size=2)",
        training="PPO against greedy and random players, from the plan of hops with which the network `hops` begins.",
        commands=(
            'train.ppo --preset star_3 --env "chinese_checkers(size=2, reward=win_loss)" --hidden-sizes 64 64 '
            f"--total-steps 1500000 --evaluate-every 0 --run-dir {RUNS}/chinese_checkers_2",
            _export("chinese_checkers_2", "chinese_checkers_2"),
        ),
        others=("greedy(epsilon=0.2)",),
        ladder_games=60,
    ),
    "chinese_checkers_3": _untrained_star("chinese_checkers(size=3)", 3, 0.2, match_games=240, ladder_games=60),
    "chinese_checkers_4": _untrained_star("chinese_checkers", 4, 0.4, match_games=120, ladder_games=40),
    "chinese_checkers_diamond": Recipe(
        env="chinese_checkers_diamond",
        training="Imitation of the greedy agent, then PPO against it and against earlier versions of itself.",
        commands=(
            'train.data --env chinese_checkers_diamond --label greedy --play "greedy(epsilon=0.2)" --positions 30000 '
            f"--output {RUNS}/diamond.npz",
            f"train.imitation --env chinese_checkers_diamond --data {RUNS}/diamond.npz "
            '--network "residual_mlp(blocks=2)" --hidden-sizes 128 --total-steps 1000000 --evaluate-every 0 '
            f"--run-dir {RUNS}/diamond_greedy",
            f"train.ppo --env chinese_checkers_diamond --init-from {RUNS}/diamond_greedy "
            '--network "residual_mlp(blocks=2)" --hidden-sizes 128 --opponents greedy,greedy,greedy,self@every=5 '
            "--learning-rate 3e-4 --clip-coef 0.2 --ent-coef 0.002 --gamma 0.995 --gae-lambda 0.95 --critic-warmup 5 "
            "--temperature 0 --num-envs 256 --rollout-length 64 --update-epochs 3 --total-steps 1000000 "
            f"--evaluate-every 20 --evaluation-opponent greedy --run-dir {RUNS}/diamond",
            _export("chinese_checkers_diamond", "diamond"),
        ),
        others=("greedy(epsilon=0.2)",),
        ladder_games=60,
    ),
    "dots_and_boxes": Recipe(
        env="dots_and_boxes",
        training="AlphaZero by self-play on 3 x 3 and 4 x 4 boxes. The parameters of its graph network fit any board.",
        commands=(
            f"train.alphazero --preset every_board --run-dir {RUNS}/dots_and_boxes",
            _export("dots_and_boxes", "dots_and_boxes", ' --env "dots_and_boxes(reward=boxes)"'),
        ),
        others=("mcts(simulations=100)", "alphabeta(milliseconds=10)"),
        ladder_games=40,
    ),
    "minichess": Recipe(
        env="minichess",
        training="AlphaZero by self-play.",
        commands=(
            f"train.alphazero --env minichess --run-dir {RUNS}/minichess",
            _export("minichess", "minichess"),
        ),
        others=("alphabeta(depth=1)", "alphabeta(depth=2)"),
        ladder_games=60,
    ),
}
