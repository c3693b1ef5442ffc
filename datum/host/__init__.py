"""The host itself: walking paths, writing files, running programs. Effects live here."""
