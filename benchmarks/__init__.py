"""What is claimed about speed, as scripts that anyone can run."""
