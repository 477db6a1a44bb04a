"""The client scenario of ../README.md with SQLAlchemy's psycopg2 dialect: table-valued functions,
func.…, text() with bound names, a pool that pings."""
import json
import sys
import time

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

KEY = "seat:sqlalchemy"


def main():
    # everything comes from the PG* variables; jsonb as the text that the server sent, so that its spacing shows
    engine = sa.create_engine("postgresql+psycopg2://", future=True, pool_pre_ping=True, json_deserializer=lambda text: text)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        if sys.argv[1:] == ["anonymous"]:
            print(failure(conn, acquire(KEY)))
            print(failure(conn, claim("pool:sqlalchemy", 1, 5)))
            print("select:", conn.scalar(sa.text("SELECT 1")))
            return
        locks_and_claims(conn)
    with engine.connect() as conn:
        with conn.begin() as tx:
            print("error:", failure(conn, acquire("")))
            print("aborted:", failure(conn, sa.text("SELECT 1")))
            tx.rollback()
        print("alive:", conn.scalar(sa.text("SELECT 1")))
    engine.dispose()
    print("done")


def locks_and_claims(conn):
    acquired, got, token, expires = conn.execute(acquire(KEY)).one()
    assert got == KEY and type(token) is int and token > 2**50, (got, token)
    assert type(expires) is int and expires > time.time() * 1000, expires
    print("acquire:", letter(acquired))

    row = conn.execute(acquire(KEY)).mappings().one()
    assert row["key"] == KEY and row["token"] is None and row["expires_at_ms"] is None, row
    print("refused:", letter(row["acquired"]))

    print("renew:", letter(conn.scalar(sa.select(sa.func.raisin_lock_renew(KEY, token, 5000)))))
    print("release:", letter(conn.scalar(sa.select(sa.func.raisin_lock_release(KEY, token)))))
    print("release again:", letter(conn.scalar(sa.select(sa.func.raisin_lock_release(KEY, token)))))

    scalar = sa.select(sa.func.raisin_lock_acquire("json:sqlalchemy", 5000, type_=JSONB))
    check_grant(conn.scalar(scalar), "json:sqlalchemy")
    print("json: acquired")
    print(conn.scalar(scalar))

    for n in (2, 2, 2, 1, 1):
        claimed, left = conn.execute(claim("pool:sqlalchemy", n, 5)).one()
        assert type(left) is int, left
        print("claim:", letter(claimed), left)
    print("restock:", conn.scalar(sa.select(sa.func.raisin_inventory_release("pool:sqlalchemy", 2))))

    # psycopg2 has no prepared statements: the same compiled statement, ten times
    ten = sa.text("SELECT remaining FROM raisin_inventory_claim(:pool, :n, :capacity)")
    print("prepared:", *[conn.scalar(ten, dict(pool="ten:sqlalchemy", n=1, capacity=10)) for _ in range(10)])


def acquire(key):
    f = sa.func.raisin_lock_acquire(key, 5000).table_valued("acquired", "key", "token", "expires_at_ms")
    return sa.select(f)


def claim(pool, n, capacity):
    f = sa.func.raisin_inventory_claim(pool, n, capacity).table_valued("claimed", "remaining")
    return sa.select(f)


def failure(conn, statement):
    try:
        conn.execute(statement)
    except sa.exc.DBAPIError as e:
        return e.orig.pgcode
    return "no error"


def letter(value):
    assert type(value) is bool, value
    return "t" if value else "f"


def check_grant(text, key):
    grant = json.loads(text)
    assert grant["acquired"] is True and grant["key"] == key, text
    assert grant["token"] > 2**50 and grant["expires_at_ms"] > time.time() * 1000, text


main()
