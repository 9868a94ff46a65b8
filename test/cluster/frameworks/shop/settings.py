"""Settings of the project; the database is named by POMELO_HOST, _PORT, _USER and _DBNAME."""

import os

INSTALLED_APPS = ["shop"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ["POMELO_HOST"],
        "PORT": os.environ["POMELO_PORT"],
        "USER": os.environ["POMELO_USER"],
        "NAME": os.environ["POMELO_DBNAME"],
        "OPTIONS": {"options": "-c citus.global_indexes=on"},   # for migrations
    }
}
TEST_RUNNER = "messaging.runner.Runner"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
SECRET_KEY = "for tests only"
