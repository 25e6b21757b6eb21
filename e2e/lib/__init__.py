"""What the tests with real agents stand on."""
