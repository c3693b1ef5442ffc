"""Public tools for tests of providers: fakes and the conformance suite."""
