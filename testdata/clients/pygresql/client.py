"""The client scenario of ../README.md with PyGreSQL (pgdb): client-side parameters, SQL-level PREPARE. It asks
for the type of every column that it has not seen."""
import json
import sys
import time

import pgdb


def main():
    conn = pgdb.connect()  # everything comes from the PG* variables
    conn.autocommit = True
    # jsonb as the text that the server sent, so that its spacing shows
    conn.type_cache.set_typecast("jsonb", str)
    cur = conn.cursor()

    def row(sql, args=None):
        cur.execute(sql, args)
        rows = cur.fetchall()
        assert len(rows) == 1, rows
        return rows[0]

    def failure(sql, args=None):
        try:
            cur.execute(sql, args)
        except pgdb.Error as e:
            return e.sqlstate
        return "no error"

    if sys.argv[1:] == ["anonymous"]:
        cur.execute("PREPARE acquire AS SELECT * FROM raisin_lock_acquire($1, $2)")
        print(failure("EXECUTE acquire(%s, %s)", ("seat:pygresql", 5000)))
        print(failure("SELECT * FROM raisin_inventory_claim(%s, %s, %s)", ("pool:pygresql", 1, 5)))
        print("select:", row("SELECT 1")[0])
        conn.close()
        return

    key = "seat:pygresql"
    acquired, got, token, expires = row("SELECT * FROM raisin_lock_acquire(%s, %s)", (key, 5000))
    assert [c.type_code.oid for c in cur.description] == [16, 25, 20, 20], cur.description
    assert got == key and type(token) is int and token > 2**50, (got, token)
    assert type(expires) is int and expires > time.time() * 1000, expires
    print("acquire:", letter(acquired))

    acquired, *rest = row("SELECT * FROM raisin_lock_acquire(%s, %s)", (key, 5000))
    assert rest == [key, None, None], rest
    print("refused:", letter(acquired))

    print("renew:", letter(row("SELECT raisin_lock_renew(%s, %s, %s)", (key, token, 5000))[0]))
    print("release:", letter(row("SELECT raisin_lock_release(%s, %s)", (key, token))[0]))
    print("release again:", letter(row("SELECT raisin_lock_release(%s, %s)", (key, token))[0]))

    (text,) = row("SELECT raisin_lock_acquire(%s, %s)", ("json:pygresql", 5000))
    assert cur.description[0].type_code.oid == 3802, cur.description
    check_grant(text, "json:pygresql")
    print("json: acquired")
    print(row("SELECT raisin_lock_acquire(%s, %s)", ("json:pygresql", 5000))[0])

    for n in (2, 2, 2, 1, 1):
        claimed, left = row("SELECT * FROM raisin_inventory_claim(%s, %s, %s)", ("pool:pygresql", n, 5))
        assert type(left) is int, left
        print("claim:", letter(claimed), left)
    print("restock:", row("SELECT raisin_inventory_release(%s, %s)", ("pool:pygresql", 2))[0])

    cur.execute("PREPARE ten AS SELECT remaining FROM raisin_inventory_claim($1, $2, $3)")
    print("prepared:", *[row("EXECUTE ten(%s, %s, %s)", ("ten:pygresql", 1, 10))[0] for _ in range(10)])
    cur.execute("DEALLOCATE ten")

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
