"""The `authorized_key` resource type."""
