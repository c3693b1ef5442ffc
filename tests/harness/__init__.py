"""Real Debian hosts for the tests; README.md beside this file says how."""
