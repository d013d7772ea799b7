"""Tests run on the CPU unless told otherwise, and keep what XLA compiled from one run to the next."""

import gc
import os
import re
import resource
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before jax is imported
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")  # programs without lines of source are lowered faster

import jax

from jaxgames._platforms import VARIABLE
from jaxgames.games.dots_and_boxes import player as boxes_player
from jaxgames.solvers.alphabeta import deepening
from tests.helpers.registrations import temporary_registrations

jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parent.parent / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)  # both workers compile many small programs

# Tracing makes many objects and few cycles. With the default thresholds the searches for cycles take 7 % of the CPU.
gc.set_threshold(200_000, 20, 50)

QUICK = ["--xla_backend_optimization_level=0"]
if jax.__version_info__ < (0, 11):  # XLA ends a process with a flag that it lacks, and later versions lack the first
    QUICK.extend(["--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1"])


def pytest_addoption(parser: pytest.Parser) -> None:
    quick = "have XLA compile slower programs in a third of the time, in children too"
    parser.addoption("--quick", action="store_true", help=quick)
    parser.addoption("--cpu", action="store_true", help="print the CPU seconds of each folder of tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        flags = os.environ.get("XLA_FLAGS", "")
        if QUICK[0] not in flags:
            os.environ["XLA_FLAGS"] = " ".join([flags, *QUICK]).strip()  # before any test module has JAX start
        os.environ.setdefault(VARIABLE, "cpu")  # the other forms would be traced, and not run; see `every_form`
    if config.getoption("--cpu") or os.environ.get("PYTEST_XDIST_WORKER"):
        config.pluginmanager.register(CpuOfTests())


@pytest.fixture
def every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the forms of all platforms traced, also with --quick."""
    monkeypatch.setenv(VARIABLE, "auto")


@pytest.fixture(autouse=True)
def searches_in_plain_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has agents that search on the host run as plain Python in fast tests: numba compiles each of them for seconds."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(deepening, "HAS_NUMBA", False)
        monkeypatch.setattr(boxes_player, "HAS_NUMBA", False)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Takes back what a module registers when it is imported, such as the games of an experiment.

    So the lists of games that the next module makes its tests from do not have them.
    """
    with temporary_registrations():
        return (yield)


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests live to the end, so no search for cycles needs to visit them


def pytest_sessionfinish() -> None:
    gc.freeze()  # the searches at the end of the process would visit all compiled programs


def cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of its children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class CpuOfTests:
    """Adds to each report the CPU seconds since the report before it, and sums them by folder in the end."""

    def __init__(self) -> None:
        self._last = 0.0  # so the first report has the imports of all test modules

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self._last = self._last, cpu_seconds()
        vars(report)["cpu"] = self._last - before  # pytest-xdist sends all attributes of a report
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        cpu, tests = defaultdict[str, float](float), defaultdict[str, int](int)
        for report in (each for of_outcome in terminalreporter.stats.values() for each in of_outcome):
            if isinstance(report, pytest.TestReport):
                folder = str(Path(report.nodeid.partition("::")[0]).parent)
                cpu[folder] += vars(report).get("cpu", 0.0)
                tests[folder] += report.when == "call"
        terminalreporter.section("CPU seconds by folder")
        for folder in sorted(cpu, key=lambda name: -cpu[name]):
            terminalreporter.line(f"{cpu[folder]:7.1f}  {tests[folder]:5} tests  {folder}")
        terminalreporter.line(f"{sum(cpu.values()):7.1f}  {sum(tests.values()):5} tests  together, with imports")


def group_of(nodeid: str) -> str:
    """Returns the folder of a test. Tests of `tests/contract/` are in the group of their game, the first parameter."""
    path, _, name = nodeid.partition("::")
    folder = Path(path).parent.name
    game = re.match(r"\w+\[(\w+)", name)
    return game[1] if folder == "contract" and game else folder


class ByGroup(LoadScopeScheduling):
    """Gives each group to one worker (`--dist loadgroup`), which compiles its programs once.

    pytest-xdist 3.8 has a mark for this, `xdist_group`, which changes the ids of tests. pytest 9.2 does not allow that.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)  # `-p no:xdist` has no such hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return ByGroup(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Forgets the compiled programs of a group of tests after its last one, if XLA optimises them.

    Otherwise all tests together have more of them than Linux has memory maps for one process (65,530), and XLA crashes.
    """
    is_last = nextitem is not None and group_of(item.nodeid) != group_of(nextitem.nodeid)
    if is_last and not item.config.getoption("--quick"):
        jax.clear_caches()


@pytest.fixture(autouse=True)
def forget_registrations() -> Iterator[None]:
    """Lets a test find only the games, agents, networks and bots of jaxgames and of its module's fixtures."""
    with temporary_registrations():
        yield
