"""Turns results into a pass report. Pure."""
