"""The command line: arguments, calls, views, exit codes."""
