"""Items by name: an SQLite index, how it is made and how it is asked."""
