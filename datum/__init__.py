"""Datum keeps Linux hosts in the state that a git revision declares."""
