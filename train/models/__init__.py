"""Networks, and the sharing of their parameters between seats."""
