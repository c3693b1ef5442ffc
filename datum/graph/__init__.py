"""Builds the resource graph. The only room that imports networkx. Pure."""
