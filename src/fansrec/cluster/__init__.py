"""The same work on many machines, with Ray. Nothing outside this package knows Ray."""
