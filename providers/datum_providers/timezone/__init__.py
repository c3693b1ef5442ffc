"""The `timezone` resource type."""
