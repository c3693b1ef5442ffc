"""What the types that keep paths share: names, accounts, modes, places, kinds, texts. Imports no type."""
