"""The `tree` resource type."""
