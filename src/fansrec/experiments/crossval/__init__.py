"""Cross-validation: every list is tested once, by models that never saw it, and systems are compared list by list."""
