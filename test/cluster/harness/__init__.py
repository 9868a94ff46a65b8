"""What the tests of a running cluster share: servers, connections, waiting, crashes."""
