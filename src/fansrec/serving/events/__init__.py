"""Events that clients report: what was shown to people, and what they accepted, skipped or played."""
