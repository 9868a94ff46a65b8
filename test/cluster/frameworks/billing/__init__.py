"""Bills with surrogate keys, as for one server, with SQLAlchemy and Alembic."""
