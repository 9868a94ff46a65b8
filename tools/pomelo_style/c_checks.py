"""Checks of one C file each."""

import os
import re
from functools import cache

from .tree import Problem, ROOT

MAX_FUNCTION_LINES = 100


@cache
def folder_order():
    """The folders of src/, from the table in ARCHITECTURE.md.

    A file includes headers of its own folder and of folders before it.
    """
    with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as file:
        return re.findall(r"^\| `src/([\w/]+?)/?` \|", file.read(), re.M)


def ordered_folder(path):
    """The folder in the order that a path belongs to: its own, or one above; "" if there is none."""
    folder = os.path.dirname(path.removeprefix("src/"))
    while folder and folder not in folder_order():
        folder = os.path.dirname(folder)
    return folder


def banner(file):
    """The file opens with its name and its purpose."""
    lines = file.lines[:6]
    if not lines[0].startswith("/*---") or file.name not in "".join(lines[1:4]):
        yield Problem(file.path, 1, "no banner comment with the file's name")
        return
    if not any(re.match(r" \*\t +\S", line) for line in lines):
        yield Problem(file.path, 1, "the banner has no line of purpose below the name")


def functions(file):
    """No function is too long; bodies open and close in the first column."""
    start = None
    for number, line in enumerate(file.code.split("\n"), 1):
        if line.rstrip() == "{":
            start = number
        elif line.startswith("}") and start is not None:
            length = number - start + 1
            if length > MAX_FUNCTION_LINES and _is_function(file, start):
                yield Problem(file.path, start, f"a function of {length} lines "
                                                f"(at most {MAX_FUNCTION_LINES})")
            start = None


def _is_function(file, brace_line):
    """Tells a function's body from a type's or a table's."""
    above = file.code.split("\n")[max(brace_line - 12, 0):brace_line - 1]
    while above and not above[-1].strip():
        above.pop()
    return bool(above) and above[-1].rstrip().endswith(")")


def include_order(file, known):
    """Includes go one way through the folders; none hides a header of the server."""
    mine, order = ordered_folder(file.path), folder_order()
    for number, line in enumerate(file.lines, 1):
        found = re.match(r'#include\s+"([^"]+)"', line)
        if not found or f"src/{found[1]}" not in known:
            continue
        other = ordered_folder(found[1])
        if mine and other and order.index(other) > order.index(mine):
            yield Problem(file.path, number, f"{mine}/ may not include {found[1]}: "
                                             f"{other}/ stands below it")


def folder_known(file, known):
    """Every folder below src/ has a place in the order."""
    parts = file.path.split("/")
    if len(parts) > 2 and not ordered_folder(file.path):
        yield Problem(file.path, 0, f"folder src/{parts[1]} is not in ARCHITECTURE.md's table")


def sqlstates(file):
    """Every error has a SQLSTATE."""
    for found in re.finditer(r"\bereport(_domain)?\s*\(", file.code):
        end = _closing(file.code, found.end() - 1)
        call = file.code[found.start():end]
        level = call[call.index("(") + 1:].split(",")[0].strip()
        if level in ("ERROR", "FATAL", "PANIC") and "errcode" not in call:
            yield Problem(file.path, file.text.count("\n", 0, found.start()) + 1,
                          f"ereport({level}) without errcode")


def _closing(code, position):
    depth = 0
    for i in range(position, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return i + 1
    return len(code)


def version_tests(file):
    """Only src/compat knows server versions."""
    if file.path.startswith("src/compat/"):
        return
    for number, line in enumerate(file.code.split("\n"), 1):
        if re.search(r"\bPG_VERSION_NUM\b|\bPG_MAJORVERSION", line):
            yield Problem(file.path, number, "a test of the server's version outside src/compat")


def indentation(file):
    """Tabs indent; a line comment is no part of the style."""
    for number, (line, code) in enumerate(zip(file.lines, file.code.split("\n")), 1):
        if code.startswith(" ") and code.strip():
            yield Problem(file.path, number, "indented with spaces")
        if re.search(r"(^|\s)//(\s|$)", line) and not code.rstrip() == line.rstrip() \
                and "/*" not in line and not line.lstrip().startswith("*") and '"' not in line:
            yield Problem(file.path, number, "a // comment")


DECLARED = re.compile(r"^(?:extern|static inline)\b[^;{}()=]*?\b(\w+)\(")


def contracts(file):
    """A comment precedes each function that a header declares, or the group that it stands in; all know what X_init() is."""
    if file.ext != ".h":
        return
    explained = False
    for number, (line, code) in enumerate(zip(file.lines, file.code.split("\n")), 1):
        if not line.strip():
            explained = False
        elif not code.strip():
            explained = True
        elif (found := DECLARED.match(code)) and not explained and "/*" not in line and not found[1].endswith("_init"):
            yield Problem(file.path, number, f"{found[1]}() has no contract")


COMMENTED = re.compile(r"^/\*\n((?: \*.*\n)+?) \*/\n((?:extern|static|\w+\n\w+\()(?:(?!\n\n|\n\{|\n/\*)[\s\S])*)", re.M)


def named_parameters(file):
    """What a contract explains as 'name: ...' is a parameter of the function."""
    for found in COMMENTED.finditer(file.text):
        words = set(re.findall(r"\w+", found[2]))
        said = re.sub(r"\n? \* ?", " ", found[1])
        for name in re.findall(r"(?:^|[.;] +)\s*\*?([a-z_]\w*):(?= )", said):
            if "(" in found[2] and name not in words | {"false", "true"} and not name.endswith("_hook"):
                yield Problem(file.path, file.text.count("\n", 0, found.start()) + 1, f"explains {name}, which is no parameter")


def wait_events(file):
    """What is waited for has a name."""
    if "PG_WAIT_EXTENSION" in file.code and not file.path.startswith("src/compat/"):
        yield Problem(file.path, file.code.count("\n", 0, file.code.index("PG_WAIT_EXTENSION")) + 1,
                      "PG_WAIT_EXTENSION: use wait_event()")


LIST_LOOP = re.compile(r"^(\t+)foreach\((\w+), .*\)\n\1\{\n(\t+(?:const )?\w+\s+\*?\w+ = lfirst(?:_\w+)?\([\w, ]+\);[\s\S]*?)\n\1\}", re.M)


def list_loops(file):
    """A loop over a List that needs its cell only to get the element declares the element."""
    for found in LIST_LOOP.finditer(file.code):
        if len(re.findall(rf"\b{found[2]}\b", found[3])) == 1:
            yield Problem(file.path, file.code.count("\n", 0, found.start()) + 1, "foreach() of a cell: use foreach_ptr() and the like")


def header_guard(file):
    """A header guards itself with its path."""
    if file.ext != ".h":
        return
    guard = "CITUS_" + re.sub(r"[^A-Z0-9]", "_", file.path[len("src/"):].upper())
    if f"#ifndef {guard}\n#define {guard}\n" not in file.text:
        yield Problem(file.path, 0, f"no include guard {guard}")
