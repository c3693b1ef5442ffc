"""The `service` resource type."""
