"""Commands that measure every figure about speed in the documentation."""
