"""A program that speaks UCI and does as its argument says: `python scripted_engine.py MOVES FAULT`.

MOVES is a list of moves with commas, which it plays one after the other, and from the beginning in a new process. With
a letter of the values ("b2b3:cp:-50") it names a value, and with "+" the values of more moves, of which it plays the
first. FAULT is what it does at the second search: "none", "silent", "crash". It answers every line that it gets at
once. It appends the number of its process and all lines to the file SCRIPT_LOG if that is set.
"""

import os
import sys
import time


def command(moves: str, fault: str = "none") -> str:
    """The command of an engine with this script, as the agent `uci` takes it."""
    return f"'{sys.executable}' '{__file__}' {moves} {fault}"


def main() -> None:
    moves, fault, searches = sys.argv[1].split(","), sys.argv[2], 0
    log = open(os.environ.get("SCRIPT_LOG", os.devnull), "a", buffering=1, encoding="utf-8")  # noqa: SIM115  # to the end
    print(os.getpid(), file=log)
    for line in sys.stdin:
        received = line.strip()
        print(received, file=log)
        if received == "uci":
            print("id name scripted")
            print("option name Skill Level type spin default 20 min -20 max 20")
            print("option name MultiPV type spin default 1 min 1 max 500")
            print("option name UCI_Variant type combo default chess var chess var gardner")
            print("uciok")
        elif received == "isready":
            print("readyok")
        elif received.startswith("go "):
            searches += 1
            if searches == 2 and fault == "silent":
                time.sleep(60)
            if searches == 2 and fault == "crash":
                print("out of memory")
                sys.exit(3)
            lines = [line.partition(":") for line in moves[(searches - 1) % len(moves)].split("+")]
            for number, (move, _, value) in enumerate(lines, start=1):
                if value:
                    print(f"info depth 1 score cp 9999 lowerbound nodes 1 pv {move}")
                    print(f"info depth 1 multipv {number} score {value.replace(':', ' ')} nodes 1 pv {move} d4d3")
            print(f"bestmove {lines[0][0]}")
        elif received == "quit":
            return
        sys.stdout.flush()


if __name__ == "__main__":
    main()
