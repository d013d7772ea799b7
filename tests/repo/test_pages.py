"""README and docs: links lead somewhere, names are there, and tables and pictures are those of code and results."""

import importlib.util
import json
import pkgutil
import re
from itertools import takewhile
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxgames
from docs.make import settings, speeds, still_games
from examples.papers import appendix, claims, tables
from jaxgames.play import from_json
from jaxgames.play.static_page import game_of
from tests.helpers.blocks import APPENDIX, DOCS, FENCE, PAGES, README, ROOT, name, with_mark
from tests.train.test_runs import LEARNERS


def table(page: Path, *header: str) -> list[list[str]]:
    """The rows of the first table with this header, as the texts of their cells."""
    lines = iter(page.read_text().splitlines())
    assert f"| {' | '.join(header)} |" in lines, f"{name(page)} has no table {header}"  # reads up to the header
    next(lines)
    rows = takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


# -- links and names -----------------------------------------------------------------------------------------------


def test_every_page_is_in_the_nav_and_every_entry_is_a_page() -> None:
    nav = re.search(r"^nav:\n((?: .*\n)+)", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert nav
    entries = re.findall(r"- [^:]+: (\S+)$", nav[1], re.MULTILINE)
    assert sorted(entries) == sorted(str(page.relative_to(DOCS)) for page in PAGES if page != README)


@pytest.mark.parametrize("page", [*PAGES, *APPENDIX.glob("*.md")], ids=name)
def test_links_and_pictures_are_there(page: Path) -> None:
    """Relative ones, which GitHub and the site follow alike; links of the docs stay among the docs."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))
    targets = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"(?:src|srcset)=\"([^\"]+)\"", prose)
    for target in targets:
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.is_file(), f"{name(page)} links to {target}"
        assert page == README or there.is_relative_to(DOCS), f"{target} of {name(page)} is not on the site"
        if there.suffix == ".md" and anchor:
            assert anchor in anchors(there), f"{name(page)} links to {target}, which has no such heading"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*map(with_mark, PAGES)], ids=name)
def test_files_modules_and_names_of_a_page_are_there(page: Path) -> None:
    """Those in backticks, such as `train/ppo/` and `train.ppo.Config`, except files of users, runs and builds."""
    text = page.read_text()
    for path in re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text):
        of_users = path.startswith(("runs/", "site/", "checkpoints/", "mypackage/"))
        assert of_users or (ROOT / path).exists(), f"{name(page)} names {path}"
    for module in re.findall(r"python -m ((?:train|benchmarks|examples)\.\w+(?:\.\w+)*)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), f"{name(page)} runs {module}"
    names = re.findall(r"`((?:jaxgames|train|benchmarks|examples)(?:\.\w+)+)[`(]", text)
    for dotted in names + re.findall(r"^::: (\S+)$", text, re.MULTILINE):
        assert pkgutil.resolve_name(dotted) is not None, f"{name(page)} names {dotted}"


def test_citations_have_the_version_of_the_package() -> None:
    entries = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert entries["version"] == jaxgames.__version__
    assert f"version = {{{jaxgames.__version__}}}" in README.read_text()


# -- tables and pictures of results --------------------------------------------------------------------------------


def test_pages_have_the_tables_of_the_stored_results() -> None:
    with pytest.raises(SystemExit) as status:
        tables.update(tables.Arguments(check=True))
    assert status.value.code == 0, "type python -m examples.papers.tables"
    markers = {marker for page in PAGES for marker in re.findall(r"<!-- table: (\S+) -->", page.read_text())}
    in_appendix = {name for page in appendix.pages().values() for name in page["tables"]}
    assert (markers - {"NAME"}) | in_appendix == tables.tables().keys(), "each table is on a page"


def test_claim_has_one_verdict_a_command_that_is_there_and_a_cost_where_it_is_open() -> None:
    for page, of_page in claims.read_claims().items():
        for claim in of_page:
            assert claim.verdict in claims.VERDICTS, f"{page}: {claim}"
            assert bool(claim.cost) == (claim.verdict in ("open", "not here")), f"{page}: {claim}"
            assert claim.theirs or claim.ours, f"{page}: {claim}"
            for module in re.findall(r"python -m (\S+)", claim.command):
                assert importlib.util.find_spec(module), f"{page}: {claim}"


def test_picture_of_speeds_has_the_speeds_of_the_stored_result() -> None:
    """matplotlib writes each text as a comment beside its outlines."""
    arguments = speeds.Arguments()
    rows = json.loads(arguments.result.read_text())["results"][-1]["rows"]
    for (_, game), speed in speeds.fastest(rows).items():
        for text in (game, speeds.label(speed)):
            assert f"<!-- {text} -->" in arguments.output.read_text(), "type python -m docs.make.speeds"


@pytest.mark.parametrize(
    "game", [pytest.param(game, marks=[pytest.mark.slow] * (game != "dots_and_boxes")) for game in still_games.GAMES]
)
def test_still_game_of_a_page_replays_to_its_end(game: str) -> None:
    file = DOCS / "pictures" / still_games.file_name(game)
    assert file.stat().st_size <= 300_000
    content = json.loads(game_of(file.read_text(encoding="utf-8")))
    assert content["env"] == str(jaxgames.make(still_games.GAMES[game].game))
    assert from_json(json.dumps({**content, "ply": None})).over


# -- tables of what the code has -----------------------------------------------------------------------------------


def test_every_game_has_its_page_and_its_row_in_the_readme() -> None:
    """The sizes are those of the default parameters, the speeds those of the picture."""
    rows = table(README, "", "game", "seats", "actions", "steps/s, one H200", "checked against", "exact solution")
    stored = speeds.fastest(json.loads(speeds.Arguments().result.read_text())["results"][-1]["rows"])
    for row, game in zip(rows, jaxgames.list_games(), strict=True):
        env, of_game = jaxgames.make(game), dict(table(DOCS / "games" / f"{game}.md", "property", "value"))
        assert row[1] == f"[`{game}`](docs/games/{game}.md)"
        assert str(env.num_players) in row[2].split(", ")
        assert row[3] == f"{env.num_actions:,}"
        assert row[4] == speeds.label(stored["jaxgames", game])
        assert str(env.state_bytes) in of_game["bytes per board"]


def test_concepts_have_the_values_of_the_attributes_of_an_env() -> None:
    env = jaxgames.make("minichess")
    for attribute, value, _ in table(DOCS / "concepts.md", "attribute", "of `minichess`", "meaning"):
        found = getattr(env, attribute.strip("`"))
        shown = f"bool{list(found.shape)}" if isinstance(found, np.ndarray) else repr(found).replace("'", '"')
        assert value == shown, attribute


def test_tables_of_settings_are_those_of_the_code() -> None:
    assert settings.updated(settings.PAGE.read_text()) == settings.PAGE.read_text(), "type python -m docs.make.settings"


@pytest.mark.slow  # traces a run
@pytest.mark.parametrize("page", ["ppo", "klent", "alphazero", "imitation"])
def test_page_of_a_learner_lists_its_own_metrics(page: str, tmp_path: Path) -> None:
    """Those of its games are on the page of runs."""
    learner, rows = LEARNERS[page](tmp_path), table(DOCS / "training" / f"{page}.md", "metric", "definition")
    start = jax.eval_shape(learner.init, jax.random.key(0))
    metrics = jax.eval_shape(learner.iterate, start, *learner.load_data())[1]
    listed = {metric for row in rows for metric in re.findall(r"`(.+?)`", row[0])}
    assert listed == {metric for metric in metrics if not re.match("(num_)?episode", metric)}
