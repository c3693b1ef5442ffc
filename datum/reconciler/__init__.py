"""Does what a plan says, one action at a time, and verifies each by observing again."""
