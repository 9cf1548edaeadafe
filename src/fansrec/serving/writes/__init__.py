"""Writes to a running service: an append-only log, its writer, and how its records reach the models that are served."""
