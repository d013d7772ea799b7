"""A game in progress, without input and output: the terminal, the page and the still pages are made of it.

    session = Session(env, ["human", "greedy"], seed=1)
    session.play(session.legal()[0].action)
    session.play(session.agent_action())
    session.undo_turn()
    text = session.to_json()                       # Session.from_json(text) plays it again, and checks every move

The positions are a line from the start to the last submove, and a session shows one of them: the one after `ply`
submoves. A submove that is played before the end of the line drops what follows.
"""

import itertools
from collections.abc import Sequence
from typing import Any, Self

import jax
import numpy as np

from jaxgames import agents, registry
from jaxgames.env import Env, Outcome
from jaxgames.host import BoardInfo, host
from jaxgames.play import game_file as saved
from jaxgames.play import names as words
from jaxgames.play import static_page as still
from jaxgames.play.agent_calls import Make, OnCompile, Thoughts, analyse, choose
from jaxgames.play.history import Line
from jaxgames.render import Move, anchors, has_pictures
from jaxgames.render.moves import legal_moves

HUMAN = "human"  # the text of a seat that a person plays

_serials = itertools.count(1)  # of all submoves of this process


class Session:
    """A game in progress.

    Attributes:
      env: the game.
      seats: "human" or the text of an agent, for each seat.
      seed: of the agents' choices, and of the events of a game of chance.
      start: the position at the beginning, as `env.to_string` writes it; None for the game's own start.
      actions: all submoves of the line.
      ply: how many submoves lead to the position that is shown.
      resigned: the seat that resigned at the end of the line; None if no person did.
    """

    def __init__(self, env: Env[Any] | str, seats: Sequence[str], *, seed: int = 0, state: Any = None) -> None:
        """
        Args:
          env: a game, or its text for `jaxgames.make`; not inside `auto_reset`.
          seats: one text per seat: "human", or an agent such as "greedy". Agents are made when they move.
          seed: 0 or a positive integer; the same seed and the same moves of people give the same game.
          state: a position to start from. It counts as `env.to_string` writes it: without the positions before it.

        Raises ValueError for a wrong number of seats or a negative seed, TypeError for a state of another game.
        """
        self.env: Env[Any] = registry.as_env(env)
        env = self.env
        self.seats = _checked_seats(env, seats)
        if seed < 0:
            raise ValueError(f"seed must be 0 or positive, not {seed}")
        self.seed = seed
        self.start: str | None = None if state is None else env.to_string(state)
        self.ply = 0
        self.actions: list[int] = []
        self.resigned: int | None = None
        self._texts: list[str] = []
        self._serials: list[int] = []
        self._host = host(env)
        if self.start is None:
            first, info = self._host.init(self._key(0) if env.needs_key else None)
        else:
            first = env.from_string(self.start)
            info = self._host.look(first)
        self._line = Line(self._host.device)
        self._line.append(first, info.player, info.over)
        self._last_info = (0, info)  # the number of submoves before a position, and its info

    # -- the position that is shown ----------------------------------------------------------------------

    @property
    def plies(self) -> int:
        """Number of submoves of the line."""
        return len(self.actions)

    @property
    def state(self) -> Any:
        """The position that is shown."""
        return self._line[self.ply]

    @property
    def states(self) -> Sequence[Any]:
        """All positions of the line; `states[0]` is the start."""
        return self._line

    @property
    def board(self) -> Any:
        """The position that is shown, with arrays of numpy: texts and pictures read them much faster."""
        return self._line.on_host(self.ply)

    @property
    def _info(self) -> BoardInfo:
        """The public values of the position that is shown."""
        if self._last_info[0] != self.ply:
            self._last_info = (self.ply, self._host.look(self.board))
        return self._last_info[1]

    @property
    def mover(self) -> int:
        """The seat to move; at the end of a game, the seat that the state names."""
        return self._line.players[self.ply]

    @property
    def over(self) -> bool:
        """True if the game has ended in the position that is shown."""
        return self._line.overs[self.ply] or self.is_resigned

    @property
    def turn_goes_on(self) -> bool:
        """True if the seat to move has played the last submove, too."""
        return self.ply > 0 and not self.over and self._line.players[self.ply - 1] == self.mover

    @property
    def outcome(self) -> Outcome:
        """The end of the game, as `env.outcome`; a resignation is a win only where one other seat is left."""
        if not self.is_resigned:
            return self.env.outcome(self.board)
        return self._resigned_outcome()

    def _resigned_outcome(self) -> Outcome:
        """Returns the outcome of the game at the end of the line, where a person resigned."""
        reason = f"seat {self.resigned} resigned"
        if self.env.num_players == 2 and self.resigned is not None:
            return Outcome("win", (1 - self.resigned,), reason)
        return Outcome("forfeit", (), reason)

    def to_text(self) -> str:
        """Returns `env.to_text` of the position that is shown; after a resignation, the last line says so."""
        text = self.env.to_text(self.board)
        if not self.is_resigned:
            return text
        *lines, _ = text.split("\n")
        return "\n".join([*lines, self.outcome.to_text()])

    @property
    def is_resigned(self) -> bool:
        """True if a person has resigned in the position that is shown."""
        return self.resigned is not None and self.ply == self.plies

    def legal(self) -> list[Move]:
        """Returns the legal moves, by action. Their cells are those of `render.anchors`; None in a game without it."""
        if self.over:
            return []
        if has_pictures(self.env):
            return list(anchors(self.env, self.board).moves)
        texts = legal_moves(self.env, self.board)
        return [Move(action, text, None, None, "move", text) for action, text in texts.items()]

    def moves(self) -> list[str]:
        """Returns the texts of all submoves of the line."""
        return list(self._texts)

    def serials(self) -> list[int]:
        """Returns a number for each submove of the line.

        The numbers rise along the line, and no two submoves of a process have the same one. So a submove with the same
        number is the same, with all that are before it.
        """
        return list(self._serials)

    def movers(self) -> list[int]:
        """Returns the seat to move in every position of the line."""
        return list(self._line.players)

    # -- moves -------------------------------------------------------------------------------------------

    def play(self, action: int) -> None:
        """Plays an action of the mover, and drops what followed the position that is shown.

        Raises ValueError for an illegal action, and if the game is over; the session stays as it is.
        """
        if self.over:
            raise ValueError(f"the game is over ({self.outcome.reason}): no move can be played; undo one, or jump back")
        if isinstance(action, bool) or not isinstance(action, (int, np.integer)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
            raise ValueError(f"the action must be an integer, not {action!r}")
        board, mask = self.board, self._info.mask
        if not (0 <= action < len(mask) and mask[action]):
            texts = ", ".join(legal_moves(self.env, board).values())
            raise ValueError(f"action {action} is illegal here; the legal moves are {texts}")
        text = self.env.action_to_string(board, int(action))
        key = self._key(self.ply + 1) if self.env.needs_key else None
        state, info = self._host.step(board, int(action), key)
        self._cut()
        self.actions.append(int(action))
        self._texts.append(text)
        self._serials.append(next(_serials))
        self._line.append(state, info.player, info.over)
        self.ply, self.resigned = self.ply + 1, None
        self._last_info = (self.ply, info)

    def undo(self) -> None:
        """Goes back by one submove, which `redo` plays again, or takes a resignation back.

        Raises ValueError at the start of the game.
        """
        if self.is_resigned:
            self.resigned = None
            return
        if self.ply == 0:
            raise ValueError("there is no move to undo: this is the start of the game")
        self.ply -= 1

    def undo_turn(self) -> None:
        """Goes back to the beginning of the last turn that a person played, or takes a resignation back.

        Raises ValueError if no person has moved before.
        """
        if self.is_resigned:
            self.resigned = None
            return
        people = [ply for ply in range(self.ply) if self.seats[self._line.players[ply]] == HUMAN]
        if not people:
            raise ValueError("there is no turn to undo: no person has moved before this position")
        ply = people[-1]
        while ply > 0 and self._line.players[ply - 1] == self._line.players[ply]:
            ply -= 1
        self.ply = ply

    def redo(self) -> None:
        """Goes forward by one submove. Raises ValueError at the end of the line."""
        if self.ply == self.plies:
            raise ValueError("there is no move to play again: this is the last position")
        self.ply += 1

    def jump(self, ply: int) -> None:
        """Shows the position after `ply` submoves. Raises ValueError for a position that there is not."""
        if not 0 <= ply <= self.plies:
            raise ValueError(f"ply must be from 0 to {self.plies}, not {ply}")
        self.ply = ply

    def resign(self, seat: int | None = None) -> None:
        """Ends the game: a person gives up. Submoves after the position that is shown are dropped.

        Args:
          seat: the person's; None for the seat to move or, if an agent is to move, for the only person.

        Raises ValueError if the game is over, or if the seat is not that of a person.
        """
        people = [number for number, text in enumerate(self.seats) if text == HUMAN]
        if self.over:
            raise ValueError(f"the game is over ({self.outcome.reason}): nobody can resign")
        if seat is None:
            seat = people[0] if len(people) == 1 else self.mover
        if seat not in people:
            raise ValueError(f"only people resign: expected one of the seats {people}, not {seat}")
        self._cut()
        self.resigned = seat

    def _cut(self) -> None:
        """Drops what followed the position that is shown."""
        del self.actions[self.ply :], self._texts[self.ply :], self._serials[self.ply :]
        self._line.cut(self.ply + 1)

    # -- agents ------------------------------------------------------------------------------------------

    def agent_action(self, make: Make = agents.make, on_compile: OnCompile = None) -> int:
        """Returns the action of the agent to move; it is not played yet.

        It depends on the seed, the position and the number of submoves before it only.

        Args:
          make: makes the agent of a text, for a game; give one that keeps its agents where that takes long.
          on_compile: called with the agent's text before its first move in this process, which is compiled.

        Raises ValueError if a person is to move, if the game is over, and for an agent that chooses no legal action.
        """
        text = self.seats[self.mover]
        if self.over or text == HUMAN:
            what = "the game is over" if self.over else f"a person plays seat {self.mover}"
            raise ValueError(f"no agent is to move: {what}")
        board, mask, key = self.board, self._info.mask, jax.random.fold_in(self._key(self.ply), 1)
        action = choose(text, self.env, board, key, make, on_compile)
        if not (0 <= action < len(mask) and mask[action]):
            raise ValueError(f"{text} chose action {action}, which is illegal in {self.env.to_string(board)!r}")
        return action

    def analyse(self, agent: str | None = None, make: Make = agents.make, on_compile: OnCompile = None) -> Thoughts:
        """Returns the probabilities and values of an agent in the position that is shown.

        Args:
          agent: the text of the agent. None: that of the seat to move or, for a person, the first one of another seat.
          make: makes the agent of a text, for a game.
          on_compile: called with the agent's text before its first analysis in this process, which is compiled.

        Raises ValueError if the game is over, no seat has an agent, or the agent has no probabilities or fails.
        """
        if self.over:
            raise ValueError("the game is over: there is no move to think about")
        if agent is None:
            others = [text for text in (self.seats[self.mover], *self.seats) if text != HUMAN]
            if not others:
                raise ValueError("no seat has an agent that could think: name one, such as greedy")
            agent = others[0]
        try:
            probabilities, values = analyse(agent, self.env, self.board, make, on_compile)
            ranked = sorted(self.legal(), key=lambda move: -probabilities[move.action])
        except (ValueError, ImportError):
            raise
        except Exception as error:  # an agent may fail in any way
            raise ValueError(f"{agent} failed with {type(error).__name__}: {error}") from error
        return Thoughts(agent, tuple((move, float(probabilities[move.action])) for move in ranked), values)

    def _key(self, ply: int) -> jax.Array:
        """Returns the PRNG key of the events at a ply."""
        return jax.random.fold_in(jax.random.key(self.seed), ply)

    # -- files -------------------------------------------------------------------------------------------

    def with_seats(self, seats: Sequence[str]) -> Self:
        """Returns a session of the same line and position with others on the seats. Raises ValueError as `Session`."""
        other = type(self)(self.env, seats, seed=self.seed)
        other.start, other.ply, other.resigned = self.start, self.ply, self.resigned
        other.actions, other._texts, other._serials = list(self.actions), list(self._texts), list(self._serials)
        other._line, other._last_info = self._line.copy(), self._last_info
        return other

    def copy(self) -> Self:
        """Returns a session of the same line, position and seats, which changes alone."""
        return self.with_seats(self.seats)

    def to_json(self) -> str:
        """Returns the game as text: the names of the game and the seats, the start, the moves in notation."""
        return self.saved().to_json()

    def saved(self) -> saved.SavedGame:
        """Returns the content of `to_json`."""
        return saved.SavedGame(
            game=str(self.env),
            game_version=self.env.version,
            seats=list(self.seats),
            seed=self.seed,
            start=self.start,
            moves=self.moves(),
            ply=self.ply,
            resigned=self.resigned,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Returns the session that `to_json` wrote; every move is played again.

        Reading a file imports no module and makes no agent.

        Raises ValueError for a text of another form or version, for an unknown game, and for a move that is illegal.
        """
        game = saved.parse(text)
        env = saved.make_game(game)
        start = None if game.start is None else env.from_string(game.start)
        session = cls(env, game.seats, seed=game.seed, state=start)
        for number, move in enumerate(game.moves, start=1):
            try:
                session.play(env.action_from_string(session.board, move))
            except ValueError as error:
                raise ValueError(f"move {number} of the saved game, {move!r}, cannot be played: {error}") from None
        if game.resigned is not None:
            if game.resigned >= env.num_players or session.over:
                raise ValueError(
                    f"'resigned' of the saved game is {game.resigned}: expected a seat from 0 to "
                    f"{env.num_players - 1}, and a game that its moves have not ended"
                )
            session.resigned = game.resigned  # another player can have the seat since then
        session.jump(session.plies if game.ply is None else game.ply)
        return session

    def to_html(self) -> str:
        """Returns the game as one HTML page, to look at without a server: boards, moves, a slider.

        It asks nothing of the network. Raises ValueError for a game without pictures.
        """
        ending = "" if self.resigned is None else words.ending(self.env, self._resigned_outcome())
        boards = [self._line.on_host(ply) for ply in range(len(self._line))]
        return still.page(self.env, boards, self.actions, self._texts, self.seats, self.ply, self.to_json(), ending)


def _checked_seats(env: Env[Any], seats: Sequence[str]) -> tuple[str, ...]:
    """Returns the texts of the seats. Raises ValueError unless there is one for each seat of the game."""
    texts = tuple(seats)
    if isinstance(seats, str) or len(texts) != env.num_players or not all(isinstance(text, str) for text in texts):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        example = [HUMAN, *["random"] * (env.num_players - 1)]
        raise ValueError(
            f"{env.id} has {env.num_players} seats here: expected one text for each, such as {example}, not {seats!r}"
        )
    return tuple(text.strip() for text in texts)
