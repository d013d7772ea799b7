"""A game in the terminal: the board in lines of text, moves typed in the game's notation.

It reads lines and writes text, so it works with a pipe, without colours and with a screen reader.
"""

import os
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from jaxgames import agents, render
from jaxgames._files import check_output, write_whole
from jaxgames._text_files import read_text
from jaxgames.play.agent_calls import Make, agent_action, analyse, refuses_draw
from jaxgames.play.game_file import from_json, to_json
from jaxgames.play.notation import legal_texts, parse_turn
from jaxgames.play.opponents import reviewer, win_chance
from jaxgames.play.review import review
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.static_page import game_of, to_html
from jaxgames.play.text_board import WIDTH, board_text
from jaxgames.play.words import ending_of, people_of, rules, turn_text, words_of
from jaxgames.render import Move, seat_names

PAGE_SUFFIXES = (".html", ".htm")  # of files that are still pages
SHORT = 8  # legal moves in the middle of a turn that are listed without being asked for
TOP = 5  # moves in the list of what an agent thinks
LEAST = 0.005  # the probability of a move in that list
BOLD, RED, PLAIN = "\033[1m", "\033[31m", "\033[0m"
HELP = """\
MOVE        such as {example}, or its beginning if only one move has it
?           the legal moves, and these commands
u, undo     back to the start of your last turn
r, redo     forward to your next step
h, hint     the {top} moves that the computer likes most; h AGENT asks another
rules       how the game is played
review      the moves that lost most, of the game so far
new, switch another game: with the same seats, or with the sides switched
show        the board again
resign      give up
draw        offer a draw: a person is asked, an agent looks at its own value
save FILE   the game; with the suffix .html, a page with all positions
load FILE   continue a saved game, also of a page with all positions
go          lets an agent that has failed try again
q           quit"""
AT_THE_END = "new plays again, switch changes the sides, review shows your mistakes, q quits"


class Quit(Exception):
    """The person wants to end the program."""


class Terminal:
    """A session in a terminal."""

    def __init__(
        self,
        session: Session,
        *,
        make: Make = agents.make,
        show: int = 0,
        read: Callable[[str], str] = input,
        out: TextIO | None = None,
    ) -> None:
        """
        Args:
          session: the game.
          make: makes agents; it should keep them, as it is called before every move of one.
          show: the number of moves that an agent thought of most, which are listed after each of its moves.
          read: returns a line that the person types after a prompt, as `input`; raises EOFError at the end.
          out: where the text goes; None for standard output.
        """
        self.session: Session = session
        self._make, self._read, self._num_shown = make, read, show
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
        line = self._read(self._styled(f"{self._whose_turn()}, ? for help> ", BOLD)).strip()
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
            self._say_error(f"{self._player(seat)} failed with {type(error).__name__}: {error}")
            self._say("go lets it try again; a typed move is played for it; u, save FILE, q work too")
            return
        thoughts = self._thoughts_of_mover()
        session.play(action)
        self._say(f"{self._player(seat)} plays {self._styled(session.moves()[-1], BOLD)}")
        for line in thoughts:
            self._say(line)
        self._show_if_person_moves()

    def _thoughts_of_mover(self) -> list[str]:
        """Returns lines with the moves that the agent to move thinks of most.

        There are none without --show, and if the agent has no probabilities or fails.
        """
        if not self._num_shown:
            return []
        session = self.session
        try:
            thoughts = analyse(session, session.seats[session.mover], self._make, on_compile=self._say_compiling)
        except (ValueError, ImportError):  # the agent can move, so the game continues
            return []
        shown = thoughts.moves[: self._num_shown]
        return [_share_of(move, probability) for move, probability in shown if probability >= LEAST]

    # -- commands ----------------------------------------------------------------------------------------

    def _execute(self, line: str) -> None:
        """Executes a command, or plays a move. Raises ValueError for neither of them, Quit for `q`."""
        name, _, argument = line.partition(" ")
        argument = argument.strip()
        if name in ("save", "load"):
            if not argument:
                raise ValueError(f"expected a file: {name} FILE")
            (self._save if name == "save" else self._load)(Path(argument).expanduser())
        elif name in ("h", "hint"):
            self._say_thoughts(argument or None)
        elif line in ("q", "quit", "exit"):
            raise Quit
        elif line in ("", "show"):
            self._show()
        elif line in ("?", "help"):
            self._say_help()
        elif line in ("u", "undo"):
            self.session.undo_turn()
            self._agents_wait = False
            self._show()
        elif line in ("r", "redo"):
            self._redo()
        elif line == "rules":
            self._say_rules()
        elif line == "review":
            self._say_review()
        elif line in ("new", "switch"):
            self._start_again(line == "switch")
        elif line == "go":
            self._retry()
        elif line == "resign":
            self.session.resign()
            self._show()
        elif line == "draw":
            self._offer_draw()
        else:
            self._play(line)

    def _play(self, line: str) -> None:
        if self.session.over:
            raise ValueError("the game is over: new plays again, u undoes your last turn, save FILE keeps it, q quits")
        for action in parse_turn(self.session, line):
            self.session.play(action)
        if self.session.end_turn():
            self._say("the turn ends: nothing can follow")
        self._agents_wait = False
        self._show_if_person_moves()

    def _retry(self) -> None:
        """Lets the agents move again after a failure."""
        if not self._agents_wait:
            raise ValueError("no agent has failed, so none waits: go is for an agent that could not move")
        self._agents_wait = False

    def _redo(self) -> None:
        """Goes forward to a person's next ply."""
        session = self.session
        session.redo()
        while session.ply != session.plies and not session.over and session.seats[session.mover] != HUMAN:
            session.redo()
        self._agents_wait = False
        self._show()

    def _start_again(self, switched: bool) -> None:
        """Starts another game of the same board, with the same seats or with every player one seat further."""
        seats, before = self.session.seats, self.session
        seats = (*seats[-1:], *seats[:-1]) if switched else seats
        start = None if before.start is None else before.env.from_string(before.start)
        self.session, self._agents_wait = Session(before.env, seats, seed=before.seed + 1, state=start), False
        self._show()

    def _offer_draw(self) -> None:
        """Ends the game with a draw if all other players agree: people are asked, agents answer by their values."""
        session, names = self.session, seat_names(self.session.env)
        if session.over:
            raise ValueError("the game is over: no draw can be agreed")
        if not words_of(session.env).can_be_drawn(session.env):
            raise ValueError(f"no game of {session.env} ends in a draw")
        people = people_of(session.seats)
        offering = session.mover if session.mover in people else next(iter(people), None)
        for seat in people:
            if seat != offering and not self._accepts(names[seat]):
                self._say(f"{names[seat]} refuses the draw")
                return
        if len(people) < session.env.num_players:
            self._say("the computer considers the draw ...")
        if (refusing := refuses_draw(session, self._make, on_compile=self._say_compiling)) is not None:
            self._say(f"{self._player(refusing)} refuses the draw")
            return
        session.agree_on_draw()
        self._show()

    def _accepts(self, name: str) -> bool:
        answer = self._read(self._styled(f"{name}, do you accept a draw? yes or no> ", BOLD)).strip()
        if self._echoes:
            self._say(answer)
        return answer.lower() in ("y", "yes")

    def _save(self, path: Path) -> None:
        text = to_html(self.session) if path.suffix.lower() in PAGE_SUFFIXES else to_json(self.session)
        check_output(path)
        write_whole(path, text)
        self._say(f"saved in {path}")

    def _load(self, path: Path) -> None:
        """Goes on with a saved game. The seats stay as they are: a file does not choose who plays here."""
        loaded = read_game(path)
        if loaded.env.num_players != self.session.env.num_players:
            options = ["--seats", ",".join(loaded.seats), "--load", str(path)]
            typed = "".join(each if each.isprintable() else "?" for each in shlex.join([str(loaded.env), *options]))
            raise ValueError(
                f"the game in {path} has {loaded.env.num_players} seats, this one {self.session.env.num_players}: "
                f"start it with python -m jaxgames.play {typed}"
            )
        for text in {*self.session.seats} - {HUMAN}:
            self._make(text, loaded.env)  # raises ValueError for an agent that does not play this game
        self.session, self._agents_wait = loaded.with_seats(self.session.seats), False
        self._show()

    # -- what is shown -----------------------------------------------------------------------------------

    def _show(self) -> None:
        self._say(f"\n{board_text(self.session)}")
        if self.session.over and HUMAN in self.session.seats:
            self._say(AT_THE_END)

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
        self._say("\n" + HELP.format(example=texts[0] if texts else "the ones of this game", top=TOP))

    def _say_thoughts(self, agent: str | None) -> None:
        thoughts = analyse(self.session, agent, self._make, on_compile=self._say_compiling)
        self._say(f"{thoughts.agent} would play")
        for move, probability in thoughts.moves[:TOP]:
            if probability >= LEAST:
                self._say(_share_of(move, probability))
        if thoughts.values is not None:
            self._say(self._chance_text(thoughts.values))

    def _chance_text(self, values: Sequence[float]) -> str:
        """Returns the chance to win of the only person, else of the mover; the expected returns if there is none."""
        env, people, mover = self.session.env, people_of(self.session.seats), self.session.mover
        seat = people[0] if len(people) == 1 else mover
        chance = win_chance(env, values[seat])
        if chance is None:
            returns = [f"{name} {value:+.2f}" for name, value in zip(seat_names(env), values, strict=True)]
            return f"expected return: {', '.join(returns)}"
        whose = "your chance to win" if len(people) == 1 else f"chance to win of {seat_names(env)[seat]}"
        return f"{whose}: {100 * chance:.0f} %"

    def _say_rules(self) -> None:
        found = rules(self.session.env, theme=None)
        self._say(self._styled(f"\n{found.title}", BOLD))
        for paragraph in (found.goal, *found.paragraphs):
            self._say("\n" + textwrap.fill(paragraph, WIDTH))

    def _say_review(self) -> None:
        session, agent = self.session, reviewer(self.session.env)
        if agent is None:
            raise ValueError(f"no agent of the package values positions of {session.env.id}")
        self._say(f"{agent} looks at all positions ...")
        mistakes = review(session, agent, make=self._make)
        if not mistakes:
            self._say("no move lost much of the chance to win")
        for mistake in mistakes:
            of = "" if len(people_of(session.seats)) == 1 else f" of {seat_names(session.env)[mistake.seat]}"
            lost = f"lost {100 * mistake.loss:.0f} % of the chance to win"
            self._say(f"{mistake.ply + 1:4}. {mistake.move}{of} {lost}; better was {mistake.best}")

    def _say_compiling(self, agent: str) -> None:
        self._say(f"{agent} is compiled for its first move; this can take a minute ...")

    def _say_statistics(self) -> None:
        """Prints how the game ended, its length and, where pieces were captured, what is left of them."""
        session = self.session
        result = ending_of(session) or "the game is not over"
        movers = session.movers()[: session.ply]
        turns = sum(first != second for first, second in zip([None, *movers], movers, strict=False))
        self._say(f"\n{result}\nplies: {session.ply}, turns: {turns}")
        before, left = _pieces(session, 0), _pieces(session, session.ply)
        if left != before:
            pieces = ", ".join(f"{kind} {count}" for kind, count in sorted(left.items()))
            self._say(textwrap.fill(f"left: {pieces}", WIDTH))

    def _whose_turn(self) -> str:
        """Returns the beginning of the prompt."""
        session = self.session
        if session.over:
            return "The game is over"
        if session.seats[session.mover] != HUMAN:
            return f"{seat_names(session.env)[session.mover]} ({session.seats[session.mover]} has failed)"
        return turn_text(session.env, session.mover, people_of(session.seats))

    def _player(self, seat: int) -> str:
        return f"{seat_names(self.session.env)[seat]} ({self.session.seats[seat]})"

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{PLAIN}" if self._has_colours else text

    def _say_error(self, text: str) -> None:
        self._say(self._styled(textwrap.fill(text, WIDTH), RED))

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def _share_of(move: Move, probability: float) -> str:
    """Returns the line of a move in a list of what an agent thinks."""
    return f"{100 * probability:6.0f} %  {move.text}"


def read_game(path: Path) -> Session:
    """Returns the game of a file: a saved game, or the one in a still page. Raises ValueError for another file."""
    text = read_text(path)
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
