"""Real servers and proxies on the loopback for tests of transports; each ends with its `with` block."""
