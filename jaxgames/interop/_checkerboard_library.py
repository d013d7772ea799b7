"""Answers questions by an engine in a shared library with CheckerBoard's interface: one line in, one line out.

    python _checkerboard_library.py simplech.so

It runs as a process of its own, because a library that crashes ends its process, and imports nothing of jaxgames, so
that it starts at once. A question is the seconds of a move, the colour to move and the 64 cells of the board; the
answer is "board" and the cells after the engine's move.
"""

import ctypes
import os
import sys

CELLS = 64
TEXT = 1024  # bytes for what an engine says about its search
MOVE = 1024  # bytes of CheckerBoard's structure of a move, or more
ENGLISH = b"set gametype 21"  # of an engine that plays several games


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what the library itself prints
    try:
        library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
        getmove = library.getmove
    except (OSError, AttributeError) as error:
        print(error, file=answers)
        sys.exit(1)
    text, move = ctypes.create_string_buffer(TEXT), ctypes.create_string_buffer(MOVE)
    if hasattr(library, "enginecommand"):
        library.enginecommand(ENGLISH, text)
    print("ready", file=answers)
    for line in sys.stdin:
        seconds, colour, *cells = line.split()
        board = (ctypes.c_int * CELLS)(*map(int, cells))
        stop = ctypes.c_int(0)
        getmove(board, int(colour), ctypes.c_double(float(seconds)), text, ctypes.byref(stop), 0, 0, move)
        print("board", *board, file=answers)


if __name__ == "__main__":
    main()
