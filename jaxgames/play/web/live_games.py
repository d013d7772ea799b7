"""Games in progress on the server: each is a `Session`, to which the agents' moves are added one ply at a time.

Sessions belong to the event loop, and no other thread changes them. Agents are made, and whole games are loaded and
drawn, in the thread of the files: some agents take a second, and thousands of plies several. Searches run in the thread
of the agents, on a copy of the session, so a person can always look, undo or continue. A cancelled search still runs to
its end: its result is discarded, and the next search waits for it.
"""

import asyncio
import functools
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.play.agent_calls import Make, agent_action, refuses_draw
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web.guard import Refused
from jaxgames.play.web.threads import Worker
from jaxgames.play.words import people_of, words_of

PACE = 0.3  # seconds that a ply is visible before an agent plays the next one


@dataclass
class Thinking:
    """A search for the move of an agent."""

    agent: str
    waits: bool  # for the end of a search that was cancelled
    compiles: bool = False  # whether the agent moves for the first time, so its program is compiled before


class LiveGame:
    """A session in progress; used in the event loop only.

    Attributes:
      id: names the game in requests.
      session: the game.
      version: of what a page shows; it grows with every change.
      news: is set at the next change.
      paused: whether the agents wait until a person resumes them.
      closed: whether the game has left the server.
      thinking: the search that runs now, None if there is none.
      problem: the error of an agent that could not move or answer, "" if there is none.
      offers: the seats of the people who offer a draw in the position that is shown.
      refusing: the seat whose agent has refused a draw in the position that is shown; None if none has.
    """

    def __init__(self, session: Session, server: "GameServer") -> None:
        self.id: str = secrets.token_urlsafe(9)
        self.session: Session = session
        self.version: int = 0
        self.news = asyncio.Event()
        self.paused: bool = False
        self.closed: bool = False
        self.thinking: Thinking | None = None
        self.problem: str = ""
        self.offers: tuple[int, ...] = ()
        self.refusing: int | None = None
        self._server = server
        self._task: asyncio.Task[None] | None = None  # the moves or the answer of agents

    def change(self, function: Callable[[Session], Session | None], *, paused: bool = False) -> None:
        """Changes the session, and lets the agents move. A move that an agent was still choosing is not played.

        Args:
          function: changes the session, or raises an error without a change. Where it returns a session, this one
            replaces the session of the game.
          paused: whether the agents wait afterwards.
        """
        self.session = function(self.session) or self.session
        self.paused, self.offers, self.refusing = paused, (), None
        self.restart()

    def offer_draw(self) -> None:
        """A person offers a draw, or accepts one: the mover, else the next person who has not offered.

        When all people have, the agents answer by `agent_calls.refuses_draw`. The game is then drawn, unless an agent
        refuses. An offer ends if an agent refuses or fails, and with any change of the session.

        Raises ParameterError while an agent is to move, where no draw is possible, and while an offer waits for the
        agents.
        """
        session, people = self.session, people_of(self.session.seats)
        order = sorted(people, key=lambda seat: (seat - session.mover) % session.env.num_players)
        asked = [seat for seat in order if seat not in self.offers]
        if not words_of(session.env).can_be_drawn(session.env):
            raise ParameterError(f"no game of {session.env} ends in a draw")
        if session.over or session.mover not in people:
            raise ParameterError("no draw can be offered: the game is over, or no person is to move")
        if not asked:
            raise ParameterError("a draw is offered already: wait for the answer")
        if len(asked) == 1 and len(people) == session.env.num_players:
            self.change(Session.agree_on_draw)
            return
        self.offers, self.refusing = (*self.offers, asked[0]), None
        if len(asked) == 1:
            self._begin(self._answer)
        self.notify()

    def resume_agents(self) -> None:
        """Lets the agent to move play in the position that is shown, and drops what was played after it."""
        self.session.drop_later()
        self.paused = False
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
        self.news.set()
        self.news = asyncio.Event()

    def restart(self) -> None:
        """Cancels the search that runs, and starts the search of the agent to move, if there is one that may move."""
        if self._task is not None:
            self._task.cancel()
        self.thinking, self.problem = None, ""
        if not (self.paused or self.closed):
            self._begin(self._move)
        self.notify()

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts what agents do in place of what they did before."""

        async def run() -> None:
            try:
                await work()
            except Exception as error:  # an agent may fail in any way; the page says so, and the game can continue
                self.problem = f"{type(error).__name__}: {error}"
                self.paused, self.thinking, self.offers = True, None, ()
                self.notify()

        self._task = asyncio.get_running_loop().create_task(run())

    async def _move(self) -> None:
        """Plays the agents' plies, until a person is to move or the game is over; none before the last ply."""
        server, loop = self._server, asyncio.get_running_loop()
        while (session := self.session).ply == session.plies and not session.over:
            text, position, begin = session.seats[session.mover], session.copy(), time.monotonic()
            if text == HUMAN:
                break
            thinking = self.thinking = Thinking(text, waits=server.agents.is_busy)
            self.notify()

            def on_compile(_: str, thinking: Thinking = thinking) -> None:
                thinking.compiles = True
                loop.call_soon_threadsafe(self.notify)

            action = await server.agents.run(functools.partial(agent_action, position, server.agent, on_compile))
            await asyncio.sleep(max(0.0, server.pace - (time.monotonic() - begin)))
            session.play(action)
            self.thinking, self.offers = None, ()
            self.notify()

    async def _answer(self) -> None:
        position = self.session.copy()
        refusing = await self._server.agents.run(lambda: refuses_draw(position, self._server.agent))
        if refusing is None:
            self.change(Session.agree_on_draw)
        else:
            self.offers, self.refusing = (), refusing
            self.notify()


@dataclass
class GameServer:
    """The live games and what they share: threads, agents, and the game with which the process was started."""

    game: str
    seats: tuple[str, ...]
    seed: int
    make: Make
    pace: float = PACE
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
        """Returns a game by its id. Raises Refused if there is none."""
        if id not in self.games:
            raise Refused(404, "this game is not on the server: it was restarted")
        return self.games[id]
