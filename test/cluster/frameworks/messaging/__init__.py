"""A multi-tenant messaging application, as in figure 1 of the paper on Citus: a Django project of one app."""
