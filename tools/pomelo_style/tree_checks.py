"""Checks of any file, and of the tree and the built library as a whole."""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess

from pomelo_cluster import host

from .tree import Problem, ROOT

MAX_FILE_LINES = 1000
MAX_README_LINES = 150
MAX_FUNCTION_LINES = 100
BAD_FOLDERS = {"utils", "util", "common", "misc", "helpers", "helper"}

# Outputs that tests compare byte for byte.
VERBATIM = (".out", ".diffs", ".spec")


def file_length(file):
    lines = file.text.count("\n")
    if file.is_source and lines >= MAX_FILE_LINES:
        yield Problem(file.path, 0, f"{lines} lines (fewer than {MAX_FILE_LINES})")
    if file.name == "README.md" and file.folder and lines > MAX_README_LINES:
        yield Problem(file.path, 0, f"a folder's README of {lines} lines "
                                    f"(at most {MAX_README_LINES})")


def white_space(file):
    """No trailing white space, no carriage returns, a newline at the end."""
    if file.ext in VERBATIM or "\0" in file.text:
        return
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip():
            yield Problem(file.path, number, "trailing white space")
    if file.text and not file.text.endswith("\n"):
        yield Problem(file.path, 0, "no newline at the end")


def python_lint(tree):
    """What ruff finds by the rules of pyproject.toml, where it is installed."""
    ruff = shutil.which("ruff", path=os.pathsep.join((os.path.join(ROOT, ".venv", "bin"), os.environ.get("PATH", ""))))
    if ruff is None:
        return
    paths = [file.path for file in tree if file.is_python]
    done = subprocess.run([ruff, "check", "--no-cache", "--quiet", "--output-format", "json", "--force-exclude", *paths], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    for found in json.loads(done.stdout):
        yield Problem(os.path.relpath(found["filename"], ROOT), found["location"]["row"], f"{found['code']}: {found['message']}")


def python_functions(file):
    """Python: functions are short, and the module says what it is for."""
    if not file.is_python:
        return
    try:
        module = ast.parse(file.text)
    except SyntaxError as error:
        yield Problem(file.path, error.lineno or 0, f"not valid Python: {error.msg}")
        return
    if module.body and not ast.get_docstring(module):
        yield Problem(file.path, 1, "the module has no docstring")
    for item in ast.walk(module):
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = item.end_lineno - item.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield Problem(file.path, item.lineno, f"a function of {length} lines "
                                                      f"(at most {MAX_FUNCTION_LINES})")


def libpq_stays(files):
    """libpq's types are known below src/remote only, also by way of headers."""
    includes = {file.path: [(number, found[1]) for number, line in enumerate(file.lines, 1)
                            if (found := re.match(r'#include\s+["<]([^">]+)[">]', line))]
                for file in files if file.is_c and file.path.startswith("src/")}
    tainted = {"libpq-fe.h"}
    while more := {path[len("src/"):] for path, found in includes.items() if path.endswith(".h")
                   and any(name in tainted for _, name in found)} - tainted:
        tainted |= more
    for path, found in includes.items():
        for number, name in found:
            if name in tainted and not path.startswith("src/remote/"):
                yield Problem(path, number, f"{name} brings libpq-fe.h, which is for src/remote only")


def include_circles(files):
    """No two files of a folder of src/ need each other, each with its header; a header of types may stand below both."""
    needs, places = {}, {}
    for file in files:
        folder, _, name = file.path.removeprefix("src/").rpartition("/")
        if not file.is_c or not file.path.startswith("src/") or not folder:
            continue
        mine = f"{folder}/{os.path.splitext(name)[0]}"
        for number, line in enumerate(file.lines, 1):
            found = re.match(r'#include\s+"((?:\w+/)+\w+)\.h"', line)
            if found and found[1] != mine and os.path.dirname(found[1]) == folder:
                needs.setdefault(mine, set()).add(found[1])
                places[mine, found[1]] = file.path, number

    def reached(start):
        found, ahead = set(), list(needs.get(start, ()))
        while ahead:
            if (one := ahead.pop()) not in found:
                found.add(one)
                ahead += needs.get(one, ())
        return found

    for (mine, other), (path, number) in sorted(places.items()):
        if mine in reached(other):
            yield Problem(path, number, f"{mine} and {other} include each other, directly or by way of others")


def folders(files):
    """Every folder with source explains itself, and is named for what it holds.

    A folder of mere data (SQL, specs) or tests needs no README of its own when
    the one above has it; a Python package may use its docstring.
    """
    by_folder = {}
    for file in files:
        by_folder.setdefault(file.folder, []).append(file)
    for folder, members in sorted(by_folder.items()):
        for part in folder.split("/"):
            if part in BAD_FOLDERS:
                yield Problem(folder, 0, f"a folder called {part}")
        names = {file.name: file for file in members}
        source = [f for f in members if f.is_source or f.is_python]
        if not source or "README.md" in names:
            continue
        above = f"{os.path.dirname(folder)}/README.md".lstrip("/")
        if all(f.ext in (".sql", ".spec") or f.name.startswith("test_") for f in source) and any(f.path == above for f in files):
            continue
        if "__init__.py" in names and ast.get_docstring(ast.parse(names["__init__.py"].text)):
            continue
        yield Problem(folder or ".", 0, "a folder with source, but without README.md")


def file_tables(files):
    """The README of each folder of src/ (with the texts beside it) names all its files, and no others in its table."""
    folders = {}
    for file in files:
        if file.path.startswith("src/") and file.folder != "src":
            folders.setdefault(file.folder, {})[file.name] = file
    for members in folders.values():
        said = "".join(file.text for file in members.values() if file.ext == ".md")
        readme = members.get("README.md")
        for name, file in members.items():
            alone = file.ext == ".c" or file.ext == ".h" and name[:-2] + ".c" not in members
            if alone and f"`{name}`" not in said:
                yield Problem(readme.path if readme else file.path, 0, f"does not say what {name} is for")
        for row in re.findall(r"^\| (`.*?) \|", readme.text if readme else "", re.M):
            for name in re.findall(r"`(\w+\.[ch])`", row):
                if name not in members:
                    yield Problem(readme.path, 0, f"names {name}, which does not exist")


# An indented line up to its description.
CALL_TREE = re.compile(r"^ {4,}(?=\w)((?:(?!  ).)*)(?:  .*)?$")


def names_in_prose(files):
    """What ARCHITECTURE.md calls by name is there, and so are the functions in READMEs' call trees of src/."""
    words = set()
    for file in files:
        if file.path.startswith(("src/", "sql/")) and file.ext != ".md":
            words |= set(re.findall(r"\w+", file.text))
    for file in files:
        tree = file.ext == ".md" and file.path.startswith("src/")
        if not tree and file.path != "ARCHITECTURE.md":
            continue
        for number, line in enumerate(file.lines, 1):
            if tree:
                named = re.findall(r"`(\w*[a-z]_\w+)\(\)`", line)
                if found := CALL_TREE.match(line):
                    named += re.findall(r"\b([a-z]\w*_\w+)(?![\w.*/-])", found[1])
            else:
                named = re.findall(r"`(\w*[a-z]_\w+)(?:\(\))?`", line)
            for name in named:
                if name not in words and not name.startswith("pg_"):
                    yield Problem(file.path, number, f"names {name}, which does not exist")


STATIC = re.compile(r"^static\b[^;{}()=]*?\b(\w+)\s*(?:\[[^;=]*)?[(=;]", re.M)


def static_names(files):
    """A static function or variable has a name of its own, of several words, which grep and gdb find once."""
    places = {}
    for file in files:
        if file.is_c and file.path.startswith("src/"):
            for found in STATIC.finditer(file.code):
                places.setdefault(found[1], {}).setdefault(file.path, file.code.count("\n", 0, found.start()) + 1)
    for name, where in sorted(places.items()):
        for path, line in sorted(where.items())[1:]:
            yield Problem(path, line, f"static {name} is also in {sorted(where)[0]}")
        if "_" not in name and name != "void":      # a pointer to a function
            path, line = min(where.items())
            yield Problem(path, line, f"static {name} has a name of one word: add its module's noun")


EXTERN = re.compile(r"^extern\b[^;{}()=]*?\b(\w+)\s*(?:\[[^;=]*)?[(;]", re.M)


def word_orders(files):
    """No two names of headers differ only in the order of their words; a_to_b and b_to_a do so for a reason."""
    places = {}
    for file in files:
        if file.ext == ".h" and file.path.startswith("src/"):
            for found in EXTERN.finditer(file.code):
                places[found[1]] = (file.path, file.code.count("\n", 0, found.start()) + 1)
    first = {}
    for name, (path, line) in sorted(places.items()):
        other = first.setdefault(tuple(sorted(name.split("_"))), name)
        if other != name and "_to_" not in name:
            yield Problem(path, line, f"{name} has the same words as {other}: say how they differ")


def shadowed_headers(files):
    """A header of ours doesn't hide one of the server's: both are found as folder/name.h."""
    include = _server_include()
    for file in files:
        if include and file.ext == ".h" and file.path.startswith("src/") \
                and os.path.exists(os.path.join(include, file.path[len("src/"):])):
            yield Problem(file.path, 0, "hides a header of the server with the same name")


def exported_symbols(files):
    """The library exports its SQL functions and the main functions of its processes, and nothing else."""
    library = os.path.join(ROOT, "citus.so")
    if not os.path.exists(library):
        return
    listed = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], check=True,
                            capture_output=True, text=True).stdout
    names = {line.split()[0] for line in listed.splitlines() if line}
    if "_PG_init" not in names:
        yield Problem("citus.so", 0, "does not export _PG_init")
    for name in sorted(names):
        if name in ("Pg_magic_func", "_PG_init", "_PG_output_plugin_init"):
            continue
        if name.startswith("pg_finfo_") or f"pg_finfo_{name}" in names:
            continue
        if name.startswith("citus_") and name.endswith("_main"):
            continue
        yield Problem("citus.so", 0, f"exports {name}")


def sql_symbols(files):
    """Each C function that the install script names, or a test's script, is in the library (src/), and the reverse."""
    in_c = {}
    for file in files:
        if file.ext == ".c" and file.path.startswith("src/"):
            for found in re.finditer(r"^(?:PG_FUNCTION_INFO_V1|SQL_FUNCTION)\((\w+)\)", file.text, re.M):
                in_c[found[1]] = file.path
    in_sql = {}
    for file in files:
        if file.path.startswith("sql/") and file.ext == ".sql":
            for found in re.finditer(r"'MODULE_PATHNAME'\s*,\s*'(\w+)'|"
                                     r"FUNCTION\s+(?:[\w$]+\.)?(\w+)\s*\([^;]*?"
                                     r"'MODULE_PATHNAME'(?!\s*,)", file.text):
                in_sql[found[1] or found[2]] = file.path
        if file.path.startswith("test/") and file.ext == ".sql":
            in_sql.update((name, file.path) for name in re.findall(r"'citus'\s*,\s*'(\w+)'", file.text))
    for name in sorted(in_sql.keys() - in_c.keys()):
        yield Problem(in_sql[name], 0, f"names the C function {name}, which does not exist")
    for name in sorted(in_c.keys() - in_sql.keys()):
        yield Problem(in_c[name], 0, f"SQL-callable {name} is in no fragment of sql/")


def boolean_pairs(files):
    """No call of a function of ours has two constants of type bool side by side: bits of an enum have names."""
    sources = [file for file in files if file.is_c and file.path.startswith("src/")]
    ours = {name for file in sources for name in re.findall(r"^(?:extern\b[^;{}()=]*?\b)?(\w+)\(", file.code, re.M)}
    for file in sources:
        for found in re.finditer(r"\b(?:true|false),\s*(?:true|false)\b", file.code):
            depth, at = 0, found.start()
            while at > 0 and depth >= 0:
                at -= 1
                depth += {")": 1, "}": 1, "(": -1, "{": -1}.get(file.code[at], 0)
            called = re.search(r"(\w+)\s*$", file.code[:at])
            if file.code[at] == "(" and called and called[1] in ours:
                yield Problem(file.path, file.code.count("\n", 0, found.start()) + 1,
                              f"two booleans side by side, for {called[1]}()")


# Statements that are more than a call: rows as values of the table's type, sets of rows in one VALUES.
WRITTEN_CALLS = {"src/planner/modify_text.c", "src/conversion/convert_metadata.c"}


def node_calls(files):
    """A text of C that calls a function of ours names one that there is, and arguments are written by node_call.h."""
    defined = {name for file in files if file.path.startswith("sql/")
               for name in re.findall(r"FUNCTION citus_internal\.(\w+)\(", file.text)}
    for file in files:
        if not file.is_c or not file.path.startswith("src/") or "citus_internal." not in file.text:
            continue
        for found in re.finditer(r"\bcitus_internal\.(\w+)\(([^)\"]*)", file.literals):
            line = file.text.count("\n", 0, found.start()) + 1
            if found[1] not in defined:
                yield Problem(file.path, line, f"calls citus_internal.{found[1]}, which does not exist")
            elif "%" in found[2] and file.path not in WRITTEN_CALLS:
                yield Problem(file.path, line, f"writes arguments of {found[1]}() itself: use remote/node_call.h")


def _server_include():
    try:
        config = host.pg_config()
    except host.ClusterError:
        return None
    return subprocess.run([config, "--includedir-server"], check=True, capture_output=True,
                          text=True).stdout.strip()


def versions(files):
    """Packages have the version of citus.control; the SQL of released versions is as it was."""
    texts = {f.path: f.text for f in files}
    version = re.search(r"^default_version *= *'(.*)'", texts["citus.control"], re.M).group(1)
    packaged = version.replace("-", ".")
    for path, pattern in (("META.json", r'"version": "(.*)",\n   "maintainer"'), ("packaging/pomelo.spec", r"^Version: *(.*)")):
        found = re.search(pattern, texts[path], re.M)
        if not found or found.group(1) != packaged:
            yield Problem(path, 0, f"the version isn't {packaged}, as in citus.control")
    fragments = [f"sql/{name}.sql" for name in texts["sql/order"].split()]
    for line in texts["sql/released"].splitlines():
        released, checksum = line.split()
        made_of = [p for p in texts if re.fullmatch(rf"sql/citus--.*--{re.escape(released)}\.sql", p)] or fragments
        if hashlib.sha256("".join(texts[p] for p in made_of).encode()).hexdigest() != checksum:
            yield Problem("sql/released", 0, f"the SQL of version {released}, which is released, has changed: "
                                             "put the change into the update script of the next version (CONTRIBUTING.md)")


def new_statements(files):
    """Each row of docs/versions.md names its tests."""
    tests = {f.name for f in files if f.path.startswith("test/")}
    for file in (f for f in files if f.path == "docs/versions.md"):
        for number, line in enumerate(file.lines, 1):
            if not line.startswith("| ") or line.startswith("| statement |"):
                continue
            named = re.findall(r"`([\w./]+)`", line.rsplit(" | ", 1)[-1])
            for name in named:
                if not {name, f"{name}.sql"} & tests and not os.path.exists(os.path.join(ROOT, name)):
                    yield Problem(file.path, number, f"there is no test {name}")
            if not named:
                yield Problem(file.path, number, "no test is named")
