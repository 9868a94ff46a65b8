"""A ticket system of many projects, with SQLAlchemy and Alembic."""
