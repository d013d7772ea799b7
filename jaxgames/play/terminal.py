"""A game in the terminal: the board in lines of text, moves typed in the game's notation.

It reads lines and writes text, so it works with a pipe, without colours and with a screen reader.
"""

import os
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from jaxgames import agents, render
from jaxgames.play.agent_calls import Make, agent_action, analyse
from jaxgames.play.game_file import from_json, to_json
from jaxgames.play.notation import legal_texts, parse_turn
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.static_page import game_of, to_html

PAGE_SUFFIXES = (".html", ".htm")  # of files that are still pages
WIDTH = 80
SHORT = 8  # legal moves in the middle of a turn that are listed without being asked for
TOP = 5  # moves in the list of what an agent thinks
BOLD, RED, PLAIN = "\033[1m", "\033[31m", "\033[0m"
HELP = """\
MOVE        such as {example}, or its beginning if only one move has it
?           the legal moves, and these commands
u, uu       undo: back to your last step, or to the start of your last turn
r           redo: forward to your next step
go          lets an agent that has failed try again
h, h AGENT  what an agent thinks: its first {top} moves, and the value for each seat
show        the board again
resign      give up
save FILE   the game; with the suffix .html, a page with all positions
load FILE   continue a saved game, also of a page with all positions
q           quit"""


class Quit(Exception):
    """The person wants to end the program."""


class Terminal:
    """A session in a terminal."""

    def __init__(
        self,
        session: Session,
        *,
        make: Make = agents.make,
        read: Callable[[str], str] = input,
        out: TextIO | None = None,
    ) -> None:
        """
        Args:
          session: the game.
          make: makes agents; it should keep them, as it is called before every move of one.
          read: returns a line that the person types after a prompt, as `input`; raises EOFError at the end.
          out: where the text goes; None for standard output.
        """
        self.session: Session = session
        self._make, self._read = make, read
        self._out = sys.stdout if out is None else out
        self._echoes = not (read is input and sys.stdin.isatty())  # a transcript shows what was typed
        self._has_colours = has_colours(self._out)
        self._agents_wait = False  # an agent has failed, and the person decides how the game continues

    def run(self) -> None:
        """Plays until the person quits, the input ends or, if only agents play, the game is over."""
        try:
            self._show()
            while not (self.session.over and HUMAN not in self.session.seats):
                self._turn()
        except (Quit, EOFError):
            pass
        except KeyboardInterrupt:
            self._say("\nstopped")
        self._say_statistics()

    def _turn(self) -> None:
        """Lets an agent play a ply, or a person type a line."""
        session = self.session
        if not (session.over or self._agents_wait or session.seats[session.mover] == HUMAN):
            self._agent_moves()
            return
        seat = "the game is over" if session.over else f"seat {session.mover} ({self._seat_text(session.mover)})"
        line = self._read(self._styled(f"{seat}, ? for help> ", BOLD)).strip()
        if self._echoes:
            self._say(line)
        try:
            self._execute(line)
        except (ValueError, TypeError, OSError, ImportError) as error:
            self._say_error(str(error))

    def _agent_moves(self) -> None:
        session, seat = self.session, self.session.mover
        try:
            action = agent_action(session, self._make, on_compile=self._say_compiling)
        except Exception as error:  # an agent may fail in any way; the person decides how the game continues
            self._agents_wait = True
            self._say_error(f"seat {seat} ({session.seats[seat]}) failed with {type(error).__name__}: {error}")
            self._say("go lets it try again; a typed move is played for it; u, save FILE, q work too")
            return
        session.play(action)
        self._say(f"seat {seat} ({session.seats[seat]}) plays {self._styled(session.moves()[-1], BOLD)}")
        self._show_if_person_moves()

    # -- commands ----------------------------------------------------------------------------------------

    def _execute(self, line: str) -> None:
        """Executes a command, or plays a move. Raises ValueError for neither of them, Quit for `q`."""
        name, _, argument = line.partition(" ")
        argument = argument.strip()
        if name in ("save", "load"):
            if not argument:
                raise ValueError(f"expected a file: {name} FILE")
            (self._save if name == "save" else self._load)(Path(argument).expanduser())
        elif name == "h":
            self._say_thoughts(argument or None)
        elif line in ("q", "quit", "exit"):
            raise Quit
        elif line in ("", "show"):
            self._show()
        elif line in ("?", "help"):
            self._say_help()
        elif line in ("u", "uu", "r"):
            self._move_back_or_forth(line)
        elif line == "go":
            self._retry()
        elif line == "resign":
            self.session.resign()
            self._show()
        else:
            self._play(line)

    def _play(self, line: str) -> None:
        if self.session.over:
            raise ValueError("the game is over: u undoes the last move, save FILE keeps the game, q quits")
        for action in parse_turn(self.session, line):
            self.session.play(action)
        self._agents_wait = False
        self._show_if_person_moves()

    def _retry(self) -> None:
        """Lets the agents move again after a failure."""
        if not self._agents_wait:
            raise ValueError("no agent has failed, so none waits: go is for an agent that could not move")
        self._agents_wait = False

    def _move_back_or_forth(self, line: str) -> None:
        """Undoes up to a person's last ply (u) or turn (uu), or goes forward to a person's next ply (r)."""
        session = self.session
        if line == "uu":
            session.undo_turn()
        else:
            step, end = (session.undo, 0) if line == "u" else (session.redo, session.plies)
            step()
            while session.ply != end and not session.over and session.seats[session.mover] != HUMAN:
                step()
        self._agents_wait = False
        self._show()

    def _save(self, path: Path) -> None:
        text = to_html(self.session) if path.suffix.lower() in PAGE_SUFFIXES else to_json(self.session)
        path.write_text(text, encoding="utf-8")
        self._say(f"saved in {path}")

    def _load(self, path: Path) -> None:
        """Goes on with a saved game. The seats stay as they are: a file does not choose who plays here."""
        loaded = read_game(path)
        if loaded.env.num_players != self.session.env.num_players:
            seats = ",".join(loaded.seats)
            raise ValueError(
                f"the game in {path} has {loaded.env.num_players} seats, this one {self.session.env.num_players}: "
                f'start it with python -m jaxgames.play "{loaded.env}" --seats {seats} --load {path}'
            )
        for text in {*self.session.seats} - {HUMAN}:
            self._make(text, loaded.env)  # raises ValueError for an agent that does not play this game
        self.session, self._agents_wait = loaded.with_seats(self.session.seats), False
        self._show()

    # -- what is shown -----------------------------------------------------------------------------------

    def _show(self) -> None:
        self._say(f"\n{self.session.to_text()}")

    def _show_if_person_moves(self) -> None:
        session = self.session
        if not (session.over or session.seats[session.mover] == HUMAN):
            return
        self._show()
        if session.continues_turn and len(texts := legal_texts(session.env, session.state)) <= SHORT:
            self._say(f"the turn continues: {', '.join(texts)}")

    def _say_help(self) -> None:
        texts = legal_texts(self.session.env, self.session.state)
        if texts:
            self._say(textwrap.fill(", ".join(texts), WIDTH, break_long_words=False))
        self._say("\n" + HELP.format(example=texts[0] if texts else "the ones of this game", top=TOP))

    def _say_thoughts(self, agent: str | None) -> None:
        thoughts = analyse(self.session, agent, self._make, on_compile=self._say_compiling)
        self._say(f"{thoughts.agent} plays")
        for move, probability in thoughts.moves[:TOP]:
            if probability > 0:
                self._say(f"{probability:8.1%}  {move.text}")
        if thoughts.values is not None:
            self._say("value  " + "  ".join(f"seat {seat}: {value:+.2f}" for seat, value in enumerate(thoughts.values)))

    def _say_compiling(self, agent: str) -> None:
        self._say(f"{agent} is compiled for its first move; this can take a minute ...")

    def _say_statistics(self) -> None:
        """Prints how the game ended, its length and, where pieces were captured, what is left of them."""
        session = self.session
        result = session.outcome.to_text() or "the game is not over"
        movers = session.movers()[: session.ply]
        turns = sum(first != second for first, second in zip([None, *movers], movers, strict=False))
        self._say(f"\n{result}\nplies: {session.ply}, turns: {turns}")
        before, left = _pieces(session, 0), _pieces(session, session.ply)
        if left != before:
            self._say("left: " + ", ".join(f"{kind} {count}" for kind, count in sorted(left.items())))

    def _seat_text(self, seat: int) -> str:
        if self.session.seats[seat] != HUMAN:
            return f"{self.session.seats[seat]} has failed"
        return "you" if self.session.seats.count(HUMAN) == 1 else f"person at seat {seat}"

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{PLAIN}" if self._has_colours else text

    def _say_error(self, text: str) -> None:
        self._say(self._styled(textwrap.fill(text, WIDTH), RED))

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def read_game(path: Path) -> Session:
    """Returns the game of a file: a saved game, or the one in a still page. Raises ValueError for another file."""
    text = path.read_text(encoding="utf-8")
    return from_json(game_of(text) if path.suffix.lower() in PAGE_SUFFIXES else text)


def has_colours(out: TextIO) -> bool:
    """Returns whether a stream is a terminal that shows colours, and nobody objects: https://no-color.org."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in (None, "", "dumb")


def _pieces(session: Session, ply: int) -> Counter[str]:
    """Returns how many pieces of each kind are on the board; none in a game without pictures."""
    if not render.has_pictures(session.env):
        return Counter()
    labels = [cell.label.partition(", ")[2] for cell in render.anchors(session.env, session.states[ply]).cells.values()]
    return Counter(label for label in labels if label not in ("empty", "drawn", "not drawn"))
