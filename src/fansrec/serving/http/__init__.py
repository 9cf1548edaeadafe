"""HTTP: connections and their limits, the middleware that every request passes, keys, problems, logs."""
