"""Experiments of published studies, one file per study; docs/papers/ has their results."""
