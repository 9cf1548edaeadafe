"""The HTTP service: a front process that holds the connections, and worker processes that run the models."""
