"""Decides whether two answers agree, and says how they don't."""

from collections import Counter

from .generate import PREFIX

SHOWN_ROWS = 6
SHOWN_WIDTH = 160


def difference(plain, cluster, statement, undone=False):
    """None when the answers agree, else what differs, in a few words; undone: a transaction of the script was, so its rows are others."""
    if statement.refused:
        if cluster.kind == "error" and cluster.sqlstate == statement.refused:
            return None
        return f"the cluster should fail with {statement.refused}"
    if plain.kind == "late" and statement.script.startswith(PREFIX) and cluster.tag.startswith("SELECT"):
        return None             # a random query that is too much for one server: there is nothing to compare
    if plain.kind != cluster.kind:
        return "one side failed" if "error" in (plain.kind, cluster.kind) else "kind of answer"
    if statement.fails and plain.sqlstate != statement.fails and not undone:
        return f"both should fail with {statement.fails}"
    if plain.kind == "error" and must_succeed(statement):
        return "setup fails on both sides"
    if plain.kind == "error":
        return None if plain.sqlstate == cluster.sqlstate else "error class"
    if plain.kind == "late":
        return "setup takes too long on both sides" if must_succeed(statement) else None
    if plain.kind == "lost":
        return "connection lost"
    if plain.columns != cluster.columns:
        return "columns"
    if plain.tag != cluster.tag:
        return "command tag"
    if statement.ordered or "header" in statement.words:
        if plain.rows == cluster.rows:
            return None
        if statement.ordered:
            return "order of rows" if same_multiset(plain, cluster) else "rows"
        if plain.rows[:1] != cluster.rows[:1]:
            return "header"
    return None if same_multiset(plain, cluster) else "rows"


def must_succeed(statement):
    """Whether the script means nothing without the statement: its setup, and its tables wherever they are made."""
    return not statement.fails and (statement.setup or statement.makes_placed)


def same_multiset(plain, cluster):
    return Counter(plain.rows) == Counter(cluster.rows)


def describe(answer, other=None):
    """Lines that show an answer; rows that the other one lacks come first."""
    if answer.kind == "error":
        lines = [f"ERROR {answer.sqlstate}: {answer.message}"]
        return lines + [shorten(row[0].replace("\n", " | ")) for row in answer.rows]
    if answer.kind == "late":
        return [answer.message]
    if answer.kind == "lost":
        return [f"connection lost: {answer.message}"]
    if answer.kind == "command":
        return [answer.tag]
    lines = [f"{answer.tag or answer.kind}, {len(answer.rows)} rows"]
    if other is None or other.kind not in ("rows", "copy"):
        return lines + list(map(show_row, answer.rows[:SHOWN_ROWS]))
    if answer.columns != other.columns:
        columns = ", ".join(f"{n} {t}" for n, t in answer.columns)
        return lines + [shorten(f"columns: {columns}")]
    extra = list((Counter(answer.rows) - Counter(other.rows)).elements())
    if not extra and answer.rows != other.rows:
        return lines + list(map(show_row, answer.rows[:SHOWN_ROWS]))
    lines += ["only here: " + show_row(row) for row in extra[:SHOWN_ROWS]]
    if len(extra) > SHOWN_ROWS:
        lines.append(f"and {len(extra) - SHOWN_ROWS} more")
    return lines


def show_row(row):
    return shorten("(" + ", ".join("NULL" if v is None else v for v in row) + ")")


def shorten(text):
    return text if len(text) <= SHOWN_WIDTH else text[:SHOWN_WIDTH - 4] + " ..."
