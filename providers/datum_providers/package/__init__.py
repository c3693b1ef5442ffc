"""The `package` resource type."""
