"""The processes behind the HTTP front: the request queue, the supervisor, model hosts, workers and their channels."""
