"""The commands that make the baseline agents of the project, one entry of RECIPES for each agent.

An agent and its file have one name. The commands are as they are typed, without `python -m`, in their order. The last
one writes the file. `train.baselines` runs them.
"""

from dataclasses import dataclass

RUNS = "runs/baselines"  # the folder of runs and positions in the commands
OUTPUT = "jaxgames/baselines"  # the folder of the files in the commands
CHECKSUM_DIGITS = 8  # of the checksum of a file, in the name of the ladder's folder
ALPHAZERO_RESULTS = "docs/training/alphazero_results.md"
TRADITIONAL_BOARD = "docs/papers/traditional_board.md"


@dataclass(frozen=True)
class Recipe:
    """The commands of an agent, and the games that measure it."""

    env: str
    """The game of the measurements, which the agent has to play."""
    training: str
    """The training, in a sentence for its card."""
    self_play: str
    """The best result of self-play without a teacher on this board, a sentence for its card."""
    commands: tuple[str, ...]
    self_play_source: str = ""
    """The section of the docs with the figure of `self_play`; "" if there is none."""
    others: tuple[str, ...] = ()
    """Agents of the ladder, beside random, greedy and baseline."""
    matches: tuple[tuple[str, str], ...] = ()
    """Agents with an opponent each, beside the network alone against random and greedy."""
    has_values: bool = True
    """False if the teacher labels moves alone, so that the values of the network are untrained."""
    match_games: int = 400
    ladder_games: int = 100
    """Games of every pair."""

    def match_command(self, agent: str, opponent: str, num_players: int) -> str:
        """Returns the command for games of an agent on one seat against copies of an opponent on all other seats."""
        seats = f" --seats 1 {num_players - 1}" if num_players > 2 else ""
        openings = -(-self.match_games // num_players)
        settings = f"--games {self.match_games} --openings {openings} --seating alternating{seats}"
        return f'train.match {_quoted(agent)} {_quoted(opponent)} --env "{self.env}" {settings}'

    def ladder_command(self, name: str, sha256: str) -> str:
        """Returns the command of the ladder, whose folder belongs to this file of the agent."""
        others = "".join(f' "{other}"' for other in self.others)
        output = f"{RUNS}/ladder_{name}_{sha256[:CHECKSUM_DIGITS]}"
        return f'train.ladder "{self.env}" greedy baseline{others} --games {self.ladder_games} --cost --output {output}'


def _quoted(agent: str) -> str:
    return f'"{agent}"' if "(" in agent else agent


def _export(name: str, run: str, bits: int = 16) -> str:
    return f"train.export {RUNS}/{run} --output {OUTPUT}/{name}.policy --bits {bits}"


def _labels(env: str, label: str, play: str, positions: int, train: int, seed: int, name: str, more: str = "") -> str:
    return joined(
        f'train.data --env "{env}" --label "{label}" --play "{play}" --positions {positions} --train {train}',
        f"--seed {seed}",
        more,
        f"--output {RUNS}/{name}.npz",
    )


def joined(*parts: str) -> str:
    """Returns the parts of a command that are not empty, with blanks between them."""
    return " ".join(part for part in parts if part)


def _race(size: int) -> str:
    """Returns the agent `race` with the weights that its training stores."""
    return f"examples.papers.parameter_sharing.turn_search:race({RUNS}/race/{size}.npz, samples=16)"


def _race_training(size: int) -> str:
    return f"examples.papers.parameter_sharing.turn_search.learning --size {size} --games 12000 --output {RUNS}/race"


def _plan(size: int, center: float, run: str, more: str = "") -> str:
    """Returns the command of the plan of hops with which the network `hops` begins, without training: RUN@0."""
    return joined(
        f"train.ppo --preset star_{size}",
        more,
        f'--network "hops(steepness=8.0, center={center})" --hidden-sizes 16 --total-steps 1 --keep-every 1',
        f"--evaluate-every 0 --run-dir {RUNS}/{run}",
    )


BOXES, BOXES_PLAY = "dots_and_boxes(reward=boxes)", "alphabeta(milliseconds=5, epsilon=0.15)"
BOXES_NETWORK = (
    '--network "graph(width=32, rounds=8, chains=True)" --batch-size 32 --legal-coef 0 --value-coef 1 '
    "--schedule linear --evaluated-positions 3000 --evaluate-every 0"
)
BOXES_MORE = (
    f'train.imitation --env "{BOXES}" --data {RUNS}/boxes_3.npz --other-data {RUNS}/boxes_2.npz {RUNS}/boxes_1.npz '
    f"{BOXES_NETWORK} --num-minibatches 1500"
)
CHECKERS = (
    '--network "diagonal_mlp(channels=24, hidden_sizes=256, dropout=0.1)" --value-coef 0.5 --legal-coef 0.05 '
    "--weight-decay 0.01 --evaluate-every 0"
)
CHECKERS_FIRST = f"{RUNS}/checkers_first(temperature=1)"
MINICHESS = (
    "--network chess_graph --value-coef 0.5 --legal-coef 0.05 --weight-decay 0.01 --learning-rate 2e-3 "
    "--batch-size 128 --evaluated-positions 3000 --evaluate-every 0"
)
MINICHESS_TEACHER = "uci(depth=6, lines=100)"
STAR_2 = "chinese_checkers(size=2, num_players=6)"
HOPS = '--network "hops(center=0.2)" --hidden-sizes 128 128'
STAR = f'--preset star_3 --env "{STAR_2}" {HOPS}'
STAR_3 = "chinese_checkers(size=3)"
HOPS_3 = '--network "hops(center=0.2)" --hidden-sizes 128 128 --legal-coef 0 --num-minibatches 200 --evaluate-every 0'

RECIPES: dict[str, Recipe] = {
    "checkers": Recipe(
        env="checkers",
        training="Imitation of alpha-beta of depth 8, on positions of its own games and of games of a first imitation.",
        self_play="AlphaZero from random parameters, 64 simulations: 11 wins, 94 draws, 95 losses against OpenSpiel's "
        "`MCTSBot` with 1,000 simulations",
        self_play_source=f"{ALPHAZERO_RESULTS}#against-openspiels-search",
        commands=(
            _labels("checkers", "alphabeta(depth=8)", "alphabeta(depth=3, epsilon=0.15)", 120_000, 97, 0, "checkers_1"),
            f"train.imitation --data {RUNS}/checkers_1.npz {CHECKERS} --total-steps 3500000 --num-minibatches 500 "
            f"--run-dir {RUNS}/checkers_first",
            _labels("checkers", "alphabeta(depth=8)", CHECKERS_FIRST, 250_000, 98, 1, "checkers_2"),
            _labels("checkers", "alphabeta(depth=8)", "alphabeta(depth=4, epsilon=0.1)", 250_000, 98, 2, "checkers_3"),
            f"train.imitation --data {RUNS}/checkers_3.npz --other-data {RUNS}/checkers_2.npz {RUNS}/checkers_1.npz "
            f"{CHECKERS} --total-steps 4500000 --batch-size 256 --num-minibatches 900 --run-dir {RUNS}/checkers",
            _export("checkers", "checkers", bits=8),
        ),
        others=(
            "baseline(simulations=64)",
            "openspiel(simulations=100)",
            "alphabeta(depth=1)",
            "alphabeta(depth=2)",
            "alphabeta(depth=4)",
            "alphabeta(depth=6)",
        ),
        matches=(("baseline(simulations=64)", "alphabeta(depth=4)"),),
        ladder_games=40,
    ),
    "chinese_checkers_2": Recipe(
        env="chinese_checkers(size=2)",
        training="PPO against greedy players and the demo's agent, imitation of the search `race`, PPO against greedy "
        "players. It begins with the plan of hops of the network `hops`.",
        self_play="AlphaZero from random parameters, 32 simulations: 0.085 of 600 games won against five copies of the "
        "demo's agent; an equal player wins one in six",
        self_play_source=f"{ALPHAZERO_RESULTS}#six-seats-on-the-star",
        commands=(
            "examples.demo",
            f"train.ppo {STAR} --opponents greedy,greedy,runs/demo,runs/demo,runs/demo --total-steps 12000000 "
            f"--evaluate-every 40 --evaluation-opponent greedy --run-dir {RUNS}/chinese_checkers_2_first",
            _race_training(2),
            _labels(STAR_2, _race(2), f"{RUNS}/chinese_checkers_2_first(temperature=1)", 60_000, 97, 0, "star_1"),
            _labels(STAR_2, _race(2), "greedy(epsilon=0.1)", 40_000, 97, 1, "star_2"),
            f'train.imitation --env "{STAR_2}" --data {RUNS}/star_1.npz --other-data {RUNS}/star_2.npz {HOPS} '
            f"--init-from {RUNS}/chinese_checkers_2_first --learning-rate 5e-4 --legal-coef 0 --total-steps 2000000 "
            f"--num-minibatches 200 --evaluate-every 0 --run-dir {RUNS}/chinese_checkers_2_race",
            f"train.ppo {STAR} --init-from {RUNS}/chinese_checkers_2_race --critic-warmup 6 --kl-coef 0.2 "
            "--final-kl-coef 0.0 --learning-rate 1.5e-4 --opponents greedy --temperature 0 --total-steps 3000000 "
            f"--evaluate-every 40 --evaluation-opponent greedy --run-dir {RUNS}/chinese_checkers_2",
            _export("chinese_checkers_2", "chinese_checkers_2"),
        ),
        others=("greedy(epsilon=0.2)",),
        matches=(("baseline", "runs/demo(temperature=1)"),),
        ladder_games=60,
    ),
    "chinese_checkers_3": Recipe(
        env=STAR_3,
        training="Imitation of the search `race`, on positions of games of the plan of hops, of greedy players, of a "
        "first imitation. It begins with the plan of hops of the network `hops`.",
        self_play="PPO by self-play from the plan of hops, 1 million steps: 0.743 and 0.705 of 400 games won against "
        "five greedy players",
        self_play_source=f"{TRADITIONAL_BOARD}#what-each-change-brought",
        commands=(
            _plan(3, 0.2, "chinese_checkers_3_plan", more=f'--env "{STAR_3}"'),
            _race_training(3),
            _labels(STAR_3, _race(3), f"{RUNS}/chinese_checkers_3_plan@0(temperature=1)", 60_000, 97, 0, "star_3_1"),
            _labels(STAR_3, _race(3), "greedy(epsilon=0.1)", 60_000, 97, 1, "star_3_2"),
            f'train.imitation --env "{STAR_3}" --data {RUNS}/star_3_1.npz --other-data {RUNS}/star_3_2.npz {HOPS_3} '
            f"--learning-rate 1e-3 --total-steps 2000000 --run-dir {RUNS}/chinese_checkers_3_race",
            _labels(STAR_3, _race(3), f"{RUNS}/chinese_checkers_3_race(temperature=1)", 120_000, 97, 2, "star_3_3"),
            f'train.imitation --env "{STAR_3}" --data {RUNS}/star_3_1.npz --other-data {RUNS}/star_3_2.npz '
            f"{RUNS}/star_3_3.npz {HOPS_3} --init-from {RUNS}/chinese_checkers_3_race --learning-rate 5e-4 "
            f"--total-steps 3000000 --run-dir {RUNS}/chinese_checkers_3",
            _export("chinese_checkers_3", "chinese_checkers_3"),
        ),
        has_values=False,
        ladder_games=60,
    ),
    "chinese_checkers_4": Recipe(
        env="chinese_checkers",
        training="None: the plan of hops with which the network `hops` begins, before any training.",
        self_play="PPO by self-play from the plan of hops, 1 million steps: 0.750 of 200 games won against five greedy "
        "players",
        self_play_source=f"{TRADITIONAL_BOARD}#what-each-change-brought",
        commands=(_plan(4, 0.4, "chinese_checkers_4"), _export("chinese_checkers_4", "chinese_checkers_4@0")),
        match_games=120,
        ladder_games=40,
    ),
    "chinese_checkers_diamond": Recipe(
        env="chinese_checkers_diamond",
        training="Imitation of the greedy agent, then PPO against it and against earlier versions of itself.",
        self_play="Not trained on this board.",
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
        others=("greedy(epsilon=0.2)", "baseline(simulations=64)"),
        ladder_games=60,
    ),
    "dots_and_boxes": Recipe(
        env="dots_and_boxes",
        training="Imitation of alpha-beta with 200 to 600 milliseconds, a third of the positions after 20 to 36 plies. "
        "The chains are inputs of its graph network.",
        self_play="AlphaZero on boards of 3 and 4 boxes per side, 64 simulations: 3 of 400 games won against "
        "`alphabeta(milliseconds=200)`",
        self_play_source="docs/training/board_sizes.md#against-alphabeta",
        commands=(
            _labels(BOXES, "alphabeta(milliseconds=200)", BOXES_PLAY, 100_000, 97, 0, "boxes_1"),
            f'train.imitation --env "{BOXES}" --data {RUNS}/boxes_1.npz {BOXES_NETWORK} --num-minibatches 3000 '
            f"--total-steps 1150000 --learning-rate 2e-3 --run-dir {RUNS}/dots_and_boxes_first",
            _labels(BOXES, "alphabeta(milliseconds=600)", BOXES_PLAY, 250_000, 98, 1, "boxes_2"),
            _labels(
                BOXES, "alphabeta(milliseconds=300)", BOXES_PLAY, 200_000, 98, 2, "boxes_3", more="--between 20 36"
            ),
            f"{BOXES_MORE} --init-from {RUNS}/dots_and_boxes_first --total-steps 4000000 --learning-rate 1.5e-3 "
            f"--run-dir {RUNS}/dots_and_boxes_second",
            f"{BOXES_MORE} --init-from {RUNS}/dots_and_boxes_second --total-steps 2592000 --learning-rate 1e-3 "
            f"--run-dir {RUNS}/dots_and_boxes_third",
            f"{BOXES_MORE} --init-from {RUNS}/dots_and_boxes_third --total-steps 2592000 --learning-rate 8e-4 "
            f"--run-dir {RUNS}/dots_and_boxes",
            _export("dots_and_boxes", "dots_and_boxes"),
        ),
        others=(
            "baseline(simulations=64)",
            "mcts(simulations=100)",
            "openspiel(simulations=100)",
            "alphabeta(milliseconds=10)",
            "alphabeta(milliseconds=200)",
        ),
        matches=(("baseline(simulations=64)", "alphabeta(milliseconds=200)"),),
        ladder_games=40,
    ),
    "minichess": Recipe(
        env="minichess",
        training="Imitation of Fairy-Stockfish, which values all moves, on positions of games of an earlier version, "
        "alone and with a tree search. Its graph network sends messages along the moves of the pieces.",
        self_play="AlphaZero from random parameters, 2 million steps, 64 simulations: score 0.463 of 200 games against "
        "`uci(nodes=50)`",
        self_play_source=f"{ALPHAZERO_RESULTS}#minichess-against-fairy-stockfish",
        commands=(
            _labels(
                "minichess", MINICHESS_TEACHER, "baseline(temperature=1, epsilon=0.05)", 280_000, 98, 0, "minichess_1"
            ),
            f"train.imitation --env minichess --data {RUNS}/minichess_1.npz {MINICHESS} --schedule linear "
            f"--total-steps 640000 --num-minibatches 1000 --run-dir {RUNS}/minichess_first",
            f"train.imitation --env minichess --data {RUNS}/minichess_1.npz {MINICHESS} "
            f"--init-from {RUNS}/minichess_first --total-steps 2048000 --num-minibatches 2000 "
            f"--run-dir {RUNS}/minichess_second",
            _labels(
                "minichess",
                MINICHESS_TEACHER,
                "baseline(simulations=16, temperature=1, epsilon=0.05)",
                280_000,
                98,
                1,
                "minichess_2",
            ),
            f"train.imitation --env minichess --data {RUNS}/minichess_1.npz --other-data {RUNS}/minichess_2.npz "
            f"{MINICHESS} --init-from {RUNS}/minichess_second --total-steps 6144000 "
            f"--num-minibatches 2000 --run-dir {RUNS}/minichess",
            _export("minichess", "minichess", bits=8),
        ),
        others=(
            "baseline(simulations=64)",
            "baseline(simulations=400)",
            "alphabeta(depth=2)",
            "alphabeta(depth=4)",
            "uci(nodes=50)",
            "uci(nodes=1000)",
        ),
        matches=(
            ("baseline", "uci(nodes=50)"),
            ("baseline(simulations=64)", "uci(nodes=50)"),
            ("baseline(simulations=400)", "uci(nodes=1000)"),
            ("baseline(simulations=400)", "uci(nodes=5000)"),
        ),
        ladder_games=30,
    ),
}
