"""Adapters between jaxgames and other libraries, one module per library. Each needs the extra of its library."""
