"""What a server said to one statement, and whether two servers said the same.

Values are compared as the text that the server sent, so numeric values must agree to the last digit and to
their scale, and nothing is rounded. TPC-H has no floating-point columns.
"""

import time
from dataclasses import dataclass, field

import psycopg
from psycopg import pq

TIMED_OUT = "57014"


@dataclass
class Answer:
    """A statement's result, or the error it met, and how long that took."""

    columns: tuple = ()  # (name, type oid) of each column
    rows: list = field(default_factory=list)  # tuples of bytes or None
    status: str = ""  # command tag, e.g. "UPDATE 1"
    sqlstate: str = ""  # empty when the statement succeeded
    message: str = ""
    seconds: float = 0.0

    @property
    def failed(self):
        return bool(self.sqlstate)

    def brief(self):
        """Name the outcome in a few words."""
        if self.sqlstate == TIMED_OUT:
            return "timed out"
        if self.failed:
            return f"error {self.sqlstate}: {self.message}"
        return f"{self.status}, {len(self.rows)} rows"


def ask(connection, statement, parameters=None):
    """Run one statement and return its Answer; errors of the server are answers too."""
    started = time.monotonic()
    try:
        cursor = connection.execute(statement, parameters)
    except psycopg.Error as error:
        if connection.closed:
            return Answer(sqlstate=error.sqlstate or "08006", message=first_line(error),
                          seconds=time.monotonic() - started)
        return Answer(sqlstate=error.sqlstate or "XX000", message=first_line(error),
                      seconds=time.monotonic() - started)
    seconds = time.monotonic() - started
    result = cursor.pgresult
    answer = Answer(status=(result.command_status or b"").decode(), seconds=seconds)
    if result.status == pq.ExecStatus.TUPLES_OK:
        answer.columns = tuple((result.fname(i), result.ftype(i)) for i in range(result.nfields))
        answer.rows = [tuple(result.get_value(r, c) for c in range(result.nfields))
                       for r in range(result.ntuples)]
    cursor.close()
    return answer


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def difference(got, expected, sorted_by=()):
    """Return why two answers differ, in a few words, or an empty string.

    The rows must be the same; `sorted_by` names the columns (from 0) whose values must also come in the same
    order. Rows that tie on them may come in any order, as in SQL.
    """
    if got.failed or expected.failed:
        if got.sqlstate == expected.sqlstate:
            return ""
        return f"{got.brief()} (expected {expected.brief()})" if not expected.failed or got.failed \
            else f"no error (expected {expected.brief()})"
    if got.status != expected.status:
        return f"{got.status} (expected {expected.status})"
    if got.columns != expected.columns:
        return "other column names or types"
    if sorted(got.rows, key=sort_key) != sorted(expected.rows, key=sort_key):
        return "other values"
    keys = [[row[c] for c in sorted_by] for row in got.rows]
    if keys != [[row[c] for c in sorted_by] for row in expected.rows]:
        return "other order"
    return ""


def sort_key(row):
    return [(value is None, value or b"") for value in row]
