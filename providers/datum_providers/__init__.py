"""The resource types that ship with datum, one folder each."""
