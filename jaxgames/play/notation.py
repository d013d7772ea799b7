"""Moves as people type them: plies and whole turns in the game's notation, and the beginnings of them.

11-15, 22x15x6            a step, a whole capture; 22x6 if only one capture leads there
3->14, 3=>16=>18 end      a step, a chain of hops and the end of the turn
b1                        the beginning of a move is enough where only one legal move has it
"""

import itertools
from typing import Any

from jaxgames.env import Env
from jaxgames.host import host, legal_moves
from jaxgames.play.session import Session
from jaxgames.play.words import words_of


def parse_turn(session: Session, text: str) -> list[int]:
    """Returns the actions that a text names, of one ply or of several that follow each other.

    Raises ValueError, with what is legal instead, unless each part names one legal move.
    """
    env, state, actions = session.env, session.state, list[int]()
    for word in _words(text):
        for action in _actions(env, state, word):
            state, _ = host(env).step(state, action)
            actions.append(action)
    if not actions:
        raise ValueError(f"expected a move; the legal ones are {', '.join(legal_texts(env, state))}")
    return actions


def legal_texts(env: Env[Any], state: Any) -> list[str]:
    """Returns the legal moves as people write them: whole turns where a game has words for them, else plies."""
    return words_of(env).legal_texts(env, state)


def _words(text: str) -> list[str]:
    """Returns the plies of a text; a chain such as 3=>16=>18 is made of several."""
    words: list[str] = []
    for word in text.split():
        cells = word.split("=>")
        words += [word] if len(cells) < 3 else ["=>".join(pair) for pair in itertools.pairwise(cells)]
    return words


def _actions(env: Env[Any], state: Any, word: str) -> list[int]:
    """Returns the actions of one ply, or of a whole turn that is one word."""
    legal = legal_moves(env, state)
    exact = [action for action, text in legal.items() if text.lower() == word.lower()]
    if exact:
        return exact
    if turn := words_of(env).turn(env, state, word):
        return turn
    begun = [action for action, text in legal.items() if _begins(text.lower(), word.lower())]
    if len(begun) == 1:
        return begun
    if begun:
        raise ValueError(f"{word!r} begins several moves: {', '.join(legal[action] for action in begun)}")
    raise ValueError(f"{_reason(env, state, word, legal)}; legal: {', '.join(legal_texts(env, state)) or 'no move'}")


def _begins(text: str, word: str) -> bool:
    """Returns whether a move begins with a word that does not end in the middle of a number."""
    return text.startswith(word) and not (word[-1:].isdigit() and text[len(word) :][:1].isdigit())


def _reason(env: Env[Any], state: Any, word: str, legal: dict[int, str]) -> str:
    """Returns why a word names no legal move."""
    try:
        action = env.action_from_string(state, word)
    except ValueError as error:
        return str(error)
    return f"{word} is illegal here" if action not in legal else f"{word} is written {legal[action]}"
