"""The `directory` resource type."""
