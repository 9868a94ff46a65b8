"""An application with surrogate keys (docs/surrogate-keys.md), as for one server: a Django project of one app."""
