"""The text of a saved game: a `jaxgames.arena.GameRecord` in one line, and what a person needs to go on with the game.

    agents       "human" or an agent, for each seat
    rules        `env.version` of the rules under which the game was played
    seed         of the session; 0 if it is missing
    ply          of the position that is shown; null for the last one
    resigned     the seat of the person who resigned; null if no person did
    agreed       whether the players agreed on a draw

A record that `jaxgames.arena` wrote has none of the last five fields, and can be read, too.
"""

import itertools
import json

from jaxgames import registry
from jaxgames._fields import Fields
from jaxgames.arena.records import GameRecord, check_fits, checked, outcome_record, returns_of
from jaxgames.play.session import Session

WHAT = "the saved game"  # in messages


def to_json(session: Session) -> str:
    """Returns a game as the text of a record, with all its plies."""
    env, states = session.env, session.states
    movers = [seat for seat, _ in itertools.groupby(session.movers()[: session.plies])]
    record: GameRecord = {
        "env": str(env),
        "game": 0,
        "agents": list(session.seats),
        "opening": None if session.start is None else {"number": 0, "plies": 0, "position": session.start},
        "start": env.to_string(states[0]),
        "end": env.to_string(states[-1]),
        "actions": session.actions,
        "moves": [*session.moves()],
        "outcome": outcome_record(env, states[-1]),
        "returns": returns_of(env, states[1:]).tolist(),
        "turns": [movers.count(seat) for seat in range(env.num_players)],
        "length": session.plies,
    }
    shown = {"ply": session.ply, "resigned": session.resigned, "agreed": session.agreed}
    return json.dumps({**record, "rules": env.version, "seed": session.seed, **shown}) + "\n"


def from_json(text: str) -> Session:
    """Returns the session that `to_json` wrote; every action is played again.

    Reading a file imports no module and makes no agent.

    Raises ValueError for a text that is not a record, for an unknown game or other rules, and for actions that are
    illegal or do not fit the record.
    """
    return replay(parse(text))


def parse(text: str) -> GameRecord:
    """Returns the record of a saved game, which has not been played yet. Raises ValueError for another text."""
    return checked(text, WHAT)


def replay(record: GameRecord) -> Session:
    """Returns the session of a saved game. Raises ValueError as `from_json`."""
    fields, env = Fields(record, WHAT), registry.make_named_in_file(record["env"])
    if (rules := fields.integer("rules", env.version)) != env.version:
        raise ValueError(
            f"{WHAT} was played under version {rules} of the rules of {env.id}; this program has version {env.version}"
        )
    start = (record["opening"] or {}).get("position")
    state = None if start is None else env.from_string(start)
    session = Session(env, record["agents"], seed=fields.integer("seed", 0), state=state)
    for number, action in enumerate(record["actions"], start=1):
        try:
            session.play(action)
        except ValueError as error:
            raise ValueError(f"action {number} of {WHAT} cannot be played: {error}") from None
    check_fits(env, record, session.states)
    if session.moves() != record["moves"]:
        raise ValueError(f"the moves of {WHAT} are not those of its actions")
    resigned, ply = fields.integer_or_none("resigned"), fields.integer_or_none("ply")
    if resigned is not None:
        if resigned >= env.num_players or session.over:
            raise ValueError(
                f"'resigned' of {WHAT} is {resigned}: expected a seat from 0 to {env.num_players - 1}, and a game that "
                "its moves have not ended"
            )
        session.resigned = resigned  # another player can have the seat since then
    if fields.flag("agreed"):
        if session.over:
            raise ValueError(f"'agreed' of {WHAT} is true: expected a game that nothing else has ended")
        session.agree_on_draw()
    session.jump(session.plies if ply is None else ply)
    return session
