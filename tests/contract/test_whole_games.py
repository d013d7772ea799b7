"""Whole games beside the slow references: masks, observations, rewards, ends and texts, in every form of a game."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import jaxgames
from jaxgames import Env
from tests.contract.games import of_each_game
from tests.helpers.cases import Cases, Played
from tests.helpers.positions import batched, board, in_form, read_all, repeated, start
from tests.helpers.reference import AnyReference


def played(cases: Cases) -> list[Played]:
    """Returns the games of a game's cases, and as slow tests some with each set of parameters."""
    choose = cases.played[0].choose
    envs = dict.fromkeys([*cases.fast, *cases.slow])
    return [*cases.played, *(Played(env, {}, 24, limit=1000, choose=choose, slow=True) for env in envs)]


@of_each_game("played", played)
def test_games_follow_the_reference(cases: Cases, played: Played) -> None:
    env = jaxgames.make(played.env)
    games = Lockstep(env, cases.reference(env), cases, played)
    texts = None if played.texts is None else played.texts(games.rng, games.reference)
    for begin in range(0, len(texts or [""]), played.games):
        games.play(texts and texts[begin : begin + played.games])
    assert {end: games.ends[end] for end, least in played.ends.items() if games.ends[end] < least} == {}
    if played.slow and played.limit and env.max_steps:  # each set of parameters
        ended = games.ends.total()
        assert ended == played.games if env.max_steps <= played.limit else ended > 0


class Lockstep:
    """Games of one env and of its slow reference: all outputs of a board are compared after each action."""

    def __init__(self, env: Env[Any], reference: AnyReference, cases: Cases, played: Played) -> None:
        self.env, self.reference, self.played = env, reference, played
        self.rng = np.random.default_rng(played.seed)
        self.not_in_text = ("rewards", *cases.not_in_text)
        self.ends: Counter[str] = Counter()  # by `reference.end`, or "illegal"

    def play(self, texts: Sequence[str] | None) -> None:
        """Plays games from the start, or one from each text, to their ends or for `played.limit` actions each."""
        if texts is None:
            games = self.played.games
            positions, states = [self.reference.start()] * games, repeated(start(self.env), games)
        else:
            positions = [self.reference.from_string(text) for text in texts]
            states = read_all(self.env, [f"\t{text} \r\n" for text in texts])
            assert [self.env.to_string(board(states, game)) for game in range(len(texts))] == [*texts]
        shown = np.ones(len(positions), bool)  # boards on which something has changed
        played = 0
        while True:
            legal = [self.reference.legal(position) for position in positions]
            self.compare(played, positions, legal, states, shown)
            if all(position.over for position in positions) or played == self.played.limit:
                break
            actions = [self.action(*each) for each in zip(positions, legal, strict=True)]
            after = [self.reference.step(*each) for each in zip(positions, actions, legal, strict=True)]
            chosen = np.array(actions, np.int32)
            next_states = jax.device_get(batched(self.env).step(states, chosen))
            for form in self.played.forms:
                assert_equal(in_form(self.env, form)[0](states, chosen), next_states)
            shown = np.array([not position.over for position in positions])
            self.count(positions, actions, legal, after)
            positions, states, played = after, next_states, played + 1
        assert self.env.max_steps is not None
        assert played <= self.env.max_steps

    def action(self, position: Any, legal: dict[int, Any]) -> int:
        """A finished board gets any action, and so does a live one now and then."""
        if position.over or self.rng.random() < self.played.illegal:
            return int(self.rng.integers(-2, self.env.num_actions + 2))
        return self.played.choose(self.reference, self.rng, position, legal)

    def count(self, before: Sequence[Any], actions: Sequence[int], legal: Sequence[Any], after: Sequence[Any]) -> None:
        for old, action, moves, new in zip(before, actions, legal, after, strict=True):
            if new.over and not old.over:
                self.ends[self.reference.end(new) if action in moves else "illegal"] += 1

    def compare(
        self, played: int, positions: Sequence[Any], legal: Sequence[dict[int, Any]], states: Any, shown: np.ndarray
    ) -> None:
        """Flags, rewards, masks and observations of the boards in `shown`; texts of one, and at times all forms."""
        np.testing.assert_array_equal(states.terminated, [position.terminated for position in positions])
        np.testing.assert_array_equal(states.truncated, [position.truncated for position in positions])
        np.testing.assert_array_equal(states.current_player, [position.seat for position in positions])
        assert states.rewards.dtype == np.float32
        paid = np.array([position.rewards for position in positions], np.float32)
        np.testing.assert_allclose(states.rewards, paid, rtol=1e-6, atol=1e-6)
        look = jax.device_get(batched(self.env).look(states))
        masks = np.zeros(look.mask.shape, bool)
        for mask, moves in zip(masks, legal, strict=True):
            mask[list(moves)] = True
        np.testing.assert_array_equal(look.mask, masks)
        live = ~(states.terminated | states.truncated)
        keys = jax.random.split(jax.random.key(played), len(positions))
        forms = self.played.forms if played % 3 == 0 else ()
        drawn = in_form(self.env, "cpu")[2](states, keys) if forms else None
        for form in forms:
            same = in_form(self.env, form)[2](states, keys)
            assert_equal(same, drawn)
            assert masks[live, same[live]].all()
            assert not same[~live].any()
            seen, judged = in_form(self.env, form)[1](states)
            assert_equal(seen, look)
            np.testing.assert_array_equal(judged[live], np.pad(masks, ((0, 0), (2, 2)))[live])
        boards: list[int] = np.flatnonzero(shown).tolist()
        movers = [self.reference.observation(positions[i], positions[i].seat) for i in boards]
        np.testing.assert_array_equal(look.mover[boards], np.stack(movers))
        # one seat of each board, the mover's neighbour in the first game, and so on
        seats = [(positions[i].seat + 1 + played) % self.env.num_players for i in boards]
        np.testing.assert_array_equal(
            look.seats[boards, seats],
            np.stack([self.reference.observation(positions[i], seat) for i, seat in zip(boards, seats, strict=True)]),
        )
        if boards:  # the texts of one board after each action, in turn: notation goes board by board
            i = boards[played % len(boards)]
            self.compare_texts(board(states, i), positions[i], legal[i])

    def compare_texts(self, state: Any, position: Any, legal: dict[int, Any]) -> None:
        """The text of the position and of its legal actions, written and read."""
        text = self.reference.to_string(position)
        assert self.env.to_string(state) == text
        for action, move in legal.items():
            written = self.reference.move_to_string(position, move)
            assert self.env.action_to_string(state, action) == written
            assert self.env.action_from_string(state, written) == action
        reread = self.reference.from_string(text)  # without the counters that a text does not record
        if (reread.terminated, reread.truncated) == (position.terminated, position.truncated):
            read = jax.device_get(self.env.from_string(text))
            for name in vars(state).keys() - set(self.not_in_text):
                assert_equal(getattr(read, name), getattr(state, name))


def assert_equal(found: Any, expected: Any) -> None:
    """Two pytrees have equal leaves of the same dtypes."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
