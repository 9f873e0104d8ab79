"""Workspaces of conversations: opened for decisions and calls, uploaded, shown, and dropped in the end (C10)."""
