"""Validation of request bodies: small ones in the front process, large ones in a process of their own."""
