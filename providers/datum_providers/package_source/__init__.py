"""The `package_source` resource type."""
