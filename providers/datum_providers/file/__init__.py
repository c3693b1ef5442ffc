"""The `file` resource type."""
