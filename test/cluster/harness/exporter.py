"""The files of packaging/monitoring, and the metrics that they describe."""

import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "packaging", "monitoring")
EXPORTER = os.path.join(FOLDER, "postgres_exporter.yaml")


def text_of(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def groups():
    """What the exporter's file has: for each group of metrics its query, and the columns with their usage."""
    for group in re.split(r"^(?=citus_\w+:)", text_of("postgres_exporter.yaml"), flags=re.M)[1:]:
        query = re.search(r"query: >\n((?:    .*\n)+)", group)[1]
        yield group.split(":")[0], query, dict(re.findall(r"- (\w+): \{usage: (\w+)", group))


def metrics():
    return {f"{name}_{column}": usage for name, _, columns in groups() for column, usage in columns.items() if usage != "LABEL"}
