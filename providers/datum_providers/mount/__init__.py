"""The `mount` resource type."""
