"""Scripts of PostgreSQL's contrib modules: all tests of a module as one script, in a schema of its own."""

import re

__all__ = ["CONTRIB", "MODULES", "contrib_scripts", "module_of", "read_script"]

CONTRIB = "contrib"
# Modules with types, operators, indexes and functions for tables, and whether their tests take the extension as created.
MODULES = {"bloom": False, "btree_gin": True, "btree_gist": True, "citext": False, "cube": False, "dict_int": False, "hstore": False,
           "intarray": False, "isn": False, "lo": False, "ltree": False, "pg_trgm": False, "pgcrypto": True, "seg": False,
           "tablefunc": False, "tsm_system_rows": False, "tsm_system_time": False, "unaccent": False, "xml2": False}
# Tests that create the extension for others, are about another encoding, or about a library without a feature.
LEFT_OUT = re.compile(r"^(init|install_.*|.*utf8.*|.*-DISABLED)$")
PREFIX = "contrib_"


def contrib_scripts(source):
    """Names of the scripts that a source tree has."""
    return [PREFIX + module for module in sorted(MODULES) if (source / CONTRIB / module / "sql").is_dir()]


def module_of(test):
    """The folder of a script's module in a source tree, or in a copy of its modules."""
    return f"{CONTRIB}/{test.removeprefix(PREFIX)}"


def read_script(folder, test):
    """The text of a script, one of the suite or of a module; folder: where both are."""
    if not test.startswith(PREFIX):
        return read(folder / "sql" / f"{test}.sql")
    place = folder / module_of(test)
    created = f"CREATE EXTENSION {place.name};\n" if MODULES[place.name] else ""
    tests = [path for path in sorted((place / "sql").glob("*.sql")) if not LEFT_OUT.match(path.stem)]
    text = "\n".join(read(path) for path in tests).replace("'data/", f"'{place}/data/")
    return f"CREATE SCHEMA {test};\nSET search_path = {test}, public;\n{created}{text}"


def read(path):
    return path.read_text(encoding="utf-8", errors="surrogateescape")
