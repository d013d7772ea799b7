"""Answers questions by an engine in a shared library with CheckerBoard's interface: one line in, one line out.

    python _checkerboard_library.py simplech.so

It runs as a process of its own, because a library that crashes ends its process, and imports nothing of jaxgames, so
that it starts at once. It ends when its input is closed, also during a search. A question is the seconds of a move, the
colour to move and the 64 cells of the board; the answer is "board" and the cells after the engine's move.
"""

import ctypes
import os
import queue
import sys
import threading

CELLS = 64
TEXT = 1024  # bytes for what an engine says about its search
MOVE = 1024  # bytes of CheckerBoard's structure of a move, or more
NEW_GAME = 1  # the bit of getmove's `info` that says that the board does not follow the one before
CHECKERS = "21"  # its number in PDN


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    path = os.path.abspath(sys.argv[1])
    os.chdir(os.path.dirname(path))  # where engines look for their books and tables
    try:
        library = ctypes.CDLL(path)
        getmove = library.getmove
    except OSError as error:
        sys.exit(f"it is no shared library for this system: {error}")
    except AttributeError:
        sys.exit("it has no function getmove, so it has not CheckerBoard's interface")
    text, move = ctypes.create_string_buffer(TEXT), ctypes.create_string_buffer(MOVE)
    if hasattr(library, "enginecommand"):
        library.enginecommand(b"get gametype", text)
        if text.value.isdigit() and text.value.decode() != CHECKERS:
            sys.exit(f"it plays the game {text.value.decode()} of PDN, and checkers is {CHECKERS}")
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)  # for what the library itself prints
    questions: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(questions,), daemon=True).start()
    print("ready", file=answers)
    while True:
        seconds, colour, *cells = questions.get().split()
        board = (ctypes.c_int * CELLS)(*map(int, cells))
        stop = ctypes.c_int(0)
        getmove(board, int(colour), ctypes.c_double(float(seconds)), text, ctypes.byref(stop), NEW_GAME, 0, move)
        print("board", *board, file=answers)


def _read(questions: "queue.Queue[str]") -> None:
    """Puts the lines of the input into a queue, and ends the process after the last one."""
    for line in sys.stdin:
        questions.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
