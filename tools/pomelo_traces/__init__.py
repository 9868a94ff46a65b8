"""Traces of statements over nodes, as files for other tools."""
