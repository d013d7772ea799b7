"""Whole games beside the slow references: masks, observations, rewards, ends and texts, in every form of a game."""

import jaxgames
from tests.contract.games import of_each_game
from tests.helpers.cases import Cases, Played
from tests.helpers.lockstep import Lockstep


@of_each_game("played", lambda cases: cases.played)
def test_games_follow_the_reference(cases: Cases, played: Played) -> None:
    env = jaxgames.make(played.env)
    games = Lockstep(
        env,
        cases.reference(env),
        played.seed,
        not_in_text=cases.not_in_text,
        illegal=played.illegal,
        choose=played.choose,
        forms=played.forms,
    )
    if played.texts is None:
        games.play(played.games, played.limit)
    else:
        texts = played.texts(games.rng, games.reference)
        for begin in range(0, len(texts), played.games):
            games.play(texts[begin : begin + played.games], played.limit)
    assert {end: games.ends[end] for end, least in played.ends.items() if games.ends[end] < least} == {}
