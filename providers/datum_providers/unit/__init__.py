"""The `unit` resource type."""
