"""Decides what to do. Pure: sees no host."""
