"""The claims of the studies and their verdicts: the tables that `examples.papers.tables` writes of claims.json.

`docs/results/claims.json` has a list of claims for each page of a study. A claim that needs two verdicts is two claims.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from train.baselines.entries import RESULTS
from train.driver.tables import markdown

VERDICTS = {  # in the order of the columns of the index
    "confirmed": "a measurement or a test here gives what the study states",
    "exceeded": "ours is better in the study's own measure",
    "missed": "ours is worse in the study's own measure",
    "refuted": "a measurement, a test or a calculation contradicts the study",
    "not comparable": "both have a result, but not of the same thing",
    "open": "the command is here, without a result that settles the claim",
    "runs here": "a part that claims nothing, such as rules or a network",
    "not here": "left out",
}


class Claim(NamedTuple):
    """A claim of a study, beside what was found here."""

    section: str
    """The section, table or figure of the study."""
    words: str
    """The claim, in the words of the study or shortened."""
    theirs: str
    """Its number, or ""."""
    ours: str
    """The same number here, with its interval, or a link to the part that runs here."""
    seeds: str
    """The number of seeds that `ours` is from; "" where no random numbers are used."""
    settings: str
    """Whose settings `ours` has: "the study's", "ours" or the name of a preset; "" where there are none."""
    verdict: str
    """One of VERDICTS."""
    figure: str
    """The target of a link, from docs/papers, to the figure or table with `ours`; "" if `ours` has links."""
    command: str
    """The command that gives `ours`; "" for a calculation or a part that runs here."""
    cost: str = ""
    """Of an open claim: what it would cost to settle it. Of a claim that is not here: the reason."""


def read_claims() -> dict[str, list[Claim]]:
    """Returns the claims by the page of their study. Raises TypeError for a missing or an unknown field."""
    stored = json.loads((RESULTS / "claims.json").read_text(encoding="utf-8"))
    return {page: [Claim(**claim) for claim in claims] for page, claims in stored.items()}


def tables_of_claims(claims: Mapping[str, list[Claim]]) -> dict[str, str]:
    """Returns the tables in Markdown, by their names in the markers: `claims_PAGE` for each page, and the index."""
    counts = {page: Counter(claim.verdict for claim in of_page) for page, of_page in claims.items()}
    rows = ([f"[{page}](../papers/{page}.md)", *(of[name] or "" for name in VERDICTS)] for page, of in counts.items())
    return {
        "claims": markdown(["study", *VERDICTS], rows),
        "verdicts": markdown(["verdict", "meaning"], VERDICTS.items()),
        **{f"claims_{page}": _of_page(each) for page, each in claims.items()},
        **{f"claims_{verdict}": _with_verdict(claims, verdict) for verdict in ("refuted", "missed", "open")},
    }


def _of_page(claims: list[Claim]) -> str:
    header = ["the study", "verdict", "theirs", "ours", "seeds, settings"]
    rows: list[list[str]] = []
    ordered = sorted(claims, key=lambda claim: claim.verdict in ("runs here", "not here"))  # these at the end
    for last, each in zip([None, *ordered], ordered, strict=False):
        words = "the same" if last and last.words == each.words else each.words
        where = f" ({each.section})" if each.section else ""
        ours = f"[{each.ours}]({each.figure})" if each.figure else each.ours
        rows.append([words + where, each.verdict, each.theirs, ours, _basis(each)])
    return markdown(header, rows)


def _basis(claim: Claim) -> str:
    return ", ".join(filter(None, [claim.seeds, claim.settings]))


def _with_verdict(claims: Mapping[str, list[Claim]], verdict: str) -> str:
    """Returns the claims of all studies with a verdict; open ones with what it would cost to settle them."""
    header = ["study", "claim", "theirs", "ours", "seeds, settings", *(["it would take"] if verdict == "open" else [])]
    rows = (
        [f"[{page}](../papers/{page}.md)", each.words, each.theirs, each.ours, _basis(each), each.cost][: len(header)]
        for page, of_page in claims.items()
        for each in of_page
        if each.verdict == verdict
    )
    return markdown(header, rows)
