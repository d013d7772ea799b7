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

from jaxgames.arena.elo import elo as elo
from jaxgames.arena.elo import elo_interval as elo_interval
from jaxgames.arena.elo import elo_resamples as elo_resamples
from jaxgames.arena.games import Games as Games
from jaxgames.arena.games import advance as advance
from jaxgames.arena.games import advance_until_over as advance_until_over
from jaxgames.arena.games import record as record
from jaxgames.arena.games import start as start
from jaxgames.arena.openings import MAX_PLIES as MAX_PLIES
from jaxgames.arena.openings import Openings as Openings
from jaxgames.arena.openings import openings_of_boards as openings_of_boards
from jaxgames.arena.openings import openings_of_moves as openings_of_moves
from jaxgames.arena.openings import random_openings as random_openings
from jaxgames.arena.openings.lists import load_openings as load_openings
from jaxgames.arena.playing import Recorded as Recorded
from jaxgames.arena.playing import play as play
from jaxgames.arena.records import GameFile as GameFile
from jaxgames.arena.records import GameRecord as GameRecord
from jaxgames.arena.records import game_records as game_records
from jaxgames.arena.records import read_games as read_games
from jaxgames.arena.records import replay as replay
from jaxgames.arena.results import Results as Results
from jaxgames.arena.results import SeatResults as SeatResults
from jaxgames.arena.results import drawn as drawn
from jaxgames.arena.results import evaluate as evaluate
from jaxgames.arena.results import results as results
from jaxgames.arena.results import summary as summary
from jaxgames.arena.results import wilson as wilson
from jaxgames.arena.results import winners as winners
from jaxgames.arena.seats import Seating as Seating
from jaxgames.arena.seats import one_seat as one_seat
from jaxgames.arena.seats import seating as seating
