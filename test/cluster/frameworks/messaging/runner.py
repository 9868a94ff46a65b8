"""Runs Django's tests in the database that there is: a test database would be no cluster."""

from django.test.runner import DiscoverRunner


class Runner(DiscoverRunner):
    """Each test is a transaction that is rolled back."""

    def setup_databases(self, **kwargs):
        return []

    def teardown_databases(self, old_config, **kwargs):
        pass
