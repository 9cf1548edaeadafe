"""Search for items by name: an SQLite index, how it is built and how it is queried."""
