"""The page of the reference about errors: which SQLSTATEs the extension raises, with which messages. It is made of the C sources.

SQL functions raise errors too (RAISE), by names of conditions; these are read from sql/.
"""

import glob
import os
import re
import subprocess

from pomelo_cluster import host

from . import pages

ROOT = os.path.dirname(pages.DOCS)
STATE = re.compile(r"^#define (ERRCODE_\w+) MAKE_SQLSTATE\('(.)','(.)','(.)','(.)','(.)'\)", re.M)
RAISE = re.compile(r"RAISE (?:EXCEPTION '((?:[^']|'')*)'|(\w+)\s+USING\s+MESSAGE = (?:format\()?'((?:[^']|'')*)')(.*?);", re.S)


def sources():
    """The text of all C files."""
    paths = sorted(glob.glob(os.path.join(ROOT, "src", "**", "*.[ch]"), recursive=True))
    return "".join(open(path, encoding="utf-8").read() for path in paths)


def server_codes():
    """The server's SQLSTATEs, by their names in C."""
    folder = subprocess.run([host.pg_config(), "--includedir-server"], capture_output=True, text=True, check=True).stdout.strip()
    with open(os.path.join(folder, "utils", "errcodes.h"), encoding="utf-8") as file:
        return {match[1]: "".join(match.groups()[1:]) for match in STATE.finditer(file.read())}


def own_codes(text):
    """Those that the sources define."""
    return {match[1]: "".join(match.groups()[1:]) for match in STATE.finditer(text)}


def raised(text, codes):
    """The errors of C code, as (SQLSTATE, message), with ".." in the place of what varies."""
    text = re.sub(r'(?<!\\)"\s*"', "", re.sub(r'" INT64_FORMAT', '.."', text))
    found = set()
    for part in text.split("errcode(")[1:]:
        part = re.split(r"ereport\(|^}", part, flags=re.M)[0]
        for name in re.findall(r"ERRCODE_\w+", part.split(")")[0]):
            for message in re.findall(r'errmsg\("((?:[^"\\]|\\.)*)', part):
                found.add((codes[name], re.sub(r"%l*[sdum]", "..", message.replace('\\"', '"'))))
    return found


def raised_by_sql(codes):
    """The errors of SQL functions."""
    by_name = {name[len("ERRCODE_"):].lower(): code for name, code in codes.items()}
    found = set()
    for path in sorted(glob.glob(os.path.join(ROOT, "sql", "*.sql"))):
        with open(path, encoding="utf-8") as file:
            for plain, condition, message, rest in RAISE.findall(file.read()):
                stated = re.search(r"ERRCODE = '(\w+)'", rest)
                name = condition or (stated[1] if stated else "raise_exception")
                if name not in ("NOTICE", "WARNING"):
                    found.add((by_name[name], re.sub(r"%(L|I|s)?", "..", plain or message).replace("''", "'")))
    return found


def page():
    """The page, in Markdown."""
    text = sources()
    codes = {**server_codes(), **own_codes(text)}
    names = {code: name[len("ERRCODE_"):].lower() for name, code in reversed(codes.items())}
    messages = {}
    for code, message in sorted(raised(text, codes) | raised_by_sql(codes)):
        if message.strip(".: "):
            messages.setdefault(code, []).append(message)
    parts = ["# Errors\n", "SQLSTATEs that the extension raises, with their names in PL/pgSQL and their messages; `..` stands for what varies. What "
             "else fails, fails as in PostgreSQL, with its codes. [Troubleshooting](../troubleshooting.md) says what to do. Codes that begin with "
             "`XX` are faults of the server, its files, or the extension.\n"]
    for code, found in sorted(messages.items()):
        parts += [f"## {code}\n", f"`{names[code]}`\n", *(f"- {message}" for message in found), ""]
    return "\n".join(parts)
