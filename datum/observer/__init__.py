"""Asks providers what is on the host. Reads only."""
