"""Prints the last line of standard input once its other end is closed: see `set_exit_message` in processes.py."""

import sys

if __name__ == "__main__":
    lines = sys.stdin.read().splitlines()
    if lines and lines[-1]:
        print(lines[-1], file=sys.stderr)
