"""A statement that runs while the test looks at what it does."""

import threading

import psycopg

from harness import servers


class Statement:
    """A statement in a thread of its own; its error, if any, is kept."""

    def __init__(self, connection, query):
        self.connection = connection
        self.query = query
        self.error = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            if self.query.startswith("COPY"):
                with self.connection.cursor().copy(self.query) as copy:
                    list(copy)
            else:
                self.connection.execute(self.query)
        except psycopg.Error as error:
            self.error = error

    @property
    def running(self):
        return self.thread.is_alive()

    def finish(self):
        """Waits for its end; returns its error or None."""
        self.thread.join(servers.PATIENCE)
        assert not self.thread.is_alive(), f"the statement goes on: {self.query}"
        return self.error
