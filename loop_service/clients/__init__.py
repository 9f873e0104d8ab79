"""Clients of the services that the Loop calls."""
