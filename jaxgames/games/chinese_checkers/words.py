"""Chinese Checkers on the star in the words of people."""

from jaxgames.games._hexagons import DASHED_GOAL, STEP_OR_HOP
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers.rules import TRIANGLES, ChineseCheckers
from jaxgames.play.words import Example, Menu, Words, limit
from jaxgames.render import seat_names

PLACES = ("top", "upper right", "lower right", "bottom", "lower left", "upper left")  # of the triangles of a star


class ChineseCheckersWords(Words[ChineseCheckers]):
    """The first board is small: six seats and full size take hours."""

    title = "Chinese Checkers"
    menus = (
        Menu(
            "board",
            "Board",
            (
                ("size=2", "small: 3 pegs each"),
                ("size=3", "medium: 6 pegs each"),
                ("size=4", "large: 10 pegs each"),
            ),
            "size=2",
        ),
        Menu(
            "players",
            "Players",
            tuple((f"num_players={number}", str(number)) for number in (2, 3, 4, 6)),
            "num_players=3",
        ),
    )
    upper_seat = 0

    def board(self, env: ChineseCheckers) -> str:
        return f"{env.num_players} players with {env.num_pegs} {'peg' if env.num_pegs == 1 else 'pegs'}"

    def rules(self, env: ChineseCheckers) -> tuple[str, list[str], list[Example]]:
        names = seat_names(env)
        paragraphs = [
            f"{', '.join(names[:-1])} and {names[-1]} move in this order, clockwise. Each begins in one point of the "
            "star.",
            STEP_OR_HOP.format(piece="peg", pieces="pegs"),
            "A chain of hops must not come back to a cell where the peg stood in this turn. You end the turn when you "
            "do not want to hop on.",
            "You may move into every point of the star and out of it again. A peg of another player in your goal keeps "
            "you from filling it, so you have to wait until it is gone.",
            DASHED_GOAL,
            limit(env.max_rounds, "rounds"),
        ]
        board = ChineseCheckers(size=2, num_players=2)
        positions = [
            Example(env, None, f"The start. {names[0]} moves first, from the bottom to the point on top."),
            Example(
                board, "0/0./......./..0.../..1../....../......./1./1 0 - 4", "The steps and the hop of one peg.", 12
            ),
        ]
        return "Be the first with all pegs in the point of the star opposite your own.", paragraphs, positions

    def returns(self, env: ChineseCheckers) -> tuple[float, float] | None:
        won = 5.0 * env.size
        paid = {"win_loss": (-1.0, env.num_players - 1.0), "positive_sum": (0.0, won)}
        return paid.get(env.reward, (-won / 5, won))

    def goal(self, env: ChineseCheckers, seat: int, is_rotated: bool) -> str:
        triangle = (TRIANGLES[env.num_players][seat] + 3) % 6
        cells = [cell for cell, of in enumerate(tables(env.size).triangle.tolist()) if of == triangle]
        place = PLACES[(triangle + 3 * is_rotated) % 6]
        return f"your goal: the point at the {place}, cells {', '.join(map(str, cells))}"


words = ChineseCheckersWords()
