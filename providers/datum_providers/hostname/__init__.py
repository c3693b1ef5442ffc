"""The `hostname` resource type."""
