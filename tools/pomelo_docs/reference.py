"""The pages of the reference, made of the catalogs and settings of a running cluster.

What they say of a function, view, table or setting is its comment or description in the server; a test sees that each
has one.
"""

import json

from . import errors

# What users of SQL see: not what implements a type or an operator.
FUNCTIONS = """
    SELECT CASE WHEN p.pronamespace <> 'pg_catalog'::regnamespace THEN p.pronamespace::regnamespace || '.' ELSE '' END || p.proname AS name,
           pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result,
           p.prokind AS kind, d.description, COALESCE(p.proacl::text !~ '[{,]=X', false) AS restricted
    FROM pg_proc p
        JOIN pg_depend m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid AND m.deptype = 'e'
        JOIN pg_extension e ON m.refclassid = 'pg_extension'::regclass AND m.refobjid = e.oid AND e.extname = 'citus'
        LEFT JOIN pg_description d ON d.classoid = 'pg_proc'::regclass AND d.objoid = p.oid AND d.objsubid = 0
    WHERE p.pronamespace <> 'citus_internal'::regnamespace
        AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
        AND NOT EXISTS (SELECT FROM pg_type t
                        WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout))
        AND NOT EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = p.oid)
        AND NOT EXISTS (SELECT FROM pg_amproc a WHERE a.amproc = p.oid)
        AND NOT EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn))
"""

RELATIONS = """
    SELECT c.oid::regclass::text AS name, c.relkind AS kind, d.description,
           (SELECT json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum)
            FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
    FROM pg_class c
        JOIN pg_depend m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid AND m.deptype = 'e'
        JOIN pg_extension e ON m.refclassid = 'pg_extension'::regclass AND m.refobjid = e.oid AND e.extname = 'citus'
        LEFT JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0
    WHERE c.relnamespace <> 'citus_internal'::regnamespace AND c.relkind IN ('r', 'v')
"""

# Those without an effect are not shown by pg_settings.
SETTINGS = """
    SELECT name, vartype AS type, COALESCE(boot_val, '') AS default, COALESCE(unit, '') AS unit, context,
           enumvals, min_val, max_val, short_desc AS description, COALESCE(extra_desc, '') AS more
    FROM pg_settings WHERE name ~ '^(citus|columnar)[.]'
"""

CONTEXTS = {
    "user": "any session", "superuser": "superusers, in any session", "sighup": "`postgresql.conf`, and a reload",
    "postmaster": "`postgresql.conf`, and a restart",
}


def of(node, query, order="name"):
    """The rows of a query, as dictionaries."""
    return json.loads(node.sql(f"SELECT COALESCE(json_agg(q ORDER BY q.{order}), '[]') FROM ({query}) q"))


def sentence(text):
    """A comment, as a sentence; a test sees that there is one."""
    text = text or "Not described"
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def functions_page(node):
    found = of(node, FUNCTIONS, "name, q.arguments")
    useful = [row for row in found if not (row["description"] or "").startswith(("refused", "same as ", "nothing"))]
    others = [row for row in found if row not in useful]

    def listed(rows):
        for row in rows:
            kind = {"p": "procedure ", "a": "aggregate "}.get(row["kind"], "")
            result = f" → `{row['result']}`" if row["result"] and row["result"] != "void" else ""
            rights = " *By default, superusers and roles that are named with it only.*" if row["restricted"] else ""
            yield f"### {row['name']}\n\n{kind}`{row['name']}({row['arguments']})`{result}\n\n" \
                  f"{sentence(row['description'])}{rights}\n"

    return "\n".join(["# Functions\n", "Functions of the schema `pg_catalog`, for which no schema needs to be written, and of those that are named.\n",
                      "## Functions\n", *listed(useful),
                      "## For scripts written for Citus\n",
                      "Older names of functions above, functions that need to do nothing here, and functions that are refused.\n",
                      *listed(others)])


def relations_page(node, title, kind, about):
    parts = [f"# {title}\n", about + "\n"]
    for row in of(node, RELATIONS):
        if row["kind"] == kind:
            parts += [f"## {row['name']}\n", sentence(row["description"]) + "\n", "| column | type |", "|---|---|",
                      *(f"| `{name}` | `{of_type}` |" for name, of_type in row["columns"]), ""]
    return "\n".join(parts)


def default_of(row):
    if row["type"] == "string":
        return f"`'{row['default']}'`"
    unit = {"B": " bytes"}.get(row["unit"], " " + row["unit"] if row["unit"] else "")
    return f"`{row['default']}`{unit}"


def settings_page(node, inert):
    parts = ["# Settings\n", "`SET`, `ALTER ROLE .. SET`, `ALTER DATABASE .. SET` and `postgresql.conf` set them, as any setting of "
             "PostgreSQL. `SET LOCAL` and `SET` in a session count for what other nodes do for it, too.\n"]
    for row in of(node, SETTINGS):
        values = ", ".join(f"`{value}`" for value in row["enumvals"]) if row["enumvals"] else \
            f"{row['type']} from {row['min_val']} to {row['max_val']}" if row["min_val"] is not None else row["type"]
        parts += [f"## {row['name']}\n", f"{row['description']} {row['more']}".strip() + "\n",
                  f"- Default: {default_of(row)}", f"- Values: {values}", f"- Set by: {CONTEXTS.get(row['context'], row['context'])}", ""]
    if inert:
        parts += ["## Settings without effect\n", "Scripts written for Citus may set them: another value than the default is accepted with a "
                  "warning. [Compatibility](../compatibility.md) says why nothing is to be set.\n",
                  *(f"- `{name}`" for name in inert), ""]
    return "\n".join(parts)


def pages(node, inert=()):
    """The pages by their paths in docs/; `inert` names the settings without an effect."""
    return {
        "reference/functions.md": functions_page(node),
        "reference/views.md": relations_page(node, "Views", "v", "Views of the schema `pg_catalog`, for which no schema needs to be written, and of those that are named."),
        "reference/catalogs.md": relations_page(
            node, "Catalogs", "r", "Tables of the schema `pg_catalog`. What is said of tables, shards and nodes is the same on all "
            "nodes. The functions change them; users read them."),
        "reference/settings.md": settings_page(node, inert),
        "reference/errors.md": errors.page(),
    }
