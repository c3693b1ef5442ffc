"""Finds and verifies resource types."""
