"""Real servers and proxies on the loopback for tests of transports; each ends with its `with` block.

nginx and fcgiwrap are unpacked into the cache of the test images when a test first needs them: `debian`.
"""
