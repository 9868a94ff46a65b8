"""A web page that shows a cluster: tools/console.

It only reads, by psql, as the role of its connection string: a member of pg_monitor. Standard library only, and the page
needs nothing from elsewhere. sections.py has the queries, server.py the web server; console.js shows each section as a table
or, with treemap.js and waits.js, as a picture.
"""
