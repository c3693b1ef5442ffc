"""The `user` resource type."""
