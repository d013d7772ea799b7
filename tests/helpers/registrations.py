"""Games, agents and networks that tests register."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from jaxgames import registry as game_registry
from jaxgames._specs import Registry


@contextmanager
def temporary_registrations() -> Generator[None]:
    """Removes at its end what was registered meanwhile, and the modules that were imported for it.

    So a text such as "module:name" imports its module again. One can be open inside of another.
    """
    modules, registered = set(sys.modules), list[tuple[Registry[Any], str, Any]]()
    register = Registry[Any].register

    def record(registry: Registry[Any], name: str, constructor: Any) -> None:
        register(registry, name, constructor)
        registered.append((registry, name, constructor))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Registry, "register", record)
        patch.setattr(game_registry, "_records", vars(game_registry)["_records"].copy())
        try:
            yield
        finally:
            for registry, name, constructor in registered:
                vars(registry)["_constructors"].pop(name, None)
                vars(registry)["_module_of"].pop(name, None)
                if constructor.__module__ not in modules:
                    sys.modules.pop(constructor.__module__, None)
