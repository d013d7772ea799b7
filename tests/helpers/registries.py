"""Games, agents and networks that a test registers."""

from types import ModuleType

import pytest

from jaxgames._names import Registry


def forget_registrations(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """What the test registers with the module's `register` from now on is forgotten at its end."""
    (registry,) = (value for value in vars(module).values() if isinstance(value, Registry))  # pyright: ignore[reportUnknownVariableType]  # of any kind
    monkeypatch.setattr(registry, "_constructors", dict(vars(registry)["_constructors"]))  # pyright: ignore[reportUnknownArgumentType]  # the same
