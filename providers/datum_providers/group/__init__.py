"""The `group` resource type."""
