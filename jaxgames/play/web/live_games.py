"""Games in progress on the server: each is a `Session`, to which the agents' moves are added one ply at a time.

The functions of a session run in the thread of the rules. Agents are made, and whole games are loaded and drawn, in the
thread of the files: some agents take a second, and thousands of plies several. Searches run in the thread of the
agents, on a copy of what they need, so a person can always look, undo or continue. A cancelled search still runs to its
end: its result is discarded, and the next search waits for it.
"""

import asyncio
import functools
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.play.agent_calls import Make, agent_action, refuses_draw
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web.threads import Worker
from jaxgames.play.words import people_of, words_of

PACE = 0.3  # seconds that a ply is visible before an agent plays the next one


class UnknownGameError(LookupError):
    """A game is not on the server."""


@dataclass
class Thinking:
    """A search for the move of an agent."""

    agent: str
    waits: bool  # for the end of a search that was cancelled
    compiles: bool = False  # whether the agent moves for the first time, so its program is compiled before


class LiveGame:
    """A session in progress. A search ends in the thread of the rules, at the moment in which the session changes.

    Attributes:
      id: names the game in requests.
      session: the game; used only in the thread of the rules.
      version: of what a page shows; it grows with every change.
      paused: whether the agents wait until a person resumes them.
      closed: whether the game has left the server.
      thinking: the search that runs now, None if there is none.
      problem: the error of an agent that could not move, "" if there is none.
      offers: the seats of the people who offer a draw in the position that is shown.
      refusing: the seat whose agent has refused a draw in the position that is shown; None if none has.
    """

    def __init__(self, session: Session, server: "GameServer") -> None:
        self.id: str = secrets.token_urlsafe(9)
        self.session: Session = session
        self.version: int = 0
        self.paused: bool = False
        self.closed: bool = False
        self.thinking: Thinking | None = None
        self.problem: str = ""
        self.offers: tuple[int, ...] = ()
        self.refusing: int | None = None
        self._server = server
        self._changes = 0  # of the session by people: an agent's move that was searched before one is discarded
        self._from_here = False  # whether an agent may move before the last ply, which drops what follows
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    async def change(self, function: Callable[[Session], Session | None], *, paused: bool = False) -> None:
        """Runs a function that changes the session, in the thread of the rules; then the agents move.

        The move that an agent is thinking about is discarded. Raises what `function` raises.

        Args:
          function: changes the session, or raises an error without a change. Where it returns a session, this one
            replaces the session of the game.
          paused: whether the agents wait afterwards.
        """

        def changed() -> None:
            self.session = function(self.session) or self.session
            self._changes += 1
            self.paused, self._from_here = paused, False
            self.thinking, self.problem, self.offers, self.refusing = None, "", (), None

        await self._server.rules.run(changed)
        self.restart()

    async def offer_draw(self) -> None:
        """A person offers a draw, or accepts one: the mover, else the next person who has not offered.

        When all people have, the agents answer by `agent_calls.refuses_draw`. The game is then drawn, unless an agent
        refuses. An offer ends if an agent refuses or fails.

        Raises ParameterError while an agent is to move, where no draw is possible, if the game has changed before the
        answer, and while an offer waits for the agents. Raises what `refuses_draw` raises.
        """

        def offer() -> tuple[Session, bool, int]:
            session = self.session
            people = people_of(session.seats)
            order = [(session.mover + index) % session.env.num_players for index in range(session.env.num_players)]
            asked = [seat for seat in order if seat in people and seat not in self.offers]
            if not words_of(session.env).can_be_drawn(session.env):
                raise ParameterError(f"no game of {session.env} ends in a draw")
            if session.over or session.mover not in people:
                raise ParameterError("no draw can be offered: the game is over, or no person is to move")
            if not asked:
                raise ParameterError("a draw is offered already: wait for the answer")
            self.offers, self.refusing = (*self.offers, asked[0]), None
            return session.copy(), len(asked) == 1, self._changes

        position, is_agreed, changes = await self._server.rules.run(offer)
        self.notify()
        if not is_agreed:
            return
        try:
            refusing = await self._server.agents.run(lambda: refuses_draw(position, self._server.agent))
        except BaseException:  # also where the request is cancelled
            if self._changes == changes:  # else the offer has ended already
                self.offers = ()
                self.notify()
            raise

        def answer(session: Session) -> None:
            if self._changes != changes:
                raise ParameterError("the game has changed before the answer: offer the draw again")
            if refusing is None:
                session.agree_on_draw()

        await self.change(answer)
        if self._changes == changes + 1:  # nobody has moved since
            self.refusing = refusing
            self.notify()

    def resume_agents(self) -> None:
        """Lets the agent to move play in the position that is shown, which drops what was played after it."""
        self.paused, self._from_here = False, True
        self.restart()

    def pause(self) -> None:
        """Stops the search, if there is one; the agents wait."""
        self.paused = True
        self.restart()

    def close(self) -> None:
        """Ends the game: the agents stop, and the pages that show it get a last message."""
        self.closed = True
        self.restart()

    def notify(self) -> None:
        """Tells all pages that there is something new to show."""
        self.version += 1
        self._news.set()
        self._news = asyncio.Event()

    async def versions(self) -> AsyncIterator[int]:
        """Yields the version whenever it is new, first at once; ends when the game is closed."""
        while not self.closed:
            news, version = self._news, self.version
            yield version
            if self.version == version:
                await news.wait()

    def restart(self) -> None:
        """Cancels the search that runs, and starts the search of the agent to move, if there is one that may move."""
        if self._task is not None:
            self._task.cancel()
        self.thinking, self.problem = None, ""
        self._task = None if self.paused or self.closed else asyncio.get_running_loop().create_task(self._move())
        self.notify()

    async def _move(self) -> None:
        """Plays the agents' plies, until a person is to move or the game is over."""
        try:
            while (position := await self._server.rules.run(self._position_of_agent)) is not None:
                await self._one_ply(*position)
        except Exception as error:  # an agent may fail in any way; the page says so, and the game can continue
            self.problem = f"{type(error).__name__}: {error}"
            self.paused, self.thinking = True, None
            self.notify()

    def _position_of_agent(self) -> tuple[Session, int] | None:
        """Returns a copy of the session, and the number of changes, if an agent may move now; None if none may."""
        session = self.session
        at_end = self._from_here or session.ply == session.plies
        if not at_end or session.over or session.seats[session.mover] == HUMAN:
            return None
        return session.copy(), self._changes

    async def _one_ply(self, position: Session, changes: int) -> None:
        """Searches and plays one ply of an agent."""
        server, begin = self._server, time.monotonic()
        thinking = Thinking(position.seats[position.mover], waits=server.agents.unfinished > 0)
        loop = asyncio.get_running_loop()

        def compiles(_: str) -> None:
            thinking.compiles = True
            loop.call_soon_threadsafe(self.notify)

        self.thinking = thinking
        self.notify()
        action = await server.agents.run(lambda: agent_action(position, server.agent, compiles))
        await asyncio.sleep(max(0.0, server.pace - (time.monotonic() - begin)))

        def play() -> None:
            if self._changes == changes:
                self.session.play(action)
                self.thinking, self._from_here, self.offers = None, False, ()

        await server.rules.run(play)
        self.notify()


@dataclass
class GameServer:
    """The live games and what they share: threads, agents, and the game with which the process was started."""

    game: str
    seats: tuple[str, ...]
    seed: int
    make: Make
    pace: float = PACE
    rules: Worker = field(default_factory=lambda: Worker("rules"))
    agents: Worker = field(default_factory=lambda: Worker("agents"))
    files: Worker = field(default_factory=lambda: Worker("files"))
    games: dict[str, LiveGame] = field(default_factory=dict[str, LiveGame])  # by their ids

    def __post_init__(self) -> None:
        self._make_once = functools.cache(self.make)

    def agent(self, text: str, env: Env[Any]) -> Agent:
        """Returns the agent that a text names, made once. Raises ValueError for a text that names none."""
        return self._make_once(text, env)

    def add(self, session: Session) -> LiveGame:
        """Returns a new game with a session."""
        game = LiveGame(session, self)
        self.games[game.id] = game
        return game

    def find(self, id: str) -> LiveGame:
        """Returns a game by its id. Raises UnknownGameError if there is none."""
        if id not in self.games:
            raise UnknownGameError("this game is not on the server: it was restarted")
        return self.games[id]
