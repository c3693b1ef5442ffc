"""The composition root: settings, wiring, and the pipeline of one pass."""
