// The client scenario of ../README.md with node-postgres: bound parameters, a named statement, a cursor.
// NODE_PATH names the node_modules folder that `npm ci` made outside the source tree.
'use strict';
const assert = require('node:assert');
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

async function main() {
  await client.connect();
  await (process.argv[2] === 'anonymous' ? anonymous() : scenario());
  await client.end();
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
