"""The tables of the baseline agents and of the entries, in Markdown."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxgames import arena
from jaxgames.baselines.cards import Card, Rating
from train.baselines.entries import STORED
from train.baselines.recorded_commands import total_seconds
from train.driver.commands import text_of_rate, text_of_score
from train.driver.tables import Column, markdown, table_of

OPPONENTS = ("random", "greedy")  # of the first win rates of every card; every ladder has both, too


# -- of cards --------------------------------------------------------------------------------------------------------


def agents(made: Sequence[Card]) -> str:
    """Returns the table of the training of agents and their games against OPPONENTS."""
    rows: list[tuple[str, ...]] = []
    for card in made:
        steps = sum(command.steps or 0 for command in card.commands)
        total = total_seconds(command.cpu_seconds for command in card.commands)
        seconds = "not measured" if total is None else f"{total:,.0f}"
        rates = [
            text_of_rate(each.rate, each.interval) if each.games else "" for each in card.win_rates[: len(OPPONENTS)]
        ]
        rows.append((f"`{card.name}`", f"{steps:,}", seconds, *rates))
    return markdown(("agent", "steps", "CPU seconds", "against `random`", "against `greedy`"), rows)


def teachers(made: Sequence[Card]) -> str:
    """Returns the table of what agents learned from, and of what self-play alone reached."""

    def self_play(card: Card) -> str:
        """With a link from a page in a folder of docs to the section that has it."""
        source = card.self_play_source.replace("docs/", "../", 1)
        return f"[{card.self_play}]({source})" if source else card.self_play

    rows = ((f"`{card.name}`", card.training, self_play(card)) for card in made)
    return markdown(("agent", "learned from", "self-play alone"), rows)


def games(made: Sequence[Card]) -> str:
    """Returns the table of the games of agents against other opponents."""
    rows: list[tuple[object, ...]] = []
    for card in made:
        for played in (each for each in card.win_rates[len(OPPONENTS) :] if each.games):
            texts = (f"`{text}`" for text in (card.name, played.agent, played.opponent))
            counts = (played.games, played.wins, played.draws, played.games - played.wins - played.draws)
            rows.append((*texts, *counts, text_of_score((played.wins + played.draws / 2) / played.games, played.games)))
    return markdown(("game", "agent", "opponent", "games", "won", "drawn", "lost", "score"), rows)


# -- of ladders --------------------------------------------------------------------------------------------------------


def ladder(ratings: Iterable[Rating]) -> str:
    """Returns the table of a ladder."""

    def cost(milliseconds: float | None) -> str:
        form = "" if milliseconds is None else "{:.2g}" if milliseconds < 10 else "{:.0f}"
        return form.format(milliseconds)

    rows = [
        (f"`{without_module(each.agent)}`", f"{each.elo:,.0f}", text_of_interval(each.interval), cost(each.cpu_ms))
        for each in ratings
    ]
    return markdown(("agent", "Elo", "95 % interval", "CPU ms per move"), rows)


def ratings_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Rating, ...]:
    """Returns the ratings in the rows of a ladder (`entries.ladder_rows`)."""
    return tuple(Rating(row["agent"], row["elo"], tuple(row["elo_interval"]), row["cpu_ms"]) for row in rows)


def without_module(agent: str) -> str:
    """Returns the text of an agent without the module that makes it, such as "race" for "a.module:race"."""
    return agent.rpartition(":")[2]


def text_of_interval(interval: Iterable[float | None]) -> str:
    """Returns the text of an interval of ratings, whose ends are None where they are not known."""
    return " to ".join("?" if end is None else f"{end:,.0f}" for end in interval)


# -- of solved boards ------------------------------------------------------------------------------------------------


def solved(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the measures of a solved board: medians of the seeds."""
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        kinds.setdefault((row["learned"], text_of_search(row)), []).append(row)
    lines: list[dict[str, Any]] = []
    for (learned, search), seeds in kinds.items():
        known = {key: [row[key] for row in seeds if row.get(key) is not None] for key in ("cpu_seconds", *STORED)}
        medians = {key: statistics.median(values) for key, values in known.items() if values}
        weak = known["weak_solved"]
        lines.append(
            medians | {"learned": learned, "search": search, "weak": f"{sum(weak)} of {len(weak)}" if weak else ""}
        )
    columns: dict[str, Column] = {
        "learned from": "{learned}",
        "simulations": "{search}",
        "CPU seconds": "{cpu_seconds:,.0f}",
        "weakly solved": "{weak}",
        **{f"`{key}`": f"{{{key}:{',.0f' if key == 'agent_states' else '.5f'}}}" for key in STORED[1:7]},
    }
    return table_of(lines, columns)


def text_of_search(row: Mapping[str, Any]) -> str:
    """Returns a row's number of simulations, with the rule of the search unless it is the rule of self-play."""
    simulations = str(row["simulations"])
    return f"{simulations}, {row['rule']}" if "rule" in row else simulations


# -- of the switches of self-play --------------------------------------------------------------------------------------


def _elo_of(row: Mapping[str, Any]) -> str:
    """The difference of ratings that the score has, with that of the ends of its interval."""

    def elo(score: float) -> float:
        return math.inf * (score - 0.5) if score in (0, 1) else 400 * math.log10(score / (1 - score))

    low, high = map(elo, arena.wilson(row["score"] * row["games"], row["games"]))
    return f"{elo(row['score']):+.0f} ({low:+.0f} to {high:+.0f})"


SWITCHES: dict[str, Column] = {
    "game": "`{game}`",
    "self-play": lambda row: row["ways"][0].replace("_", " "),
    "against": lambda row: row["ways"][1].replace("_", " "),
    "steps of both": "{steps[0]:,} / {steps[1]:,}",
    "CPU seconds of both": "{cpu_seconds[0]:,.0f} / {cpu_seconds[1]:,.0f}",
    "games": "{games:,}",
    "won": "{wins:,}",
    "drawn": "{draws:,}",
    "lost": "{losses:,}",
    "score": lambda row: text_of_score(row["score"], row["games"]),
    "Elo": _elo_of,
}
