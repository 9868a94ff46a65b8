"""The checks behind `make style`.

A check is a function that yields problems, and one row in the table of run.py:
checks of a C file, of any file, and of the tree as a whole.
"""
