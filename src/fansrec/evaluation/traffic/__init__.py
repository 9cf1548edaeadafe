"""Acceptance of suggestions by people, from the events that clients of a service reported."""
