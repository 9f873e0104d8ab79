"""Databases that were put back to older copies, and storage that is full, read-only or busy: on real processes."""
