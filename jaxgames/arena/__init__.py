"""Whole games between agents: playing, seats, openings, results, ratings, records.

    agents = (agent, RandomAgent(env))
    agent_of_seat = arena.seating((1, 1), "alternating", num_games)     # int32[games, num_players], indices into agents
    games = arena.play(env, agents, agent_of_seat, key)
    arena.results(env, games, agent_of_seat)                            # of agents[0]: win_rate, win_rate_interval, ...

`play` runs on the host and can show its progress. Agents on the device play all boards at once, and agents on the host
one game after the other. With agents on both, 32 games are in progress at the same time.

`start`, `advance`, `advance_until_over`, `record`, `evaluate` and `summary` are pure functions that can be traced. A
training loop can call `evaluate` inside its own program.
"""

from jaxgames.arena.elo import elo, elo_interval, elo_resamples
from jaxgames.arena.games import Games, advance, advance_until_over, record, start
from jaxgames.arena.openings import (
    MAX_PLIES,
    Openings,
    load_openings,
    openings_of_boards,
    openings_of_moves,
    random_openings,
)
from jaxgames.arena.playing import Recorded, play
from jaxgames.arena.records import GameFile, GameRecord, game_records, read_games, replay
from jaxgames.arena.results import Results, SeatResults, drawn, evaluate, results, summary, wilson, winners
from jaxgames.arena.seats import Seating, one_seat, seating

__all__ = [
    "MAX_PLIES",
    "GameFile",
    "GameRecord",
    "Games",
    "Openings",
    "Recorded",
    "Results",
    "SeatResults",
    "Seating",
    "advance",
    "advance_until_over",
    "drawn",
    "elo",
    "elo_interval",
    "elo_resamples",
    "evaluate",
    "game_records",
    "load_openings",
    "one_seat",
    "openings_of_boards",
    "openings_of_moves",
    "play",
    "random_openings",
    "read_games",
    "record",
    "replay",
    "results",
    "seating",
    "start",
    "summary",
    "wilson",
    "winners",
]
