"""The `link` resource type."""
