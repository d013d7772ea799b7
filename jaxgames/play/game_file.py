"""The text of a saved game: a JSON object with the fields of `SavedGame`, the moves in the game's notation.

{"format": "jaxgames game", "version": 1, "game": "checkers(...)", "game_version": 1, "seats": ["human", "greedy"],
 "seed": 0, "start": null, "moves": ["11-15", "23-18"], "ply": 2, "resigned": null, "agreed": false}
"""

import dataclasses
import json
from dataclasses import dataclass

from jaxgames import registry
from jaxgames._checks import shortened
from jaxgames.play.fields import Fields
from jaxgames.play.session import Session

FORMAT, VERSION = "jaxgames game", 1


@dataclass(frozen=True, kw_only=True)
class SavedGame:
    """The content of a saved game."""

    game: str  # as `jaxgames.make` takes it
    game_version: int  # `env.version` of the rules under which it was played
    seats: list[str]  # "human" or an agent
    seed: int
    start: str | None  # a position, None for the game's own start
    moves: list[str]  # of all plies
    ply: int | None  # the position that is shown; None for the last one
    resigned: int | None  # the seat of the person who resigned
    agreed: bool  # whether the players agreed on a draw


def to_json(session: Session) -> str:
    """Returns a game as text: the names of the game and the seats, the start, the moves in notation."""
    saved = SavedGame(
        game=str(session.env),
        game_version=session.env.version,
        seats=list(session.seats),
        seed=session.seed,
        start=session.start,
        moves=session.moves(),
        ply=session.ply,
        resigned=session.resigned,
        agreed=session.agreed,
    )
    return json.dumps({"format": FORMAT, "version": VERSION, **dataclasses.asdict(saved)}, indent=1) + "\n"


def from_json(text: str) -> Session:
    """Returns the session that `to_json` wrote; every move is played again.

    Reading a file imports no module and makes no agent.

    Raises ValueError for a text of another form or version, for an unknown game, and for a move that is illegal.
    """
    return replay(parse(text))


def parse(text: str) -> SavedGame:
    """Returns the content of a saved game, which has not been played yet.

    Raises ValueError unless it is a JSON object with the right fields, of a version that this program can read.
    """
    fields = Fields(text, "saved game")
    if fields.text("format", "") != FORMAT:
        raise ValueError(f'this is not a saved game: expected a JSON object with "format": "{FORMAT}"')
    if (version := fields.integer("version")) != VERSION:
        raise ValueError(f'the saved game has "version": {version}; this program reads {VERSION}')
    return SavedGame(
        game=fields.text("game"),
        game_version=fields.integer("game_version"),
        seats=fields.texts("seats"),
        seed=fields.integer("seed"),
        start=fields.text_or_none("start"),
        moves=fields.texts("moves"),
        ply=fields.integer_or_none("ply"),
        resigned=fields.integer_or_none("resigned"),
        agreed=fields.flag("agreed"),
    )


def replay(saved: SavedGame) -> Session:
    """Returns the session of a saved game. Raises ValueError as `from_json`."""
    env = registry.make_named_in_file(saved.game)
    if env.version != saved.game_version:
        raise ValueError(
            f"the saved game was played under version {saved.game_version} of the rules of {env.id}; "
            f"this program has version {env.version}"
        )
    start = None if saved.start is None else env.from_string(saved.start)
    session = Session(env, saved.seats, seed=saved.seed, state=start)
    for number, move in enumerate(saved.moves, start=1):
        try:
            session.play(env.action_from_string(session.state, move))
        except ValueError as error:
            raise ValueError(f"move {number} of the saved game, {shortened(move)}, cannot be played: {error}") from None
    if saved.resigned is not None:
        if saved.resigned >= env.num_players or session.over:
            raise ValueError(
                f"'resigned' of the saved game is {saved.resigned}: expected a seat from 0 to "
                f"{env.num_players - 1}, and a game that its moves have not ended"
            )
        session.resigned = saved.resigned  # another player can have the seat since then
    if saved.agreed:
        if session.over:
            raise ValueError("'agreed' of the saved game is true: expected a game that nothing else has ended")
        session.agree_on_draw()
    session.jump(session.plies if saved.ply is None else saved.ply)
    return session
