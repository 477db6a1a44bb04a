// The client scenario of ../README.md with node-postgres: bound parameters, a named statement, a cursor.
// NODE_PATH names the node_modules folder that `npm ci` made outside the source tree.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const { Client, types } = require('pg');
const Cursor = require('pg-cursor');

types.setTypeParser(3802, (text) => text); // jsonb as the text that the server sent, so that its spacing shows
const ACQUIRE = 'SELECT * FROM raisin_lock_acquire($1, $2)';
const CLAIM = 'SELECT * FROM raisin_inventory_claim($1, $2, $3)';
const client = new Client(); // everything comes from the PG* variables

async function row(sql, values) {
  const result = await client.query(typeof sql === 'string' ? { text: sql, values } : { ...sql, values });
  assert.strictEqual(result.rows.length, 1);
  return { fields: result.fields.map((f) => f.dataTypeID), ...result.rows[0] };
}

async function scalar(sql, values) {
  const { fields, ...columns } = await row(sql, values);
  return Object.values(columns)[0];
}

async function failure(sql, values) {
  try {
    await client.query(sql, values);
  } catch (e) {
    return e.code;
  }
  return 'no error';
}

function letter(value) {
  assert.strictEqual(typeof value, 'boolean');
  return value ? 't' : 'f';
}

// node-postgres gives a bigint as a string
function bigint(value) {
  assert.match(value, /^\d+$/);
  return BigInt(value);
}

async function scenario() {
  const key = 'seat:node';
  let r = await row(ACQUIRE, [key, 5000]);
  const token = bigint(r.token);
  assert.deepStrictEqual(r.fields, [16, 25, 20, 20]);
  assert.ok(r.key === key && token > 2n ** 50n && bigint(r.expires_at_ms) > BigInt(Date.now()));
  console.log('acquire:', letter(r.acquired));

  r = await row(ACQUIRE, [key, 5000]);
  assert.ok(r.key === key && r.token === null && r.expires_at_ms === null);
  console.log('refused:', letter(r.acquired));

  console.log('renew:', letter(await scalar('SELECT raisin_lock_renew($1, $2, $3)', [key, token, 5000])));
  console.log('release:', letter(await scalar('SELECT raisin_lock_release($1, $2)', [key, token])));
  console.log('release again:', letter(await scalar('SELECT raisin_lock_release($1, $2)', [key, token])));

  const grant = JSON.parse(await scalar('SELECT raisin_lock_acquire($1, $2)', ['json:node', 5000]));
  assert.ok(grant.acquired === true && grant.key === 'json:node' && grant.token > 2 ** 50 && grant.expires_at_ms > Date.now());
  console.log('json: acquired');
  console.log(await scalar('SELECT raisin_lock_acquire($1, $2)', ['json:node', 5000]));

  for (const n of [2, 2, 2, 1]) {
    r = await row(CLAIM, ['pool:node', n, 5]);
    console.log('claim:', letter(r.claimed), String(bigint(r.remaining)));
  }
  // the last claim through a cursor: the portal is read again after its only row, and must not claim again
  const cursor = client.query(new Cursor(CLAIM, ['pool:node', 1, 5]));
  [r] = await cursor.read(1);
  assert.deepStrictEqual(await cursor.read(1), []);
  await cursor.close();
  console.log('claim:', letter(r.claimed), String(bigint(r.remaining)));
  console.log('restock:', await scalar('SELECT raisin_inventory_release($1, $2)', ['pool:node', 2]));

  const ten = { name: 'ten', text: 'SELECT remaining FROM raisin_inventory_claim($1, $2, $3)' };
  const left = [];
  for (let i = 0; i < 10; i++) left.push(await scalar(ten, ['ten:node', 1, 10]));
  console.log('prepared:', left.join(' '));

  await client.query('BEGIN');
  console.log('error:', await failure(ACQUIRE, ['', 5000]));
  console.log('aborted:', await failure('SELECT 1'));
  await client.query('ROLLBACK');
  console.log('alive:', await scalar('SELECT 1'));
  console.log('done');
}

async function anonymous() {
  console.log(await failure({ name: 'acquire', text: ACQUIRE, values: ['seat:node', 5000] }));
  console.log(await failure(CLAIM, ['pool:node', 1, 5]));
  console.log('select:', await scalar('SELECT 1'));
}

async function mixed() {
  for (const sql of [
    'SET client_min_messages = warning', 'DROP SCHEMA IF EXISTS node CASCADE', 'CREATE SCHEMA node', 'SET search_path = node',
    'CREATE TABLE orders (id serial, flight text, buyer text, seats_left bigint)',
    'CREATE TABLE seats (id text PRIMARY KEY, buyer text, fence bigint)', "INSERT INTO seats VALUES ('14A'), ('14B')",
    'CREATE TABLE jobs (id int, state text)', "INSERT INTO jobs VALUES (1, 'ready'), (2, 'done'), (3, 'ready')",
  ]) await client.query(sql);
  const all = async (statement, values) => (await client.query({ ...statement, values })).rows;

  const insert = {
    name: 'insert',
    text: "INSERT INTO orders(flight, buyer, seats_left) SELECT 'AA123', $1, c.remaining FROM raisin_inventory_claim('flight:AA123', 1, 180) c WHERE c.claimed RETURNING id",
  };
  const last = { name: 'last', text: insert.text.replaceAll('AA123', 'AA124').replace('180', '2') };
  for (let i = 0; i < 11; i++) {
    const found = await all(i < 7 ? insert : last, [`buyer ${i}`]);
    if (found.length === 0) {
      console.log('insert: none');
      continue;
    }
    const order = await row('SELECT buyer, seats_left FROM orders WHERE id = $1', [found[0].id]);
    assert.ok(found.length === 1 && order.buyer === `buyer ${i}`);
    console.log('insert:', found[0].id, String(bigint(order.seats_left)));
  }

  const update = {
    name: 'update',
    text: "WITH l AS (SELECT * FROM raisin_lock_acquire('seat:' || $1, 5000)) UPDATE seats SET buyer = $2, fence = l.token FROM l WHERE l.acquired AND seats.id = $1 AND coalesce(seats.fence, 0) < l.token RETURNING seats.id",
  };
  for (const [i, id] of ['14A', '14A', '14B', '14A', '14B', '14A', '14A'].entries()) {
    if (i === 6) console.log('release:', letter(await scalar("SELECT raisin_lock_release('seat:' || id, fence) FROM seats WHERE id = $1", [id])));
    const found = await all(update, [id, `buyer ${i}`]);
    if (found.length === 0) {
      console.log('update: none');
      continue;
    }
    const seat = await row('SELECT buyer, fence FROM seats WHERE id = $1', [found[0].id]);
    assert.ok(found.length === 1 && seat.buyer === `buyer ${i}` && bigint(seat.fence) > 2n ** 50n);
    console.log('update:', found[0].id);
  }

  const jobs = { name: 'rows', text: "SELECT id, raisin_lock_acquire('job:' || id, 60000) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10" };
  for (let i = 0; i < 7; i++) {
    if (i === 6) await client.query("INSERT INTO jobs VALUES (5, 'ready')");
    const found = await all(jobs);
    console.log('rows:', found.map((r) => `${r.id} ${letter(JSON.parse(r.raisin_lock_acquire).acquired)}`).join(', '));
  }

  await client.query('BEGIN');
  await client.query("INSERT INTO orders(flight, buyer) VALUES ('AA125', $1)", ['nobody']);
  const refused = { name: 'refused', text: "INSERT INTO orders(flight, seats_left) SELECT 'AA125', l.token FROM raisin_lock_acquire($1, 5000) l" };
  console.log('error:', await failure({ ...refused, values: [''] }));
  console.log('aborted:', await failure('SELECT 1'));
  await client.query('ROLLBACK');
  console.log('orders:', String(bigint(await scalar('SELECT count(*) FROM orders'))));
  await client.query('DROP SCHEMA node CASCADE');
  console.log('done');
}

async function relations() {
  await client.query("SELECT raisin_lock_acquire('rel:1', 60000), raisin_lock_acquire('rel:2', 60000), raisin_inventory_claim('rel:p', 2, 10)");
  const locks = { name: 'locks', text: 'SELECT key, kind, waiters FROM raisin_locks($1) WHERE holder = $2 ORDER BY key' };
  for (const r of (await client.query({ ...locks, values: ['rel:', client.user] })).rows) {
    console.log('lock:', r.key, r.kind, String(bigint(r.waiters)));
  }
  const since = await scalar('SELECT acquired_at FROM raisin_locks($1)', ['rel:1']);
  assert.ok(since instanceof Date && Math.abs(since - Date.now()) < 600000);
  console.log('since: t');
  const { fields, ...pool } = await row('SELECT * FROM raisin_inventory_pools($1)', ['rel:']);
  console.log('pool:', ...Object.values(pool));
  console.log('count:', String(bigint(await scalar('SELECT count(*) FROM raisin_locks($1)', ['rel:']))));
  console.log('wrapped:', await scalar("SELECT key FROM (SELECT * FROM raisin_locks('rel:')) AS virtual_table ORDER BY key LIMIT 1"));
  console.log('too many:', await failure('SELECT * FROM raisin_locks($1, 1)', ['rel:']));
  console.log('done');
}

// One connection for each line of the input, which has the PG* variables; node-postgres reads no files that they name.
async function logins() {
  for (const [i, line] of fs.readFileSync(0, 'utf8').trimEnd().split('\n').entries()) {
    const pg = Object.fromEntries(line.split('\t').map((v) => [v.slice(0, v.indexOf('=')), v.slice(v.indexOf('=') + 1)]));
    const read = (name) => (pg[name] ? fs.readFileSync(pg[name]) : undefined);
    const login = new Client({
      port: pg.PGPORT,
      user: pg.PGUSER,
      password: pg.PGPASSWORD,
      ssl: pg.PGSSLMODE !== 'disable' && { ca: read('PGSSLROOTCERT'), cert: read('PGSSLCERT'), key: read('PGSSLKEY') },
      enableChannelBinding: pg.PGCHANNELBINDING === 'require',
    });
    let state = 'refused:';
    try {
      await login.connect();
      state = 'connected:';
      const r = await login.query('SELECT acquired FROM raisin_lock_acquire($1, $2)', [`login:${i + 1}`, 5000]);
      console.log(state, letter(r.rows[0].acquired));
    } catch (e) {
      console.log(state, e.code ?? e.message);
    }
    login.end(); // not waited for: a hand-shake that failed has no end
  }
}

async function main() {
  if (process.argv[2] === 'logins') return logins();
  await client.connect();
  await ({ anonymous, mixed, relations }[process.argv[2]] ?? scenario)();
  await client.end();
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
