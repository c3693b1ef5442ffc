"""The `timer` resource type."""
