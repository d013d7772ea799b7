"""Registrations by a fixture of a module. `tests/conftest.py` removes those of a single test."""

from types import ModuleType

import pytest

from jaxgames._names import Registry


def forget_registrations(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Lets `monkeypatch` remove at its end all that the module's `register` adds from now on."""
    (registry,) = (value for value in vars(module).values() if isinstance(value, Registry))  # pyright: ignore[reportUnknownVariableType]  # of any kind
    monkeypatch.setattr(registry, "_constructors", dict(vars(registry)["_constructors"]))  # pyright: ignore[reportUnknownArgumentType]  # the same
