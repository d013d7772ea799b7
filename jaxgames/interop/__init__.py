"""Adapters between jaxgames and other libraries: a module or a package per library, which needs its extra."""
