"""A web page that shows a cluster's nodes, tables, statements, waits, moves and health: tools/console.

It only reads, by psql, as the role of its connection string: a member of pg_monitor. Standard library only.
"""
