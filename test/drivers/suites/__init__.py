"""Runs the test suites that drivers publish on several kinds of servers; see ../README.md."""
