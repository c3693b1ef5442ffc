"""The `sysctl` resource type."""
