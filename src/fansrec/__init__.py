"""List continuation in one pass: FANS (WWW 2023), its variants and its rivals."""

__version__ = "0.1.0"
