"""Experiments of published studies: a module or a package per study. docs/papers/ has their results."""
