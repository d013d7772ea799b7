"""Games of jaxgames that tests load by name in OpenSpiel."""

import pyspiel

from jaxgames.interop.openspiel import RegisteredGame, register

TINY = "dots_and_boxes(rows=1,cols=2)"
SMALL = {  # of each game, with every reward scheme; short games
    "checkers": ["checkers(max_plies=60)", "checkers(draw_rule=openspiel)", "checkers(draw_rule=adjudicated)"],
    "chinese_checkers": [
        f"chinese_checkers(size=1,max_rounds=8,num_players={number},reward={reward})"
        for number, reward in [(2, "sparse"), (3, "goal"), (4, "movement"), (6, "positive_sum"), (6, "win_loss")]
    ],
    "chinese_checkers_diamond": ["chinese_checkers_diamond(size=3,pieces=3,max_plies=60)"],
    "dots_and_boxes": [f"dots_and_boxes(rows=2,cols=2,reward={reward})" for reward in ("win_loss", "margin", "boxes")],
    "minichess": ["minichess(max_plies=60)", "minichess(rules=king_capture,reward=material)"],
}
ALL_SMALL = [text for texts in SMALL.values() for text in texts]


def load(text: str) -> RegisteredGame:
    """The registered game."""
    register()
    return pyspiel.load_game(f"jaxgames_{text}")
