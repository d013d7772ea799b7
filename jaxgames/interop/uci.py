"""Engines that speak UCI, the universal chess interface, as agents of minichess: `uci(nodes=1000)`.

An engine gets the position as FEN, without the positions before it, and forgets everything between two moves. So an
agent has no memory. The mover's expected result is tanh(value / SCALE) of the engine's value in hundredths of a pawn.
With `lines`, the probabilities are softmax(expected result / SPREAD). docs/interop/uci.md has all parameters.

Source: Stefan Meyer-Kahlen, "Description of the universal chess interface (UCI)", April 2006.
"""

import math
import os
import shlex
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError, check_int
from jaxgames.agents import Analysis
from jaxgames.env import Env
from jaxgames.games.minichess.rules import Minichess
from jaxgames.host import legal_moves
from jaxgames.host_agent import HostPlayerAgent, board_of
from jaxgames.interop._engine_program import MAX_SEARCH, MAX_SILENCE, MAX_START, EngineError, EngineProgram

__all__ = ["Engine", "EngineError", "UciAgent", "UciPlayer", "arguments_of", "make"]

VARIANT = "gardner"
FOLDERS = ("/usr/games", "/usr/local/games")  # of programs on Debian, which are not on the path of every user
DEFAULT_NODES = 1000
SCALE = 500.0  # hundredths of a pawn with the expected result tanh(1)
SPREAD = 0.06  # of the probabilities of several lines: a move that is worse by 30 hundredths of a pawn has 1 / e
MATE = 0.2  # added to the value 1 of a win, for a mate in one move; half of it in two
MAX_LINES = 500  # of Fairy-Stockfish
MAX_NUMBER = 10**12


class Engine:
    """A running program that speaks UCI. It ends as an `EngineProgram`: with this object, and with this process."""

    def __init__(self, command: str) -> None:
        """Starts the program and reads its options.

        Raises ParameterError if it is not there or cannot be run, EngineError if it does not speak UCI.
        """
        # The name and the words behind it, such as "type", "spin"; by the name in small letters: UCI ignores the case
        self.options: dict[str, tuple[str, list[str]]] = {}
        self.program = EngineProgram(command, arguments_of(command))
        for line in self.program.ask("uci", last="uciok", silence=MAX_START):
            words = line.split()
            if words[:2] == ["option", "name"] and "type" in words:
                end = words.index("type")
                name = " ".join(words[2:end])
                self.options[name.lower()] = name, words[end:]

    def set_option(self, name: str, value: object) -> None:
        """Sets an option, named in any case. Raises ParameterError if the engine has none with this name."""
        if name.lower() not in self.options:
            raise ParameterError(f"the engine {self.program.name!r} has no option {name!r}")
        self.program.send(f"setoption name {self.options[name.lower()][0]} value {value}")

    def search(self, fen: str, limits: str, silence: float = MAX_SILENCE) -> tuple[str, dict[str, float]]:
        """Returns the best move in a position, "(none)" if there is none, and the values of the engine's lines.

        The values are by the first moves of the lines, the latest last, and empty if the engine names none. They are
        the mover's expected results, and above 1 or below -1 for a mate, the more so the sooner it comes.

        Args:
          fen: the position.
          limits: of the search, as in the command `go`: "nodes 1000".
          silence: seconds without a line after which the engine counts as silent.

        Raises EngineError if the engine ends or is silent; the program is ended then, too.
        """
        values: dict[str, float] = {}
        self.program.ask("ucinewgame", "isready", last="readyok", silence=MAX_START)
        limit = silence if "movetime" in limits else MAX_SEARCH
        lines = self.program.ask(f"position fen {fen}", f"go {limits}", last="bestmove", silence=silence, limit=limit)
        for line in lines:
            for move, value in _value(line).items():
                values.pop(move, None)  # the latest come last
                values[move] = value
        return (lines[-1].split()[1:] or ["(none)"])[0], values


def _value(line: str) -> dict[str, float]:
    """Returns the first move of an `info` line with its value; nothing for other lines and mere bounds."""
    words = line.split()
    if "string" in words:
        words = words[: words.index("string")]  # the rest is for people
    if words[:1] != ["info"] or not {"score", "pv"} < {*words} or {"upperbound", "lowerbound"} & {*words}:
        return {}
    try:
        kind, number = words[words.index("score") + 1 :][:2]
        value, move = float(number), words[words.index("pv") + 1]
    except (IndexError, ValueError):
        return {}
    if not math.isfinite(value):
        return {}
    return {move: math.tanh(value / SCALE)} if kind == "cp" else {move: _value_of_mate(value)} if kind == "mate" else {}


def _value_of_mate(moves: float) -> float:
    """Returns the value of a mate in `moves` moves; with 0 or a negative number, the mover is mated."""
    return math.copysign(1 + MATE / max(abs(moves), 1), moves or -1)


def arguments_of(command: str) -> list[str]:
    """Returns a command as a list: the path of its program, and its arguments.

    Raises ParameterError if a quotation is not closed, or if there is no such program on the path or in FOLDERS.
    """
    try:
        program, *arguments = shlex.split(command) or [""]
    except ValueError as error:
        raise ParameterError(f"the command {command!r} cannot be read: {error}") from None
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *FOLDERS))
    found = shutil.which(program, path=path)
    if found is None:
        raise ParameterError(
            f"there is no program {program!r}: install an engine that speaks UCI (on Debian: apt-get install "
            f"fairy-stockfish), or name one, as in uci(command=/path/to/engine)"
        )
    return [found, *arguments]


class UciPlayer:
    """Chooses moves by an engine, which starts again if it has ended."""

    def __init__(self, env: Minichess, command: str, limits: str, silence: float, options: Mapping[str, int]) -> None:
        self._env = env
        self._command, self._limits, self._silence, self._options = command, limits, silence, options
        self._lock = threading.Lock()  # one search at a time
        self._engine = self._start()

    def choose(self, state: Any, seed: int) -> int:
        """Returns the engine's action on one live board."""
        return self.search(state)[0]

    def search(self, state: Any) -> tuple[int, dict[int, float]]:
        """Returns the engine's action on one live board, and the values of actions as `Engine.search`.

        Raises EngineError if the engine ends, is silent, or plays an illegal move.
        """
        with self._lock:
            if not self._engine.program.is_running:
                self._engine = self._start()
            fen = self._env.to_string(state)
            best, values = self._engine.search(fen, self._limits, self._silence)
        actions = {text: action for action, text in legal_moves(self._env, state).items()}
        if best not in actions:
            raise EngineError(f"the engine {self._command!r} played {best!r} in {fen}; legal are {', '.join(actions)}")
        return actions[best], {actions[move]: value for move, value in values.items() if move in actions}

    def _start(self) -> Engine:
        engine = Engine(self._command)
        _, words = engine.options.get("uci_variant", ("", []))
        variant = next((word for word in words if word.lower() == VARIANT), None)
        if variant is None:
            engine.program.close()
            raise ParameterError(
                f"the engine {self._command!r} does not play 5 x 5 chess: expected one with the variant {VARIANT!r}, "
                "such as fairy-stockfish"
            )
        engine.set_option("UCI_Variant", variant)
        for name, value in self._options.items():
            engine.set_option(name, value)
        return engine


@dataclass(frozen=True)
class UciAgent(HostPlayerAgent):
    """Plays the moves of an engine, board by board."""

    player: UciPlayer
    lines: int

    def analyse(self, states: Any) -> Analysis:
        """Returns probabilities of the engine's moves and, with reward="win_loss", the expected returns.

        Without `lines`, the engine's move has the probability 1. If no line of the engine begins with its move, the
        move has the lowest value of the lines. The values are 0 on finished boards, and where the engine names none.
        """
        boards, live = self._boards(states)
        probabilities = np.zeros((len(boards.current_player), self.env.num_actions), np.float32)
        values = np.zeros((len(boards.current_player), 2), np.float32)
        for i in live:
            board = board_of(boards, i)
            best, found = self.player.search(board)
            latest = dict([*found.items()][-self.lines :])
            others = [] if self.lines == 1 else [action for action in latest if action != best]
            of_best = found.get(best, min(latest.values(), default=0.0))
            actions, results = [*others, best], np.array([*(latest[action] for action in others), of_best])
            weights = np.exp((results - results.max()) / SPREAD)
            probabilities[i, actions] = weights / weights.sum()
            values[i] = -results[-1].clip(-1, 1)
            values[i, board.current_player] *= -1
        has_values = getattr(self.env.unwrapped, "reward", None) == "win_loss"
        return Analysis(jnp.asarray(probabilities), jnp.asarray(values) if has_values else None)


def make(
    env: Env[Any],
    command: str = "fairy-stockfish",
    nodes: int | None = None,
    depth: int | None = None,
    milliseconds: int | None = None,
    skill: int | None = None,
    lines: int | None = None,
) -> UciAgent:
    """Returns an engine that speaks UCI as an agent of minichess with standard rules.

    Args:
      env: minichess with rules="standard", promotion="all" and single pawn steps, or `auto_reset` of it.
        The board can be any of the three.
      command: the program, with arguments if it needs some; it must know the variant "gardner".
      nodes: positions that a search visits; None: 1,000, or without a limit if another one is set.
      depth: plies that a search looks ahead; None: no limit.
      milliseconds: the time of a move; None: no limit.
      skill: the engine's option "Skill Level"; of Fairy-Stockfish from -20 to 20, its default and full strength.
      lines: the engine's option "MultiPV": the best moves that it values, for `analyse`; None: one. More moves take
        more time, and of a fixed number of nodes each gets fewer.

    Raises EngineError (a ValueError) for a program that does not answer.
    """
    game = env.unwrapped
    if not isinstance(game, Minichess):
        raise ParameterError(f"uci plays minichess, not {game.id}")
    if (game.rules, game.promotion, game.double_step) != ("standard", "all", False):
        raise ParameterError(
            f"uci plays minichess with rules='standard', promotion='all' and double_step=False, not {game}"
        )
    limits = {"nodes": nodes, "depth": depth, "milliseconds": milliseconds}
    if all(number is None for number in limits.values()):
        limits["nodes"] = DEFAULT_NODES
    for name, number in limits.items():
        if number is not None:
            check_int(name, number, 1, MAX_NUMBER)
    if skill is not None:
        check_int("skill", skill, -20, 20)
    if lines is not None:
        check_int("lines", lines, 1, MAX_LINES)
    go = " ".join(f"{name} {number}" for name, number in limits.items() if number is not None)
    go = go.replace("milliseconds", "movetime")  # as UCI names it
    options = {name: value for name, value in (("Skill Level", skill), ("MultiPV", lines)) if value is not None}
    player = UciPlayer(game, command, go, MAX_SILENCE + (milliseconds or 0) / 1000, options)
    shown = {**limits, "skill": skill, "lines": lines}
    written = "".join(f", {name}={value}" for name, value in shown.items() if value is not None)
    return UciAgent(env, player, f"uci(command={command!r}{written})", lines or 1)
