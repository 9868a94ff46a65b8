"""Runs every check and prints what it found."""

import sys
import time

from . import c_checks, comments, tree_checks
from .tree import files

C_CHECKS = (c_checks.banner, c_checks.functions, c_checks.sqlstates, c_checks.version_tests,
            c_checks.indentation, c_checks.header_guard, c_checks.contracts, c_checks.named_parameters,
            c_checks.wait_events, c_checks.list_loops, comments.comment_width)
C_CHECKS_OF_PATHS = (c_checks.include_order, c_checks.folder_known)
FILE_CHECKS = (tree_checks.file_length, tree_checks.white_space, tree_checks.python_functions)
TREE_CHECKS = (tree_checks.folders, tree_checks.file_tables, tree_checks.names_in_prose, tree_checks.libpq_stays, tree_checks.include_circles,
               tree_checks.static_names, tree_checks.word_orders, tree_checks.shadowed_headers, tree_checks.exported_symbols,
               tree_checks.sql_symbols, tree_checks.node_calls, tree_checks.versions, tree_checks.new_statements, tree_checks.boolean_pairs,
               tree_checks.python_lint)


def main():
    """Exit status 1 when there are problems; arguments limit them to paths that start so. --wrap wraps comments first."""
    prefixes = tuple(argument for argument in sys.argv[1:] if argument != "--wrap")
    started = time.monotonic()
    if "--wrap" in sys.argv:
        comments.wrap(files())
    tree = files()
    found = [p for p in problems(tree) if not prefixes or p.path.startswith(prefixes)]
    for problem in found:
        print(problem)
    seconds = time.monotonic() - started
    verdict = f"{len(found)} problems" if found else "no problems"
    print(f"style: {verdict} in {len(tree)} files ({seconds:.1f} s)")
    return 1 if found else 0


def problems(tree):
    """All problems, file by file, then those of the tree."""
    known = {file.path for file in tree}
    for file in tree:
        for check in FILE_CHECKS:
            yield from check(file)
        if file.is_c and file.path.startswith("src/"):
            for check in C_CHECKS:
                yield from check(file)
            for check in C_CHECKS_OF_PATHS:
                yield from check(file, known)
    for check in TREE_CHECKS:
        yield from check(tree)
