"""The tables of the baseline agents, in Markdown: their training, their games, their ladders."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxgames.baselines.cards import Card, Rating, WinRate
from train.baselines.recorded_commands import total_seconds
from train.driver.commands import text_of_rate, text_of_score
from train.driver.tables import markdown

OPPONENTS = ("random", "greedy")  # of the first win rates of every card; every ladder has both, too
TEACHERS_HEADER = ("agent", "learned from", "self-play alone")
LADDER_HEADER = ("agent", "Elo", "95 % interval", "CPU ms per move")
GAMES_HEADER = ("game", "agent", "opponent", "games", "won", "drawn", "lost", "score")
HEADER = ("agent", "steps", "CPU seconds", "against `random`", "against `greedy`", "Elo")


def agents(made: Sequence[Card]) -> str:
    """Returns the table of the training of agents and their games against OPPONENTS, in Markdown."""
    return markdown(HEADER, map(_row_of_agent, made))


def teachers(made: Sequence[Card]) -> str:
    """Returns the table of what agents learned from, and of what self-play alone reached, in Markdown."""
    return markdown(TEACHERS_HEADER, [(f"`{card.name}`", card.training, _self_play(card)) for card in made])


def _self_play(card: Card) -> str:
    """Returns what self-play alone reached, with a link from a page of docs to the section that has it."""
    source = card.self_play_source.removeprefix("docs/")
    return f"[{card.self_play}]({source})" if source else card.self_play


def games(made: Sequence[Card]) -> str:
    """Returns the table of the games of agents against other opponents, in Markdown."""
    rows = [(card, each) for card in made for each in card.win_rates[len(OPPONENTS) :]]
    return markdown(GAMES_HEADER, [_row_of_games(card, each) for card, each in rows])


def _row_of_games(card: Card, played: WinRate) -> tuple[str, ...]:
    """Returns the cells of some games."""
    counts = (played.games, played.wins, played.draws, played.games - played.wins - played.draws)
    texts = (f"`{text}`" for text in (card.name, played.agent, played.opponent))
    return (*texts, *map(str, counts), text_of_score((played.wins + played.draws / 2) / played.games, played.games))


def ladder(ratings: Iterable[Rating]) -> str:
    """Returns the table of a ladder, in Markdown."""
    rows = [
        (
            f"`{without_module(each.agent)}`",
            f"{each.elo:,.0f}",
            text_of_interval(each.interval),
            _cost(each.cpu_ms),
        )
        for each in ratings
    ]
    return markdown(LADDER_HEADER, rows)


def without_module(agent: str) -> str:
    """Returns the text of an agent without the module that makes it, such as "race" for "a.module:race"."""
    return agent.rpartition(":")[2]


def ratings_of(result: Mapping[str, Any]) -> tuple[Rating, ...]:
    """Returns the ratings in the result of `train.ladder --cost`, the highest first."""
    return tuple(
        Rating(row["agent"], row["elo"], tuple(row["elo_interval"]), result["cpu_ms"][row["agent"]])
        for row in result["agents"]
    )


def _cost(milliseconds: float | None) -> str:
    if milliseconds is None:
        return ""
    return f"{milliseconds:.2g}" if milliseconds < 10 else f"{milliseconds:.0f}"


def _row_of_agent(card: Card) -> tuple[str, ...]:
    """Returns the cells of a card: its name, its training, its win rates, and its place on the ladder."""
    steps = sum(command.steps or 0 for command in card.commands)
    total = total_seconds(command.cpu_seconds for command in card.commands)
    seconds = "not measured" if total is None else f"{total:,.0f}"
    rates = [text_of_rate(each.rate, each.interval) for each in card.win_rates[: len(OPPONENTS)]]
    own = [each for each in card.ladder if each.agent == "baseline"]
    elo = [f"{each.elo:,.0f} ({text_of_interval(each.interval)})" for each in own]
    return (f"`{card.name}`", f"{steps:,}", seconds, *(rates or ["", ""]), *(elo or [""]))


def text_of_interval(interval: Iterable[float | None]) -> str:
    """Returns the text of an interval of ratings, whose ends are None where they are not known."""
    return " to ".join("?" if end is None else f"{end:,.0f}" for end in interval)
