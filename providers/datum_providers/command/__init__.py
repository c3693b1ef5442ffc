"""The `command` resource type."""
