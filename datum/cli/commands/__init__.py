"""The commands: each reads its arguments, makes one call, and shows the answer."""
