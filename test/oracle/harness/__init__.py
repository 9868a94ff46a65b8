"""The oracle: the same SQL on a plain server and on a cluster, compared."""
