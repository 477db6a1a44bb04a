"""The client scenario of ../README.md with psycopg 3: extended protocol, prepared statements, a pipeline."""
import json
import sys
import time

import psycopg
from psycopg.types.json import set_json_loads


def main():
    conn = psycopg.connect("", autocommit=True)  # everything comes from the PG* variables
    # jsonb as the text that the server sent, so that its spacing shows
    set_json_loads(lambda data: bytes(data).decode(), conn)

    def row(sql, args=None, **kw):
        rows = conn.execute(sql, args, **kw).fetchall()
        assert len(rows) == 1, rows
        return rows[0]

    def failure(sql, args=None, **kw):
        try:
            conn.execute(sql, args, **kw)
        except psycopg.Error as e:
            return e.sqlstate
        return "no error"

    if sys.argv[1:] == ["anonymous"]:
        print(failure("SELECT * FROM raisin_lock_acquire(%s, %s)", ("seat:psycopg3", 5000), prepare=True))
        print(failure("SELECT * FROM raisin_inventory_claim(%s, %s, %s)", ("pool:psycopg3", 1, 5)))
        print("select:", row("SELECT 1")[0])
        conn.close()
        return

    key = "seat:psycopg3"
    acquired, got, token, expires = row("SELECT * FROM raisin_lock_acquire(%s, %s)", (key, 5000), binary=True)
    assert got == key and type(token) is int and token > 2**50, (got, token)
    assert type(expires) is int and expires > time.time() * 1000, expires
    print("acquire:", letter(acquired))

    cur = conn.execute("SELECT * FROM raisin_lock_acquire(%s, %s)", (key, 5000))
    assert [c.type_code for c in cur.description] == [16, 25, 20, 20], cur.description
    acquired, *rest = cur.fetchone()
    assert rest == [key, None, None], rest
    print("refused:", letter(acquired))

    with conn.pipeline():
        renew = conn.execute("SELECT raisin_lock_renew(%s, %s, %s)", (key, token, 5000))
        release = conn.execute("SELECT raisin_lock_release(%s, %s)", (key, token))
        again = conn.execute("SELECT raisin_lock_release(%s, %s)", (key, token))
    print("renew:", letter(renew.fetchone()[0]))
    print("release:", letter(release.fetchone()[0]))
    print("release again:", letter(again.fetchone()[0]))

    (text,) = row("SELECT raisin_lock_acquire(%s, %s)", ("json:psycopg3", 5000))
    check_grant(text, "json:psycopg3")
    print("json: acquired")
    print(row("SELECT raisin_lock_acquire(%s, %s)", ("json:psycopg3", 5000))[0])

    for n in (2, 2, 2, 1, 1):
        claimed, left = row("SELECT * FROM raisin_inventory_claim(%s, %s, %s)", ("pool:psycopg3", n, 5))
        assert type(left) is int, left
        print("claim:", letter(claimed), left)
    print("restock:", row("SELECT raisin_inventory_release(%s, %s)", ("pool:psycopg3", 2))[0])

    ten = "SELECT remaining FROM raisin_inventory_claim(%s, %s, %s)"
    print("prepared:", *[row(ten, ("ten:psycopg3", 1, 10), prepare=True)[0] for _ in range(10)])

    conn.autocommit = False
    print("error:", failure("SELECT * FROM raisin_lock_acquire(%s, %s)", ("", 5000)))
    print("aborted:", failure("SELECT 1"))
    conn.rollback()
    print("alive:", row("SELECT 1")[0])
    conn.commit()
    conn.close()
    print("done")


def letter(value):
    assert type(value) is bool, value
    return "t" if value else "f"


def check_grant(text, key):
    grant = json.loads(text)
    assert grant["acquired"] is True and grant["key"] == key, text
    assert grant["token"] > 2**50 and grant["expires_at_ms"] > time.time() * 1000, text


main()
