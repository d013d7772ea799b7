"""Tests run on the CPU unless told otherwise, and keep what XLA compiled from one run to the next."""

import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before jax is imported

import jax

jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parent.parent / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
