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

    if sys.argv[1:] == ["mixed"]:
        mixed(conn, row, failure)
        conn.close()
        return

    if sys.argv[1:] == ["relations"]:
        relations(conn, row, failure)
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


def mixed(conn, row, failure):
    for sql in (
        "SET client_min_messages = warning",
        "DROP SCHEMA IF EXISTS psycopg3 CASCADE",
        "CREATE SCHEMA psycopg3",
        "SET search_path = psycopg3",
        "CREATE TABLE orders (id serial, flight text, buyer text, seats_left bigint)",
        "CREATE TABLE seats (id text PRIMARY KEY, buyer text, fence bigint)",
        "INSERT INTO seats VALUES ('14A'), ('14B')",
        "CREATE TABLE jobs (id int, state text)",
        "INSERT INTO jobs VALUES (1, 'ready'), (2, 'done'), (3, 'ready')",
    ):
        conn.execute(sql)

    def rows(i, sql, args=None):  # text and binary results in turn
        return conn.execute(sql, args, prepare=True, binary=i % 2 == 1).fetchall()

    insert = (
        "INSERT INTO orders(flight, buyer, seats_left) SELECT 'AA123', %s, c.remaining"
        " FROM raisin_inventory_claim('flight:AA123', 1, 180) c WHERE c.claimed RETURNING id"
    )
    last = insert.replace("AA123", "AA124").replace("180", "2")
    for i in range(11):
        buyer = f"buyer {i}"
        found = rows(i, insert if i < 7 else last, (buyer,))
        if not found:
            print("insert: none")
            continue
        ((order,),) = found
        got, left = row("SELECT buyer, seats_left FROM orders WHERE id = %s", (order,))
        assert got == buyer, got
        print("insert:", order, left)

    update = (
        "WITH l AS (SELECT * FROM raisin_lock_acquire('seat:' || %(id)s, 5000)) UPDATE seats SET buyer = %(buyer)s, fence = l.token"
        " FROM l WHERE l.acquired AND seats.id = %(id)s AND coalesce(seats.fence, 0) < l.token RETURNING seats.id"
    )
    for i, seat in enumerate(("14A", "14A", "14B", "14A", "14B", "14A", "14A")):
        if i == 6:
            print("release:", letter(row("SELECT raisin_lock_release('seat:' || id, fence) FROM seats WHERE id = %s", (seat,))[0]))
        buyer = f"buyer {i}"
        found = rows(i, update, {"id": seat, "buyer": buyer})
        if not found:
            print("update: none")
            continue
        ((seat,),) = found
        got, fence = row("SELECT buyer, fence FROM seats WHERE id = %s", (seat,))
        assert got == buyer and fence > 2**50, (got, fence)
        print("update:", seat)

    for i in range(7):
        if i == 6:
            conn.execute("INSERT INTO jobs VALUES (5, 'ready')")
        found = rows(i, "SELECT id, raisin_lock_acquire('job:' || id, 60000) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10")
        print("rows:", ", ".join(f"{job} {letter(json.loads(text)['acquired'])}" for job, text in found))

    conn.autocommit = False
    conn.execute("INSERT INTO orders(flight, buyer) VALUES ('AA125', %s)", ("nobody",))
    refused = "INSERT INTO orders(flight, seats_left) SELECT 'AA125', l.token FROM raisin_lock_acquire(%s, 5000) l"
    print("error:", failure(refused, ("",), prepare=True))
    print("aborted:", failure("SELECT 1"))
    conn.rollback()
    print("orders:", row("SELECT count(*) FROM orders")[0])
    conn.execute("DROP SCHEMA psycopg3 CASCADE")
    conn.commit()
    print("done")


def relations(conn, row, failure):
    row("SELECT raisin_lock_acquire('rel:1', 60000), raisin_lock_acquire('rel:2', 60000), raisin_inventory_claim('rel:p', 2, 10)")
    held = "SELECT key, kind, waiters FROM raisin_locks(%s) WHERE holder = %s ORDER BY key"
    for binary in (True, False):
        locks = conn.execute(held, ("rel:", conn.info.user), prepare=True, binary=binary).fetchall()
    for key, kind, waiters in locks:
        print("lock:", key, kind, waiters)
    for binary in (True, False):
        (since,) = row("SELECT acquired_at FROM raisin_locks(%s)", ("rel:1",), binary=binary)
        assert abs(since.timestamp() - time.time()) < 600, since
    print("since:", letter(since.tzinfo is not None))
    print("pool:", *row("SELECT * FROM raisin_inventory_pools(%s)", ("rel:",), binary=True))
    print("count:", *row("SELECT count(*) FROM raisin_locks(%s)", ("rel:",)))
    print("wrapped:", *row("SELECT key FROM (SELECT * FROM raisin_locks('rel:')) AS virtual_table ORDER BY key LIMIT 1"))
    print("too many:", failure("SELECT * FROM raisin_locks(%s, 1)", ("rel:",)))
    print("done")


def letter(value):
    assert type(value) is bool, value
    return "t" if value else "f"


def check_grant(text, key):
    grant = json.loads(text)
    assert grant["acquired"] is True and grant["key"] == key, text
    assert grant["token"] > 2**50 and grant["expires_at_ms"] > time.time() * 1000, text


main()
