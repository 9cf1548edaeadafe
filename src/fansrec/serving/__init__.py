"""The HTTP service: a front process that holds connections, and workers that answer."""
