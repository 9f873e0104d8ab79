"""Rules of the Loop as plain values: states, limits, approvals, events. Imports the standard library only."""
