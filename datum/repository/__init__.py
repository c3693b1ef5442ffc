"""Gives revisions and their trees. The only room that imports pygit2."""
