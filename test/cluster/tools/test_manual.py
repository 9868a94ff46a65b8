"""The manual: the SQL of its pages does what they show, and all that users can name is described."""

import glob
import os
import re
import shutil
import subprocess

import pytest

from harness import exporter
from harness.certificates import Authority
from pomelo_cluster import host
from pomelo_docs import errors, pages, reference

RUN = [page for page in pages.names() if pages.blocks(page, pages.text_of(page))]


def run(node, block, ports):
    """What psql prints of a block: results, messages and errors."""
    environment = host.clean_env()
    if block.password is not None:
        environment["PGPASSWORD"] = block.password
    done = subprocess.run(node.psql_args("-X", "-q", "-w", user=block.role), env=environment, text=True,
                          input=pages.as_here(block.text, ports), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def set_file(node, block, ports):
    """Writes a file of the server, and has it used."""
    path = os.path.join(node.data, block.file)
    with open(path, "w" if block.file == "pg_hba.conf" else "a", encoding="utf-8") as file:
        file.write(pages.as_here(block.text, ports))
    node.restart()


def certificates(cluster):
    """Gives each server a certificate that an authority has signed."""
    for node in cluster.nodes[:1]:
        authority = Authority(node.data)
        authority.openssl("req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=root", *authority.new_key("root"),
                          "-out", authority.root)
        authority.issue("server", "127.0.0.1")
    for node in cluster.workers:
        for name in ("root.crt", "server.crt", "server.key"):
            path = shutil.copy2(os.path.join(cluster.coordinator.data, name), node.data)
            host.give(path)


@pytest.mark.some(4)     # each makes a cluster of its own
@pytest.mark.parametrize("page", RUN)
def test_sql(make_cluster, page):
    """Each block of a page runs, in order, and prints what the page shows; one that shows nothing raises no error."""
    text = pages.text_of(page)
    cluster = make_cluster(kind=pages.about(text, "cluster") or "cluster")
    ports = [node.port for node in cluster.nodes]
    if pages.about(text, "certificates") is not None:
        certificates(cluster)
    for block in pages.blocks(page, text):
        for node in cluster.nodes if block.file or block.node == "all" else [cluster.node(block.node)]:
            if block.file:
                set_file(node, block, ports)
                continue
            if block.action:
                getattr(node, block.action)()
                continue
            printed = run(node, block, ports)
            where = f"docs/{page}:{block.line}"
            if block.output is None:
                assert not re.search("^(ERROR|FATAL|psql):", printed, re.M), f"{where}\n{block.text}{printed}"
            else:
                lines, shown = pages.as_shown(printed, ports), pages.as_shown(block.output, ports)
                assert pages.ends_with(lines, shown), f"{where}\n{block.text}{printed}"


def test_links():
    """A link of a page leads to a file; one to a heading, to a heading."""
    for page in pages.names():
        for _, _, target in pages.LINK.findall(pages.text_of(page)):
            path = os.path.join(pages.DOCS, os.path.dirname(page), target.split("#")[0])
            made = "reference/" in os.path.relpath(path, pages.DOCS)
            assert "://" in target or target.startswith("#") or made or os.path.exists(path), f"docs/{page} links to {target}"


def test_everything_is_described(cluster):
    """Each function, view, catalog and setting that users can name has a comment or description, and is in the reference."""
    node = cluster.coordinator
    made = "".join(reference.pages(node).values())
    for name in ("citus_health", "columnar.compact", "columnar.options", "columnar.compression"):
        assert f"# {name}\n" in made
    for query in (reference.FUNCTIONS, reference.RELATIONS, reference.SETTINGS):
        found = reference.of(node, query)
        assert len(found) > 10
        assert [row["name"] for row in found if not row["description"]] == []
        assert [row["name"] for row in found if f"# {row['name']}\n" not in made] == []


INERT = pages.text_of("../src/inert_settings.c")
EXISTS = {
    "function": "SELECT proname FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname IN ('pg_catalog', 'citus')",
    "relation": "SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace",
    "type": "SELECT t.oid::regtype FROM pg_type t",
    "setting": "SELECT name FROM pg_settings",
}
SAID = """
    SELECT p.proname AS name, string_agg(d.description, '; ') AS said
    FROM pg_proc p JOIN pg_description d ON d.classoid = 'pg_proc'::regclass AND d.objoid = p.oid
    WHERE p.pronamespace = 'pg_catalog'::regnamespace GROUP BY 1
"""


def status_of(entry, existing, said, inert):
    """What the server shows of a name: it is missing, refused, without effect, or there."""
    if entry.kind == "setting" and entry.name in inert:
        return "without effect"
    if entry.name not in existing[entry.kind]:
        return "missing"
    comment = said.get(entry.name, "") if entry.kind == "function" else ""
    if comment.startswith("refused"):
        return "refused"
    return "without effect" if comment.startswith(("nothing", "has no effect")) else "there"


def test_compatibility(cluster):
    """Each name of the interface of Citus does what compatibility.md says of it."""
    node = cluster.coordinator
    existing = {kind: set(node.sql(query).split()) for kind, query in EXISTS.items()}
    said = {row["name"]: row["said"] for row in reference.of(node, SAID)}
    inert = {"citus." + name for name in re.findall(r"S\((\w+),", INERT)}
    said["master_update_table_statistics"] = said["citus_update_table_statistics"]
    entries = pages.compatibility()
    assert len(entries) > 300
    assert sorted(inert - {entry.name for entry in entries}) == []
    wrong = {}
    for entry in entries:
        assert entry.status in ("same", "simpler", "without effect", "refused", "missing"), entry
        assert entry.note or entry.status == "same", f"{entry}: why, or what instead"
        status = status_of(entry, existing, said, inert)
        if status != ("there" if entry.status in ("same", "simpler") else entry.status):
            wrong[entry.name] = (entry.status, status)
    assert wrong == {}


def test_statements_of_versions_have_tests():
    """Each line of the tables of versions.md names a script of the oracle, a test of regress, or a file of test/cluster."""
    rows = [line for line in pages.text_of("versions.md").splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith("| statement")]
    assert len(rows) > 30
    for row in rows:
        names = re.findall(r"`([a-z0-9_/.]+)`", row.split("|")[-2])
        folder = "test/regress/sql" if "test/regress" in names else "test/oracle/scripts"
        paths = [f"test/cluster/*/{name}" if name.endswith(".py") else f"{folder}/{name}.sql"
                 for name in names if name != "test/regress"]
        assert paths, row
        for path in paths:
            assert glob.glob(os.path.join(os.path.dirname(pages.DOCS), path)), (path, row)


def test_troubleshooting():
    """Each error that troubleshooting.md names is raised; it has all own SQLSTATEs, all errors of waits and retries, and all wait events."""
    text = errors.sources()
    own = errors.own_codes(text)
    found = errors.raised(text, {**errors.server_codes(), **own})
    page = pages.text_of("troubleshooting.md")
    named = set(re.findall(r"^\| ([0-9A-Z]{5}) \| (.*?) \| .* \|$", page, re.M))
    assert sorted(named - found) == []
    assert sorted(error for error in found - named if error[0] in ("08007", "40001", "40P01", "55P03")) == []
    assert sorted(re.findall(r"^\| (CT\d{3}) \|", page, re.M)) == sorted(own.values())
    events = re.findall(r'= "(Citus\w+)"', pages.text_of("../src/lib/wait_event.c"))
    for other in ("troubleshooting.md", "monitoring.md"):
        rows = re.findall(r"^\| (`Citus.*?) \|", pages.text_of(other), re.M)
        assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(events), other


def test_errors():
    """The reference has each SQLSTATE that the sources name, also those of SQL functions."""
    made = errors.page()
    codes = {**errors.server_codes(), **errors.own_codes(errors.sources())}
    named = {codes[name] for name in re.findall(r"errcode\((ERRCODE_\w+)\)", errors.sources())}
    missing = sorted(code for code in named if f"## {code}\n" not in made)
    assert missing == []
    for message in ("node ..:.. already belongs to a cluster", "the coordinator can't leave a cluster that has other nodes"):
        assert f"\n- {message}\n" in made


def test_performance():
    """The page on performance has all plan nodes and planners that EXPLAIN shows."""
    page, text = pages.text_of("performance.md"), errors.sources()
    shown = re.findall(r'CustomName = "(\w+)"', text) + re.findall(r'DIST_PLAN_\w+:\s+return "([\w ]+)"', text)
    assert len(shown) > 10
    assert sorted(name for name in set(shown) if not re.search(rf"^\| .*`{name}`.* \|", page, re.M)) == []


def test_names_exist(cluster):
    """What pages name of the extension's settings, functions and views exists, and the settings have an effect."""
    node = cluster.coordinator
    existing = {kind: set(node.sql(query).split()) for kind, query in EXISTS.items()}
    existing["setting"] -= {"citus." + name for name in re.findall(r"S\((\w+),", INERT)}
    known = set().union(*existing.values()) | set(node.sql("SELECT nspname FROM pg_namespace").split())
    known |= set(exporter.metrics()) | set(node.sql("SELECT 'columnar.' || proname FROM pg_proc WHERE pronamespace = 'columnar'::regnamespace").split())
    known |= {"columnar.sort_by"}   # an option of tables, and no setting
    known |= {"citus_upgrade"}   # a schema that is there during pg_upgrade
    known |= set(node.sql("SELECT relnamespace::regnamespace || '.' || relname FROM pg_class").split())
    unknown = {}
    for page in pages.names():
        named = re.findall(r"`(?:SET |SELECT )?((?:citus|columnar)\.\w+|(?:citus|pg_dist|create_distributed|undistribute|isolate)_\w+)", pages.text_of(page))
        if page != "compatibility.md" and set(named) - known:
            unknown[page] = sorted(set(named) - known)
    assert unknown == {}
