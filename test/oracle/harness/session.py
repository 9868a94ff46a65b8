"""One client connection, driven below psycopg's conveniences, so that a statement
reaches the server exactly as the script has it and its answer is seen whole."""

import select
import struct
import time
from dataclasses import dataclass, field

from psycopg import pq

BINARY_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
COPY_CHUNK = 8192
CANCEL_WAIT = 10
START_WAIT = 30
RETRY_INTERVAL = 0.2
# What a server says while it recovers from a crash.
STARTING = ("starting up", "recovery mode", "not yet accepting", "Connection refused",
            "shutting down")

ERRORS = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE)


@dataclass
class Answer:
    """What a server answered to one execution of a statement."""
    kind: str                   # rows, command, copy, error, late, lost
    tag: str = ""
    columns: list = field(default_factory=list)     # (name, type)
    rows: list = field(default_factory=list)        # tuples of str or None
    sqlstate: str = ""
    message: str = ""
    raw: bytes = b""            # COPY's output


class Timeout(Exception):
    """The statement ran past its limit."""


class Lost(Exception):
    """The connection broke."""


class Session:
    """A connection to a server; opened again when the server drops it.

    `begin` holds the statements that make a fresh connection ready.
    """

    def __init__(self, dsn, begin=(), limit=60):
        self.dsn = dsn
        self.begin = list(begin)
        self.limit = limit
        self.conn = None
        self.names = {}         # statement text -> its name on the server
        self.types = {}         # (oid, typmod) -> name
        self.side = None        # looks up names of types, outside any transaction
        self.count = 0

    def close(self):
        for conn in (self.conn, self.side):
            if conn is not None:
                conn.finish()
        self.conn = self.side = None
        self.names.clear()

    def connect(self):
        """Opens the connection; raises Lost when that or a `begin` statement fails."""
        self.conn = self._open()
        for text in self.begin:
            answer = self._attempt(lambda: self._simple(text, None, None))
            if answer.kind == "error":
                raise Lost(f"{text}: {answer.message}")

    def _open(self):
        deadline = time.monotonic() + START_WAIT
        while True:
            conn = pq.PGconn.connect(self.dsn.encode())
            if conn.status == pq.ConnStatus.OK:
                return conn
            message = conn.error_message.decode(errors="replace").strip()
            conn.finish()
            if time.monotonic() > deadline or not any(s in message for s in STARTING):
                raise Lost(message)
            time.sleep(RETRY_INTERVAL)

    def execute(self, text, protocol="simple", params=None, data=None):
        """Runs one statement and returns its Answer, whatever happens."""
        try:
            if self.conn is None:
                self.connect()
            if protocol == "prepared":
                return self._attempt(lambda: self._prepared(text, params, data))
            return self._attempt(lambda: self._simple(text, params, data))
        except Lost as error:
            self.close()
            return Answer("lost", message=str(error))

    def _attempt(self, action):
        self.deadline = time.monotonic() + self.limit
        try:
            return action()
        except Timeout:
            self.conn.get_cancel().cancel()
            self.deadline = time.monotonic() + CANCEL_WAIT
            try:
                while self._result() is not None:
                    pass
            except Timeout:
                self.close()
            return Answer("late", message=f"no answer after {self.limit} s; cancelled")

    # -- protocols

    def _simple(self, text, params, data):
        if params is None:
            self.conn.send_query(text.encode())
        else:
            self.conn.send_query_params(text.encode(), encoded(params))
        return self._collect(data)

    def _prepared(self, text, params, data):
        name = self.names.get(text)
        if name is None:
            self.count += 1
            name = f"oracle_{self.count}".encode()
            self.conn.send_prepare(name, text.encode())
            answer = self._collect(None)
            if answer.kind == "error":
                return answer
            self.names[text] = name
        self.conn.send_query_prepared(name, encoded(params or []))
        answer = self._collect(data)
        if answer.tag.startswith(("DISCARD ALL", "DEALLOCATE ALL")):
            self.names.clear()
        return answer

    # -- results

    def _wait(self):
        rest = self.deadline - time.monotonic()
        if rest <= 0 or not select.select([self.conn.socket], [], [], rest)[0]:
            raise Timeout

    def _result(self):
        while self.conn.is_busy():
            self._wait()
            try:
                self.conn.consume_input()
            except Exception:
                # A FATAL message may still be waiting to be read.
                if self.conn.is_busy():
                    raise Lost(self._connection_error()) from None
        return self.conn.get_result()

    def _connection_error(self):
        return self.conn.error_message.decode(errors="replace").strip()

    def _collect(self, data):
        """Reads all results of one execution; the last one is the answer."""
        answer = None
        while (result := self._result()) is not None:
            if result.status == pq.ExecStatus.COPY_IN:
                self._copy_in(data)
            elif result.status == pq.ExecStatus.COPY_OUT:
                answer = self._copy_out(bool(result.binary_tuples))
            elif answer is None or answer.kind != "copy" or result.status in ERRORS:
                answer = self._answer(result)
            else:
                answer.tag = text_of(result.command_status)
        if self.conn.status != pq.ConnStatus.OK:
            raise Lost(answer.message if answer else self._connection_error())
        return answer or Answer("command")

    def _answer(self, result):
        if result.status in ERRORS:
            state = result.error_field(pq.DiagnosticField.SQLSTATE)
            primary = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY)
            more = [text_of(result.error_field(f)) for f in
                    (pq.DiagnosticField.MESSAGE_DETAIL, pq.DiagnosticField.CONTEXT)]
            return Answer("error", sqlstate=text_of(state) or "?",
                          message=text_of(primary or result.error_message).strip(),
                          rows=[(m,) for m in more if m])
        if result.status != pq.ExecStatus.TUPLES_OK:
            return Answer("command", tag=text_of(result.command_status))
        columns = [(text_of(result.fname(i)), self._type(result.ftype(i), result.fmod(i)))
                   for i in range(result.nfields)]
        rows = [tuple(text_of(result.get_value(r, c)) for c in range(result.nfields))
                for r in range(result.ntuples)]
        return Answer("rows", text_of(result.command_status), columns, rows)

    def _copy_in(self, data):
        payload = data if isinstance(data, bytes) else (data or "").encode()
        for start in range(0, len(payload), COPY_CHUNK):
            self.conn.put_copy_data(payload[start:start + COPY_CHUNK])
        self.conn.put_copy_end()

    def _copy_out(self, binary):
        messages = []
        while True:
            size, data = self.conn.get_copy_data(1)
            if size < 0:
                break
            if size == 0:
                self._wait()
                self.conn.consume_input()
            else:
                messages.append(bytes(data))
        raw = b"".join(messages)
        if binary:
            rows = binary_rows(raw)
        else:
            rows = [(text_of(m).rstrip("\n"),) for m in messages]
        return Answer("copy", rows=rows, raw=raw)

    def _type(self, oid, typmod):
        key = (oid, typmod)
        if key not in self.types:
            if self.side is None:
                self.side = self._open()
            result = self.side.exec_params(
                b"SELECT pg_catalog.format_type(oid, $2) FROM pg_catalog.pg_type WHERE oid = $1",
                [str(oid).encode(), str(typmod).encode()])
            if result.status != pq.ExecStatus.TUPLES_OK or result.ntuples == 0:
                # Made by a transaction that is still open.
                return "(new type)"
            self.types[key] = text_of(result.get_value(0, 0))
        return self.types[key]


def must_run(session, text, besides=()):
    """Runs what the harness itself needs; only these SQLSTATEs are as good as success."""
    answer = session.execute(text)
    if answer.kind in ("error", "late", "lost") and answer.sqlstate not in besides:
        raise RuntimeError(f"{text}: {answer.message}")


def encoded(params):
    return [None if p is None else p.encode() for p in params]


def text_of(value):
    return None if value is None else bytes(value).decode("utf-8", errors="backslashreplace")


def binary_rows(raw):
    """The tuples in COPY's binary format, each a tuple of hex strings."""
    if not raw.startswith(BINARY_SIGNATURE):
        return [("no binary header",)]
    pos = len(BINARY_SIGNATURE)
    extension, = struct.unpack_from("!i", raw, pos + 4)
    pos += 8 + extension
    rows = []
    while pos + 2 <= len(raw):
        fields, = struct.unpack_from("!h", raw, pos)
        pos += 2
        if fields < 0:
            return rows if pos == len(raw) else rows + [("data after the trailer",)]
        row = []
        for _ in range(fields):
            size, = struct.unpack_from("!i", raw, pos)
            pos += 4
            row.append(None if size < 0 else raw[pos:pos + size].hex())
            pos += max(size, 0)
        rows.append(tuple(row))
    return rows + [("no trailer",)]
