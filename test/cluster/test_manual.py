"""The manual: the SQL of its pages does what they show, and all that users can name is described."""

import os
import subprocess

import pytest

from pomelo_cluster import host
from pomelo_docs import pages, reference

RUN = [page for page in pages.names() if pages.blocks(page, pages.text_of(page))]


def run(cluster, block, ports):
    """What psql prints of a block: results, messages and errors."""
    node = cluster.node(block.node)
    done = subprocess.run(node.psql_args("-X", "-q", user=block.role), env={**host.clean_env(), "PGOPTIONS": "-c lc_messages=C"},
                          input=pages.with_ports(block.sql, ports), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


@pytest.mark.parametrize("page", RUN)
def test_sql(make_cluster, page):
    """Each block of a page runs, in order, and prints what the page shows; one that shows nothing raises no error."""
    text = pages.text_of(page)
    cluster = make_cluster(kind=pages.kind_of_cluster(text))
    ports = [node.port for node in cluster.nodes]
    for block in pages.blocks(page, text):
        printed = run(cluster, block, ports)
        where = f"docs/{page}:{block.line}"
        if block.output is None:
            assert "ERROR:" not in printed and "FATAL:" not in printed, f"{where}\n{block.sql}{printed}"
        else:
            lines, shown = pages.as_shown(printed, ports), pages.as_shown(block.output, ports)
            assert pages.ends_with(lines, shown), f"{where}\n{block.sql}{printed}"


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
    for query in (reference.FUNCTIONS, reference.RELATIONS, reference.SETTINGS):
        found = reference.of(node, query)
        assert len(found) > 10
        assert [row["name"] for row in found if not row["description"]] == []
        assert [row["name"] for row in found if f"# {row['name']}\n" not in made] == []
