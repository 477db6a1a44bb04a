"""The client scenario of ../README.md with Django's postgresql backend: cursors and atomic()."""
import json
import os
import sys
import time

import django
from django.conf import settings

settings.configure(
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": os.environ["PGDATABASE"],
            "USER": os.environ["PGUSER"],
            "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "HOST": os.environ["PGHOST"],
            "PORT": os.environ["PGPORT"],
            # libpq reads PGSSLMODE itself
        }
    },
)
django.setup()

from django.db import DatabaseError, connection, transaction  # noqa: E402


def row(sql, args=None):
    with connection.cursor() as cur:
        cur.execute(sql, args)
        rows = cur.fetchall()
    assert len(rows) == 1, rows
    return rows[0]


def failure(sql, args=None):
    try:
        row(sql, args)
    except DatabaseError as e:
        cause = e.__cause__
        return getattr(cause, "sqlstate", None) or cause.pgcode  # psycopg 3, which newer Django prefers; psycopg2
    return "no error"


def letter(value):
    assert type(value) is bool, value
    return "t" if value else "f"


def scenario():
    key = "seat:django"
    acquired, got, token, expires = row("SELECT * FROM raisin_lock_acquire(%s, %s)", [key, 5000])
    assert got == key and type(token) is int and token > 2**50, (got, token)
    assert type(expires) is int and expires > time.time() * 1000, expires
    print("acquire:", letter(acquired))

    acquired, *rest = row("SELECT * FROM raisin_lock_acquire(%s, %s)", [key, 5000])
    assert rest == [key, None, None], rest
    print("refused:", letter(acquired))

    print("renew:", letter(row("SELECT raisin_lock_renew(%s, %s, %s)", [key, token, 5000])[0]))
    print("release:", letter(row("SELECT raisin_lock_release(%s, %s)", [key, token])[0]))
    print("release again:", letter(row("SELECT raisin_lock_release(%s, %s)", [key, token])[0]))

    # Django asks psycopg2 for jsonb as text
    (text,) = row("SELECT raisin_lock_acquire(%s, %s)", ["json:django", 5000])
    grant = json.loads(text)
    assert grant["acquired"] is True and grant["key"] == "json:django", text
    assert grant["token"] > 2**50 and grant["expires_at_ms"] > time.time() * 1000, text
    print("json: acquired")
    print(row("SELECT raisin_lock_acquire(%s, %s)", ["json:django", 5000])[0])

    for n in (2, 2, 2, 1, 1):
        claimed, left = row("SELECT * FROM raisin_inventory_claim(%s, %s, %s)", ["pool:django", n, 5])
        assert type(left) is int, left
        print("claim:", letter(claimed), left)
    print("restock:", row("SELECT raisin_inventory_release(%s, %s)", ["pool:django", 2])[0])

    # psycopg2 has no prepared statements: the same statement, ten times
    ten = "SELECT remaining FROM raisin_inventory_claim(%s, %s, %s)"
    print("prepared:", *[row(ten, ["ten:django", 1, 10])[0] for _ in range(10)])

    with transaction.atomic():
        with transaction.atomic():  # a savepoint that is released
            row("SELECT 1")
        print("error:", failure("SELECT * FROM raisin_lock_acquire(%s, %s)", ["", 5000]))
        print("aborted:", failure("SELECT 1"))
        transaction.set_rollback(True)
    print("alive:", row("SELECT 1")[0])
    assert connection.is_usable()
    print("done")


if sys.argv[1:] == ["anonymous"]:
    print(failure("SELECT * FROM raisin_lock_acquire(%s, %s)", ["seat:django", 5000]))
    print(failure("SELECT * FROM raisin_inventory_claim(%s, %s, %s)", ["pool:django", 1, 5]))
    print("select:", row("SELECT 1")[0])
else:
    scenario()
connection.close()
