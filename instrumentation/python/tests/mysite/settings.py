"""The smallest Django project."""

SECRET_KEY = "only for this test"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "mysite.urls"
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
