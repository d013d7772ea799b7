"""A game in the terminal: the board in lines of text, moves typed in the game's notation.

It reads lines and writes text, so it works with a pipe and with a screen reader.
"""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from jaxgames import agents
from jaxgames._files import check_output, write_whole
from jaxgames._text_files import read_text
from jaxgames.play.agent_calls import Make, agent_action, analyse
from jaxgames.play.game_file import from_json, to_json
from jaxgames.play.notation import legal_texts, parse_turn
from jaxgames.play.opponents import win_chance
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.static_page import game_of, to_html
from jaxgames.play.text_board import WIDTH, board_text
from jaxgames.play.words import ending_of, people_of, rules, turn_text
from jaxgames.render import seat_names

PAGE_SUFFIXES = (".html", ".htm")  # of files that are still pages
SHORT = 8  # legal moves in the middle of a turn that are listed without being asked for
TOP = 5  # moves in a hint
LEAST = 0.005  # the probability of a move in a hint
HELP = """\
MOVE        such as {example}, or its beginning if only one move has it
?           the legal moves, and these commands
u, undo     back to the start of your last turn
h, hint     the {top} moves that the computer likes most; h AGENT asks another
rules       how the game is played
resign      give up
save FILE   the game; with the suffix .html, a page with all positions
q           quit; an empty line shows the board again"""


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
        self._make, self._read, self._out = make, read, out
        self._echoes = not (read is input and sys.stdin.isatty())  # a transcript shows what was typed
        self._agents_wait = False  # an agent has failed, and the person decides how the game continues

    def run(self) -> None:
        """Plays until the person quits, the input ends or, if only agents play, the game is over."""
        try:
            self._show()
            while not (self.session.over and HUMAN not in self.session.seats):
                self._turn()
        except EOFError:
            pass
        except KeyboardInterrupt:
            self._say("\nstopped")
        self._say(f"\n{ending_of(self.session) or 'the game is not over'}\nplies: {self.session.ply}")

    def _turn(self) -> None:
        """Lets an agent play a ply, or a person type a line."""
        session = self.session
        if not (session.over or self._agents_wait or session.seats[session.mover] == HUMAN):
            self._agent_moves()
            return
        line = self._read(f"{self._whose_turn()}, ? for help> ").strip()
        if self._echoes:
            self._say(line)
        try:
            self._execute(line)
        except (ValueError, TypeError, OSError, ImportError) as error:
            self._say(textwrap.fill(str(error), WIDTH))

    def _agent_moves(self) -> None:
        session, seat = self.session, self.session.mover
        name = f"{seat_names(session.env)[seat]} ({session.seats[seat]})"
        try:
            session.play(agent_action(session, self._make, on_compile=self._say_compiling))
        except Exception as error:  # an agent may fail in any way; the person decides how the game continues
            self._agents_wait = True
            self._say(textwrap.fill(f"{name} failed with {type(error).__name__}: {error}", WIDTH))
            self._say("an empty line lets it try again; a typed move is played for it")
            return
        self._say(f"{name} plays {session.moves()[-1]}")
        self._show_if_person_moves()

    def _execute(self, line: str) -> None:
        """Executes a command, or plays a move. Raises ValueError for neither of them, EOFError for `q`."""
        name, _, argument = line.partition(" ")
        if name == "save":
            self._save(argument.strip())
        elif name in ("h", "hint"):
            self._say_hint(argument.strip() or None)
        elif line in ("q", "quit", "exit"):
            raise EOFError
        elif line in ("?", "help"):
            self._say_help()
        elif line == "rules":
            self._say_rules()
        elif line in ("", "u", "undo", "resign"):
            if line == "resign":
                self.session.resign()
            elif line:
                self.session.undo_turn()
            self._agents_wait = False
            self._show()
        else:
            self._play(line)

    def _play(self, line: str) -> None:
        if self.session.over:
            raise ValueError("the game is over: u undoes your last turn, save FILE keeps the game, q quits")
        for action in parse_turn(self.session, line):
            self.session.play(action)
        if self.session.end_turn():
            self._say("the turn ends: nothing can follow")
        self._agents_wait = False
        self._show_if_person_moves()

    def _save(self, file: str) -> None:
        if not file:
            raise ValueError("expected a file: save FILE")
        path = Path(file).expanduser()
        text = to_html(self.session) if path.suffix.lower() in PAGE_SUFFIXES else to_json(self.session)
        check_output(path)
        write_whole(path, text)
        self._say(f"saved in {path}")

    # -- what is shown -----------------------------------------------------------------------------------

    def _show(self) -> None:
        self._say(f"\n{board_text(self.session)}")

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
            self._say(textwrap.fill(f"legal moves: {', '.join(texts)}", WIDTH, break_long_words=False))
        self._say("\n" + HELP.format(example=texts[0] if texts else "a listed one", top=TOP))

    def _say_hint(self, agent: str | None) -> None:
        """Prints the most probable moves of an agent, and the chance to win of the only person, else of the mover."""
        session, people = self.session, people_of(self.session.seats)
        thoughts = analyse(session, agent, self._make)
        self._say(f"{thoughts.agent} would play")
        for move, probability in thoughts.moves[:TOP]:
            if probability >= LEAST:
                self._say(f"{100 * probability:6.0f} %  {move.text}")
        seat = people[0] if len(people) == 1 else session.mover
        chance = None if thoughts.values is None else win_chance(session.env, thoughts.values[seat])
        if chance is not None:
            of = "" if len(people) == 1 else f" of {seat_names(session.env)[seat]}"
            self._say(f"{'chance' if of else 'your chance'} to win{of}: {100 * chance:.0f} %")

    def _say_rules(self) -> None:
        found = rules(self.session.env, theme=None)
        for paragraph in (found.title, found.goal, *found.paragraphs):
            self._say("\n" + textwrap.fill(paragraph, WIDTH))

    def _say_compiling(self, agent: str) -> None:
        self._say(f"{agent} is compiled for its first move; this can take a minute ...")

    def _whose_turn(self) -> str:
        session = self.session
        if session.over:
            return "The game is over"
        if session.seats[session.mover] != HUMAN:
            return f"{seat_names(session.env)[session.mover]} ({session.seats[session.mover]} has failed)"
        return turn_text(session.env, session.mover, people_of(session.seats))

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def read_game(path: Path) -> Session:
    """Returns the game of a file: a saved game, or the one in a still page. Raises ValueError for another file."""
    text = read_text(path)
    return from_json(game_of(text) if path.suffix.lower() in PAGE_SUFFIXES else text)
