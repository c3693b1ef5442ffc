"""Reads a fleet repository and resolves what it declares for one host. Pure."""
