"""A statement that runs while the test looks at what it does."""

import threading

import psycopg

from harness import servers


class Statement:
    """A statement in a thread of its own; its cursor or its error is kept.

    With rows, it is a COPY FROM STDIN of them.
    """

    def __init__(self, connection, query, rows=None):
        self.rows = rows
        self.connection = connection
        self.query = query
        self.cursor = self.error = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            if self.rows is not None:
                with self.connection.cursor().copy(self.query) as copy:
                    for row in self.rows:
                        copy.write_row(row)
            elif self.query.startswith("COPY"):
                with self.connection.cursor().copy(self.query) as copy:
                    list(copy)
            else:
                self.cursor = self.connection.execute(self.query)
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
