"""What a page of the manual consists of.

A block ```sql is run by the tests, in a psql of its own on the coordinator. A block ```text after it shows what it
prints, or the end of that; a line ".." stands for any lines. Other blocks are not run. A comment in front of a block,
which readers don't see, changes that:

    <!-- run: on worker1 as app password secret -->     the node, or "all", the role, and its password
    <!-- run: not -->                                   an SQL block that only is to be read
    <!-- file: pg_hba.conf -->                          a file of each node, which then reads it
    <!-- file: postgresql.conf -->                      what is added to that file of each node, which is then restarted

A comment `<!-- do: stop worker1 -->` stops, kills or starts a server there, as the text says. Comments on the page as a whole: `<!-- cluster: bare -->` for servers that are not nodes of each other yet,
`<!-- password: secret -->` of the superuser, `<!-- certificates -->` for root.crt, server.crt and server.key in the
data directory of each server.

The addresses of the nodes are written 127.0.0.1:9700 (the coordinator), 9701 .., as `tools/cluster` makes them, or
db0.example:5432, db1.example:5432 ..; their network 10.0.0.0/24.
"""

import os
import re
from dataclasses import dataclass

DOCS = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "docs"))
FIRST_PORT = 9700
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
DO = re.compile(r"<!-- do: (stop|kill|start) (\w+) -->")
DIRECTIVE = re.compile(r"<!-- (run|file): (.*?) -->\s*\Z")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


@dataclass
class Block:
    """SQL to run, and what it prints, if that is shown; or the contents of a file, or an action on a server."""
    page: str
    line: int
    text: str
    node: str = "coordinator"
    role: str = "postgres"
    password: str = None
    file: str = None
    action: str = None
    output: str = None


def names(folder=DOCS):
    """The pages, as paths below the folder."""
    found = []
    for parent, _, files in os.walk(folder):
        found += [os.path.relpath(os.path.join(parent, name), folder) for name in files if name.endswith(".md")]
    return sorted(found)


def text_of(page, folder=DOCS):
    with open(os.path.join(folder, page), encoding="utf-8") as file:
        return file.read()


def block_of(page, fence, text):
    """The block that a fence makes with the comment in front of it, or None."""
    directive = DIRECTIVE.search(text[:fence.start()])
    made = Block(page, text.count("\n", 0, fence.start()) + 1, fence[2])
    if directive and directive[1] == "file":
        made.file = directive[2]
        return made
    if fence[1] != "sql" or (directive and directive[2] == "not"):
        return None
    words = directive[2].split() if directive else []
    options = dict(zip(words[::2], words[1::2]))
    made.node = options.pop("on", made.node)
    made.role = options.pop("as", made.role)
    made.password = options.pop("password", about(text, "password") if made.role == "postgres" else None)
    if options or len(words) % 2:
        raise ValueError(f"{page}: what does {directive[0].strip()} mean?")
    return made


def blocks(page, text):
    """The blocks to run, in order, and actions as blocks without a text."""
    found, last, end = [], None, 0
    for fence in FENCED.finditer(text):
        if fence[1] == "text" and last is not None and text[end:fence.start()].strip() == "":
            last.output, last = fence[2], None
            continue
        last, end = block_of(page, fence, text), fence.end()
        if last is not None:
            found.append(last)
    for action in DO.finditer(text):
        found.append(Block(page, text.count("\n", 0, action.start()) + 1, "", action[2], action=action[1]))
    return sorted(found, key=lambda block: block.line)


def about(text, what):
    """What a comment says of the page as a whole, or None; "" if it only is there."""
    found = re.search(rf"<!-- {what}(?:: (\S+))? -->", text)
    return found and (found[1] or "")


def as_here(text, ports):
    """A text with the nodes' real addresses."""
    for number, port in enumerate(ports):
        text = re.sub(rf"\bdb{number}\.example', 5432\b", f"127.0.0.1', {port}", text)
        text = re.sub(rf"\bdb{number}\.example:5432\b", f"127.0.0.1:{port}", text)
        text = re.sub(rf"\b{FIRST_PORT + number}\b", str(port), text)
    return text.replace("10.0.0.0/24", "127.0.0.0/8")


def as_shown(text, ports):
    """The lines of an output, in a form in which those of any cluster are the same: ports, and the widths of columns."""
    for number, port in enumerate(ports):
        text = re.sub(rf"\b{port}\b", str(FIRST_PORT + number), text)
    lines = [re.sub(r"-{2,}", "-", re.sub(r"\s+", " ", line)).strip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def ends_with(lines, shown):
    """Whether an output ends with the lines that a page shows, some of which may stand for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == ".." else re.escape(line) + r"\n" for line in shown)
    return re.search(rf"^{pattern}\Z", "".join(line + "\n" for line in lines), re.M) is not None


def is_inside(page, target):
    """Whether a link of a page leads to a place within docs/."""
    return not os.path.normpath(os.path.join(os.path.dirname(page), target)).startswith("..")


def for_site(page, text):
    """A page for the web site: links to files of the repository outside docs/ become their names."""
    def link(found):
        if "://" in found[3] or is_inside(page, found[3]):
            return found[0]
        path = os.path.normpath(os.path.join("docs", os.path.dirname(page), found[3].split("#")[0]))
        return found[2] if found[2].strip("`").rstrip("/") == path.rstrip("/") else f"{found[2]} (`{path}`)"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


@dataclass
class Name:
    """A name of the interface of Citus, and what compatibility.md says that it does here."""
    name: str
    kind: str       # the heading above it
    status: str
    note: str


def compatibility():
    """The rows of the tables of compatibility.md."""
    found, heading = [], None
    for line in text_of("compatibility.md").splitlines():
        row = re.match(r"\| `([^`]+)` \| ([a-z ]+) \| (.*?) ?\|$", line)
        if line.startswith("## "):
            heading = line[3:]
        elif row:
            kind = "function" if row[1].endswith("()") else {"Settings": "setting", "Types": "type"}.get(heading, "relation")
            found.append(Name(row[1].removesuffix("()"), kind, row[2], row[3]))
    return found
