"""The `cron` resource type."""
