"""Networks, and how the seats share their parameters."""
