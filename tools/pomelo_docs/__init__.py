"""The manual: docs/ is Markdown that can be read as it is, build.py makes a web site of it.

pages.py knows what a page consists of; test/cluster/tools/test_manual.py runs the SQL of each page. reference.py makes the
pages of the reference of the catalogs and settings of a cluster.
"""
