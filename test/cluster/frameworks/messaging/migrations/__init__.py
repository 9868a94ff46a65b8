"""The migrations, from the tables of a single server to those of a cluster."""
