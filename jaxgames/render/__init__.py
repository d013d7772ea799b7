"""Pictures of boards: one board, a batch of them, or a game in motion.

    from jaxgames import render

    render.svg(env, state)                                   # displays itself in a notebook
    render.svg(env, state, last="3->14", theme="dark").save("board.png")
    render.svg(env, states, columns=4)                       # a batch, as a grid
    render.animate(env, states, actions).save("game.svg")    # or game.gif
    render.anchors(env, state)                               # where cells and legal moves are on the picture

SVG, animated or still, needs only the standard library. PNG and GIF need the extra `render`: `pip install ".[render]"`
in a checkout. All functions run on the host, outside of `jit`.
"""

from jaxgames.render.anchors import Anchors, Cell, Move, anchors
from jaxgames.render.boards import animate, has_pictures, has_pixels, seat_colours, seat_names, svg
from jaxgames.render.picture import Picture

__all__ = [
    "Anchors",
    "Cell",
    "Move",
    "Picture",
    "anchors",
    "animate",
    "has_pictures",
    "has_pixels",
    "seat_colours",
    "seat_names",
    "svg",
]
