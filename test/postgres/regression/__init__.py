"""PostgreSQL's regression tests on a cluster, compared with a plain server."""
