"""The web server: the page with its files, and `/data/SECTION`, what a section shows, as JSON.

The database is asked once for all readers in SECONDS, one statement a section at a time.
"""

import argparse
import ipaddress
import json
import os
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import sections

SECONDS = 2
FOLDER = os.path.dirname(os.path.realpath(__file__))
FILES = {"/": ("page.html", "text/html"), "/console.css": ("console.css", "text/css"),
         **{f"/{name}": (name, "text/javascript") for name in ("console.js", "treemap.js", "waits.js")}}
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
           "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:"}


class Section:
    """What the database has said last about a section."""

    def __init__(self, dsn, name):
        self.dsn, self.name, self.lock, self.taken, self.text = dsn, name, threading.Lock(), 0.0, b""

    def data(self):
        with self.lock:
            if time.monotonic() - self.taken > SECONDS:
                found = sections.ask(self.dsn, self.name)
                self.taken = time.monotonic()
                self.text = json.dumps({**found, "at": self.taken}).encode()
            return self.text


def is_allowed(name, names):
    """Whether a request may name the server so: by an address, or as its operator has said.

    Otherwise a page from elsewhere whose name's address changes to this one could read what the browser may read here.
    """
    name = urllib.parse.urlsplit(f"//{name}").hostname or ""
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return name in names


def handler(shown, names):
    """The class that answers requests: `shown` has the sections, `names` those of the server."""
    class Handler(BaseHTTPRequestHandler):
        """Only GET, and a few addresses."""

        def do_GET(self):
            section = shown.get(self.path.removeprefix("/data/"))
            if not is_allowed(self.headers.get("Host", ""), names):
                self.answer(403, "text/plain", b"this name is not one of --name\n")
            elif self.path in FILES:
                file_name, kind = FILES[self.path]
                with open(os.path.join(FOLDER, file_name), "rb") as file:
                    self.answer(200, kind, file.read())
            elif section and self.path.startswith("/data/"):
                self.answer(200, "application/json", section.data())
            else:
                self.answer(404, "text/plain", b"not found\n")

        def answer(self, status, kind, body):
            self.send_response(status)
            for name, value in (("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))), *HEADERS.items()):
                self.send_header(name, value)
            try:
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:     # the reader has gone
                self.close_connection = True

        def log_message(self, *_):
            pass

    return Handler


def main(argv=None):
    parser = argparse.ArgumentParser(prog="tools/console", description="A web page that shows a cluster; it only reads.")
    parser.add_argument("dsn", help="connection string of any node, for a member of pg_monitor")
    parser.add_argument("--listen", default="127.0.0.1", help="address (%(default)s): whoever reaches it sees all statements")
    parser.add_argument("--port", type=int, default=9780)
    parser.add_argument("--name", action="append", default=["localhost"], help="a name by which browsers may ask for it, besides addresses and localhost")
    args = parser.parse_args(argv)
    shown = {name: Section(args.dsn, name) for name in sections.NAMES}
    server = ThreadingHTTPServer((args.listen, args.port), handler(shown, args.name))
    print(f"http://{args.listen}:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0
