"""The values that cross the boundaries between rooms: frozen, and without effects."""
