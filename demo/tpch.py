"""The 22 queries of TPC-H: their texts, and running one on several servers."""

import re
from dataclasses import dataclass
from pathlib import Path

QUERIES = Path(__file__).resolve().parent / "queries"


@dataclass
class Query:
    name: str  # Q01
    title: str  # pricing summary report
    text: str
    sorted_by: tuple  # columns, from 0, that its ORDER BY names


def load_queries(scale):
    """Read queries/NN.sql; the first two comment lines of each give its title and its sort columns."""
    queries = []
    for path in sorted(QUERIES.glob("[0-9][0-9].sql")):
        text = path.read_text()
        title, order = text.splitlines()[:2]
        # Q11's fraction depends on the scale factor, by the specification.
        text = text.replace(":fraction", f"{0.0001 / float(scale):.10f}")
        queries.append(Query(
            name=f"Q{path.stem}",
            title=re.sub(r"^-- Q\d+, ([^(;]*).*", r"\1", title).strip(),
            text=text,
            sorted_by=tuple(int(n) - 1 for n in re.findall(r"\d+", order))))
    return queries
