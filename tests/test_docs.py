"""The statements of README and docs are true, and their links lead somewhere."""

import dataclasses
import pkgutil
import re
import tomllib
from itertools import takewhile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from docs.make import settings
from jaxgames import arena
from jaxgames.agents import RandomAgent
from tests.helpers.apart import with_mark
from tests.helpers.blocks import DOCS, FENCE, PAGES, README, ROOT, name
from tests.helpers.labelled import saved, solved_positions
from tests.helpers.sections import anchor_of, figures, section
from tests.helpers.solved import solved_boxes
from train import alphazero, imitation
from train.agents import LEARNERS
from train.driver.learner import Learner
from train.driver.messages import GAMES, NEXT_RATES, OPPONENT
from train.ppo import PPO, Config, Numbers
from train.recipes import RECIPES

RUNS_PAGE = DOCS / "training" / "runs.md"
PPO_PAGE = DOCS / "training" / "ppo.md"
ALPHAZERO_PAGE = DOCS / "training" / "alphazero.md"
IMITATION_PAGE = DOCS / "training" / "imitation.md"
STUDIES = ("parameter_sharing", "dots_and_boxes", "checkers_imitation", "solution_strength", "alpha_mini")
VERDICTS = ("in the study", "theirs", "ours", "verdict")
RESULT_PAGES = (
    *sorted((DOCS / "papers").glob("*.md")),
    *(DOCS / f"{page}.md" for page in ("baselines", "boxes_search", "ladder", "search", "solvers", "strength")),
    *(
        DOCS / "training" / f"{page}.md"
        for page in ("alphazero", "alphazero_results", "board_sizes", "ppo", "solved_boards")
    ),
)
DECIMALS = re.compile(r"(?<![\w.,:])\d+\.\d{3,}")
PRINTED = {("matrix_games", "Errors of the study")}  # parts with figures of the JSON of a command
IN_NO_TABLE = {  # by page: figures of a study, bounds, and figures that a sentence derives from others
    "alpha_mini": {"Gamma and lambda: 0.007"},
    "baselines": {"The agents: 0.167"},
    "board_sizes": {"Against alphabeta: 0.435", "Against alphabeta: 0.343"},
    "dots_and_boxes": {"The agent: 0.850", "The agent: 0.950"},
    "matrix_games": {"The tables of the study: 0.031"}
    | {f"Epsilon, temperature and steps: {figure}" for figure in ("0.057", "0.125")},
    "parameter_sharing": {"# Parameter sharing: 0.00001"},
    "ppo": {"How it learns: 0.003"},
    "strength": {f"What the published number counts: {figure}" for figure in ("0.886", "0.892")}
    | {"Without a solution: 0.017"},
    "traditional_board": {"Results: 0.167"},
}


def table(page: Path, *header: str) -> list[list[str]]:
    """The rows of the first table with this header, as the texts of their cells."""
    lines = iter(page.read_text().splitlines())
    assert f"| {' | '.join(header)} |" in lines, f"{name(page)} has no table {header}"  # reads up to the header
    next(lines)
    rows = takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


# -- links, pages and pictures -------------------------------------------------------------------------------------


def test_every_page_is_in_the_nav_and_every_entry_is_a_page() -> None:
    nav = re.search(r"^nav:\n((?: .*\n)+)", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert nav
    entries = re.findall(r"- [^:]+: (\S+)$", nav[1], re.MULTILINE)
    assert sorted(entries) == sorted(str(page.relative_to(DOCS)) for page in PAGES if page != README)


@pytest.mark.parametrize("page", PAGES, ids=name)
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
        assert not anchor or anchor in anchors(there), f"{name(page)} links to {target}, which has no such heading"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {anchor_of(heading) for heading in headings}


@pytest.mark.parametrize("page", [ROOT / "CHANGELOG.md", *PAGES], ids=name)
def test_files_and_commands_of_a_page_are_there(page: Path) -> None:
    """Paths in backticks, and the modules of `python -m`; except those of users, runs and builds."""
    text = page.read_text()
    for path in re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text):
        of_users = path.startswith(("runs/", "site/", "checkpoints/", "mypackage/"))
        assert of_users or (ROOT / path).exists(), f"{name(page)} names {path}"
    for module in re.findall(r"python -m ((?:train|benchmarks|examples)\.\w+(?:\.\w+)*)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), f"{name(page)} runs {module}"


@pytest.mark.parametrize("page", [*map(with_mark, PAGES)], ids=name)
def test_dotted_names_of_a_page_are_there(page: Path) -> None:
    """Names in backticks such as `train.ppo.Config`, with or without arguments, and those of the API's pages."""
    text = page.read_text()
    names = re.findall(r"`((?:jaxgames|train|benchmarks|examples)(?:\.\w+)+)[`(]", text)
    for dotted in names + re.findall(r"^::: (\S+)$", text, re.MULTILINE):
        assert pkgutil.resolve_name(dotted) is not None, f"{name(page)} names {dotted}"


# -- games, learners, studies: one name finds every file -----------------------------------------------------------


def test_every_game_has_all_files_of_its_row_in_contributing() -> None:
    rows = {row[0]: row for row in table(DOCS / "contributing.md", "you add", "its name", "its files")}
    assert list(rows) == ["a game", "a learner", "an adapter", "a study"]
    patterns = re.findall(r"`([^`]*<id>[^`]*)`", rows["a game"][2])
    assert len(patterns) == 4
    for game in jaxgames.list_games():
        for pattern in patterns:
            assert (ROOT / pattern.replace("<id>", game)).exists(), f"{game} has no {pattern}"
        assert game in RECIPES
    for pattern in patterns:
        assert ids_of(pattern) <= {*jaxgames.list_games()} | GEOMETRY, pattern


GEOMETRY = {
    *("demo_game", "ppo_breakdown", "step_by_cells", "throughput_by_batch"),  # of docs/pictures/
    *("boxes_search", "checkers_judged", "chinese_checkers_diamond_moves", "search_by_simulations", "h200_random_play"),
    *("solo_2", "solo_4", *(f"parameter_sharing_end_boards_{runs}" for runs in ("3", "4", "code"))),
}


def ids_of(pattern: str) -> set[str]:
    """The names that files of a pattern have; files that begin with an underscore or end with a theme are left out."""
    folder, _, suffix = pattern.partition("<id>")
    found = {path.name.removesuffix(suffix) for path in (ROOT / folder).glob(f"*{suffix}")}
    return {id for id in found if not re.search(r"^_|_(light|dark)$", id)}


def test_every_learner_adapter_and_study_has_all_its_files() -> None:
    rows = {row[0]: row for row in table(DOCS / "contributing.md", "you add", "its name", "its files")}
    interop = {path.stem for path in (ROOT / "jaxgames" / "interop").glob("[!_]*")}
    interop -= {"layouts", "published", "seat_play"}
    studies = {path.stem for path in (ROOT / "examples" / "papers").glob("[!_]*") if path.is_dir()}
    for kind, names in (("a learner", set(LEARNERS)), ("an adapter", interop), ("a study", studies)):
        patterns = re.findall(r"`([^`]*<\w+>[^`]*)`", rows[kind][2])
        assert len(patterns) == 3, kind
        for each in names:
            for pattern in patterns:
                path = ROOT / re.sub(r"<\w+>", each, pattern)
                there = (path, path.with_suffix(".py"), path.with_name(f"test_{each}.py"))
                assert any(place.exists() for place in there), f"{each} has no {pattern}"


def test_index_of_studies_links_to_every_page() -> None:
    pages = {path.stem for path in (DOCS / "papers").glob("*.md")} - {"index"}
    assert pages == set(re.findall(r"\]\((\w+)\.md", (DOCS / "papers" / "index.md").read_text()))


def test_every_part_of_a_study_has_a_known_verdict_and_a_place() -> None:
    papers = DOCS / "papers"
    known, used = {row[0] for row in table(papers / "index.md", "verdict", "meaning")}, set[str]()
    for study in STUDIES:
        for part, _, ours, verdict in table(papers / f"{study}.md", *VERDICTS):
            assert set(verdict.split(", ")) <= known, f"{part}: {verdict}"
            assert "](" in ours or "`" in ours or verdict == "not here", f"{part} has neither a link nor a command"
            used |= set(verdict.split(", "))
    assert used == known, f"no part of a study is {known - used}"


@pytest.mark.parametrize("study", STUDIES)
def test_figures_of_a_verdict_are_in_the_sections_that_it_links_to(study: str) -> None:
    """Or are rounded from one there: a figure that was left behind when its section changed is mostly found.

    Single digits and words are not looked for.
    """
    page = DOCS / "papers" / f"{study}.md"
    missing: list[str] = []
    for part, _, ours, _ in table(page, *VERDICTS):
        there = set[float]()
        for path, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", ours):
            there |= figures(section((page.parent / path).resolve() if path else page, anchor)).keys()
        for value, text in figures(re.sub(r"`[^`]*`|\]\([^)]*\)", "", ours)).items():
            rounding = 0.5001 * 10 ** -len(text.partition(".")[2])
            if len(text) > 1 and all(abs(each - value) > rounding for each in there):
                missing.append(f"{part}: {text}")
    assert missing == []


@pytest.mark.parametrize("page", RESULT_PAGES, ids=name)
def test_figures_of_a_sentence_are_in_the_tables_of_its_part_or_of_a_page_that_it_links_to(page: Path) -> None:
    """Or are rounded from one there. Looked for are those with three decimals and more; parts have headings with ##."""
    missing: list[str] = []
    for part in re.split(r"^## ", FENCE.sub("", page.read_text()), flags=re.MULTILINE):
        heading, own = part.partition("\n")[0], figures_of_tables(part)
        if (page.stem, heading) in PRINTED:
            continue
        for paragraph in re.sub(r"^\|.*\n", "", part, flags=re.MULTILINE).split("\n\n"):
            links = re.findall(r"\]\(([^)#:]*)[)#]", paragraph.replace("\n", " "))
            pages = [page.parent / link if link else page for link in links]
            linked = (figures_of_tables(each.read_text()) for each in pages if each.suffix == ".md")
            there = own.union(*linked)
            for text in DECIMALS.findall(re.sub(r"`[^`]*`|\]\([^)]*\)", "", paragraph)):
                rounding = 0.5001 * 10 ** -len(text.partition(".")[2])
                if all(abs(each - float(text)) > rounding for each in there):
                    missing.append(f"{heading}: {text}")
    assert set(missing) == IN_NO_TABLE.get(page.stem, set())


def figures_of_tables(text: str) -> set[float]:
    return {float(figure) for row in re.findall(r"^\|.*$", text, re.MULTILINE) for figure in DECIMALS.findall(row)}


def test_every_game_has_its_page_and_its_row_in_the_readme() -> None:
    """The sizes in the row are those of the default parameters."""
    header = ("", "game", "seats", "actions", "observation (bool)", "bytes per board", "checked against")
    rows = table(README, *header, "exact solution")
    assert len(rows) == len(jaxgames.list_games())
    for row, game in zip(rows, jaxgames.list_games(), strict=True):
        env = jaxgames.make(game)
        assert row[1] == f"[`{game}`](docs/games/{game}.md)"
        assert str(env.num_players) in row[2].split(", ")
        assert row[3] == f"{env.num_actions:,}"
        assert re.findall(r"\d+", row[4]) == [str(length) for length in env.observation_shape]
        assert row[5] == str(env.state_bytes)


def test_readme_has_the_speeds_of_the_performance_page() -> None:
    peers = ("Pgx", *(f"OpenSpiel, {way}" for way in ("methods", "buffer", "legal")), "C++ loop")
    header = ("game", "jaxgames, steps/s", *(f"\N{MULTIPLICATION SIGN} {peer}" for peer in peers))
    assert table(README, *header) == table(DOCS / "performance.md", *header)


def test_concepts_list_the_attributes_of_an_env_and_their_values() -> None:
    env = jaxgames.make("minichess")
    rows = table(DOCS / "concepts.md", "attribute", "of `minichess`", "meaning")
    for attribute, value, _ in rows:
        found = getattr(env, attribute.strip("`"))
        shown = f"bool{list(found.shape)}" if isinstance(found, np.ndarray) else repr(found).replace("'", '"')
        assert value == shown, attribute
    assert {row[0].strip("`") for row in rows} == own_game_names("attribute") | {"state_bytes"}


def test_own_game_lists_what_a_game_defines() -> None:
    must = {"id", "num_players", "_winners", "_reason", *jaxgames.Env.__abstractmethods__}
    for kind in ("attribute", "method"):
        for names, default, _ in table(DOCS / "own_game.md", kind, "default", "used by"):
            for each in re.findall(r"`(\w+)[`(]", names):
                assert hasattr(jaxgames.Env, each) or each in ("id", "num_players"), each
                assert (each in must) == default.startswith("must"), each
    supplied = {name for name in vars(jaxgames.Env) if re.match("_[a-z]", name) and not re.match("_(check|abc)_", name)}
    assert own_game_names("method") == supplied
    assert must <= own_game_names("attribute") | own_game_names("method")


def own_game_names(kind: str) -> set[str]:
    rows = table(DOCS / "own_game.md", kind, "default", "used by")
    return {each for row in rows for each in re.findall(r"`(\w+)[`(]", row[0])}


# -- training ------------------------------------------------------------------------------------------------------


def test_tables_of_settings_are_those_of_the_code() -> None:
    pages = {page.name: page.read_text() for page in settings.PAGES}
    assert {found[1] for text in pages.values() for found in settings.TABLE.finditer(text)} == {
        *("train.settings.NetworkConfig", "train.driver.loop.Settings", "train.driver.processes.Processes"),
        *("train.ppo.Config", "train.alphazero.Config", "train.imitation.Config"),
    }
    for page, text in pages.items():
        assert settings.updated(text) == text, f"type python -m docs.make.settings: {page} differs"


@pytest.mark.slow  # traces a run
def test_page_of_runs_lists_exactly_the_metrics_that_learners_share() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    of_games, with_opponents = (
        {metric for metric in traced_metrics(PPO(Config(env=str(env), opponents=opponents))) if is_of_games(metric)}
        for opponents in ((), ("random",))
    )
    player = RandomAgent(env)
    of_evaluations = jax.eval_shape(lambda key: arena.evaluate(env, player, player, key, 1), jax.random.key(0))
    expected = dict.fromkeys(("iteration", "steps", "seconds", "steps_per_second"), "every row")
    expected |= {re.sub(r"seat_\d+$", "seat_<k>", metric): "self-play" for metric in of_games}
    expected |= dict.fromkeys(with_opponents - of_games, "runs with opponents")
    expected |= dict.fromkeys((*of_evaluations, GAMES, OPPONENT), "evaluations")
    expected |= dict.fromkeys(NEXT_RATES, "evaluations that win 95 % of the games against random")
    rows = table(RUNS_PAGE, "metric", "in", "definition")
    assert {row[0].strip("`"): row[1] for row in rows} == expected


def test_page_of_sweeps_lists_exactly_the_numbers_of_ppo() -> None:
    text = (DOCS / "training" / "sweep.md").read_text().partition("(`train.ppo.Numbers`):")[2].partition(". ")[0]
    assert re.findall(r"`(\w+)`", text) == [field.name for field in dataclasses.fields(Numbers)]


@pytest.mark.slow  # traces a run
def test_ppo_page_lists_exactly_its_own_metrics() -> None:
    config = Config(env="dots_and_boxes(rows=1, cols=1)", init_from="runs/imitation", kl_coef=0.1, step_kl_coef=0.2)
    assert own_metrics(PPO_PAGE) == own_metrics_of(PPO(config))


@pytest.mark.slow  # traces a run
def test_alphazero_page_lists_exactly_its_own_metrics() -> None:
    config = alphazero.Config(env="dots_and_boxes(rows=1, cols=1)", num_envs=2, rollout_length=2, simulations=1)
    assert own_metrics(ALPHAZERO_PAGE) == own_metrics_of(alphazero.AlphaZero(config))


@pytest.mark.slow  # traces a run
def test_imitation_page_lists_exactly_its_own_metrics(tmp_path: Path) -> None:
    data = saved(solved_positions(solved_boxes(1, 1)), tmp_path / "table.npz")
    config = imitation.Config(env="dots_and_boxes(rows=1, cols=1)", data=data, batch_size=2)
    assert own_metrics(IMITATION_PAGE) == own_metrics_of(imitation.Imitation(imitation.resolve(config)))


def own_metrics(page: Path) -> set[str]:
    return {name for row in table(page, "metric", "definition") for name in re.findall(r"`(.+?)`", row[0])}


def own_metrics_of(learner: Learner) -> set[str]:
    """The metrics of an iteration without those of its games, which the page of runs defines."""
    return {metric for metric in traced_metrics(learner) if not is_of_games(metric)}


def is_of_games(metric: str) -> bool:
    return re.match("(num_)?episode", metric) is not None


def traced_metrics(learner: Learner) -> dict[str, Any]:
    """The metrics of an iteration, by their names."""
    return jax.eval_shape(learner.iterate, jax.eval_shape(learner.init, jax.random.key(0)), *learner.load_data())[1]


# -- badges and citation -------------------------------------------------------------------------------------------


def test_badges_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = [entry.split()[-1] for entry in project["classifiers"] if "Python :: 3." in entry]
    jax_version = next(entry.removeprefix("jax>=") for entry in project["dependencies"] if entry.startswith("jax>="))
    badges = re.findall(r"!\[(.*?)\]\(https://img.shields.io/badge/(.*?)-\w+\)", README.read_text())
    assert badges == [
        (f"Python {pythons[0]} to {pythons[-1]}", f"python-{pythons[0]}_to_{pythons[-1]}"),
        (f"JAX {jax_version} or newer", f"jax-%E2%89%A5{jax_version}"),
        (f"License {project['license']}", f"license-{project['license'].replace('-', '--')}"),
        (f"Version {jaxgames.__version__}, not released yet", f"version-{jaxgames.__version__},_not_released"),
    ]


def test_citation_has_the_version_and_the_title_of_the_readme() -> None:
    """The file is YAML; its top-level entries are one line each, which needs no YAML reader."""
    entries = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert entries["version"] == jaxgames.__version__
    title = entries["title"].strip('"')
    assert f"title   = {{{title}}}" in README.read_text()
    assert f"version = {{{jaxgames.__version__}}}" in README.read_text()
