"""The `check` resource type."""
