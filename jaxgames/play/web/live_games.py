"""Games in progress on the server: each is a `Session`, to which the agents' moves are added one submove at a time.

The functions of a session run in the thread of the rules. Agents are made, and whole games are loaded and drawn, in the
thread of the files: some agents take a second, and thousands of submoves several. Searches run in the thread of the
agents, on a copy of what they need, so a person can always look, undo or go on. A search that nobody waits for any
longer is abandoned: its result is dropped, and the next search waits for its end.
"""

import asyncio
import functools
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.play.agent_calls import Make
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web.guard import Refused
from jaxgames.play.web.threads import Worker

MAX_TABLES = 100
MAX_PLIES = 10_000  # submoves of a game
MAX_AGENTS = 64  # agents that are kept
PACE = 0.3  # seconds that a submove is visible before an agent plays the next one


@dataclass
class Thinking:
    """A search for the move of an agent."""

    seat: int
    agent: str
    waits: bool  # for the end of a search that was abandoned
    compiles: bool = False  # whether the agent moves for the first time, so its program is compiled before


class Table:
    """A session in progress.

    Attributes:
      id: names the table in requests.
      session: the game; used only in the thread of the rules.
      version: of what a page shows; it grows with every change.
      paused: whether the agents wait until a person lets them go on.
      thinking: the search that runs now, None if there is none.
      problem: the error of an agent that could not move, "" if there is none.
    """

    def __init__(self, session: Session, house: "House") -> None:
        self.id = secrets.token_urlsafe(9)
        self.session = session
        self.version = 0
        self.paused = False
        self.closed = False
        self.thinking: Thinking | None = None
        self.problem = ""
        self._house = house
        self._changes = 0  # of the session by people: an agent's move that was found before one is dropped
        self._from_here = False  # whether an agent may move before the end of what was played, which drops the rest
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    async def change(self, function: Callable[[Session], Any], *, paused: bool = False) -> None:
        """Runs a function that changes the session, in the thread of the rules; then the agents go on.

        The move that an agent is thinking about is dropped. Raises what `function` raises.

        Args:
          function: changes the session, or raises an error without a change.
          paused: whether the agents wait afterwards.
        """

        def changed() -> None:
            function(self.session)
            self._changes += 1

        await self._house.rules.run(changed)
        self.paused, self._from_here = paused, False
        self._restart()

    def replace(self, session: Session) -> None:
        """Puts another session on the table. Call it in the thread of the rules, in a function for `change`."""
        self.session = session

    def begin(self) -> None:
        """Lets the agents move, if one of them is to move."""
        self._restart()

    def go_on(self) -> None:
        """Lets the agent to move play in the position that is shown, which drops what was played after it."""
        self.paused, self._from_here = False, True
        self._restart()

    def pause(self) -> None:
        """Stops the search, if there is one; the agents wait."""
        self.paused = True
        self._restart()

    def close(self) -> None:
        """Ends the table: the agents stop, and the pages that show it are told."""
        self.closed = True
        self._restart()

    def notify(self) -> None:
        """Tells all pages that there is something new to show."""
        self.version += 1
        self._news.set()
        self._news = asyncio.Event()

    async def versions(self) -> AsyncIterator[int]:
        """Yields the version whenever it is new, first at once; ends when the table is closed."""
        while not self.closed:
            news, version = self._news, self.version
            yield version
            if self.version == version:
                await news.wait()

    def _restart(self) -> None:
        """Drops the search that runs, and starts that of the agent to move, if there is one and it may move."""
        if self._task is not None:
            self._task.cancel()
        self.thinking, self.problem = None, ""
        self._task = None if self.paused or self.closed else asyncio.get_running_loop().create_task(self._move())
        self.notify()

    async def _move(self) -> None:
        """Plays the agents' submoves, until a person is to move or the game is over."""
        try:
            while (seat := await self._house.rules.run(self._agent_to_move)) is not None:
                await self._one_submove(seat, self.session.seats[seat])
        except Exception as error:  # an agent may fail in any way; the page says so, and the game can go on
            self.problem = f"{type(error).__name__}: {error}"
            self.paused, self.thinking = True, None
            self.notify()

    def _agent_to_move(self) -> int | None:
        """Returns the seat of the agent that is to move and may do so now, None if there is none."""
        session = self.session
        at_end = self._from_here or session.ply == session.plies
        if not at_end or session.over or session.seats[session.mover] == HUMAN:
            return None
        check_length(session)
        return session.mover

    async def _one_submove(self, seat: int, agent: str) -> None:
        """Finds and plays one submove of an agent."""
        changes, begin = self._changes, time.monotonic()
        thinking = Thinking(seat, agent, waits=self._house.agents.unfinished > 0)
        loop = asyncio.get_running_loop()

        def compiles(_: str) -> None:
            thinking.compiles = True
            loop.call_soon_threadsafe(self.notify)

        self.thinking = thinking
        self.notify()
        position = await self._house.rules.run(self.session.copy)
        action = await self._house.agents.run(lambda: position.agent_action(self._house.agent, compiles))
        await asyncio.sleep(max(0.0, self._house.pace - (time.monotonic() - begin)))

        def play() -> None:
            if self._changes == changes:
                self.session.play(action)

        await self._house.rules.run(play)
        self.thinking, self._from_here = None, False
        self.notify()


def check_length(session: Session) -> None:
    """Raises ParameterError for a game that is too long to be continued here: it would fill the memory."""
    if session.ply >= MAX_PLIES:
        raise ParameterError(f"a game on the page ends after {MAX_PLIES:,} submoves: undo some, or start a new game")


@dataclass
class House:
    """The parts that all tables share: the threads, the agents, and the game with which the process was started."""

    game: str
    seats: tuple[str, ...]
    seed: int
    make: Make
    pace: float = PACE
    rules: Worker = field(default_factory=lambda: Worker("rules"))
    agents: Worker = field(default_factory=lambda: Worker("agents"))
    files: Worker = field(default_factory=lambda: Worker("files"))
    tables: OrderedDict[str, Table] = field(default_factory=OrderedDict[str, Table])  # the last used one last

    def __post_init__(self) -> None:
        self._make_once = functools.lru_cache(MAX_AGENTS)(self.make)

    def agent(self, text: str, env: Env[Any]) -> Agent:
        """Returns the agent that a text names; the last ones are kept. Raises ValueError for a text that names none."""
        return self._make_once(text, env)

    def seat(self, session: Session) -> Table:
        """Returns a new table with a session. If there are too many tables, the one not used for longest is closed."""
        table = Table(session, self)
        self.tables[table.id] = table
        while len(self.tables) > MAX_TABLES:
            self.tables.popitem(last=False)[1].close()
        return table

    def table(self, id: str) -> Table:
        """Returns a table by its id. Raises Refused with status 404 if there is none."""
        if id not in self.tables:
            raise Refused(404, "this game is not on the server: it was restarted, or many games were started since")
        self.tables.move_to_end(id)
        return self.tables[id]
