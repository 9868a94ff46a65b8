// node-postgres, with statements that are named, that are not, and without parameters: node_postgres.js PORT SSLMODE
const assert = require('assert');
const { Client, Pool } = require('pg');

const where = {
  host: '127.0.0.1', port: Number(process.argv[2]), user: 'postgres', database: 'postgres',
  ssl: process.argv[3] === 'require' ? { rejectUnauthorized: false } : false,
};
const KEYS = 60;

async function work(pool) {
  for (let key = 1; key <= KEYS; key++) {
    const read = await pool.query('SELECT name FROM keyed WHERE id = $1', [key]);
    assert.equal(read.rows[0].name, 'n' + key);
    const written = await pool.query({ name: 'write', text: 'UPDATE keyed SET amount = amount + 1 WHERE id = $1', values: [key] });
    assert.equal(written.rowCount, 1);
  }
}

async function blocks(client) {
  await client.query('BEGIN');
  await client.query('UPDATE keyed SET amount = 0 WHERE id = $1', [3]);
  await client.query('ROLLBACK');
  const { rows } = await client.query('SELECT id, amount FROM keyed WHERE id = 3');
  assert.deepEqual(rows, [{ id: 3, amount: 12 }]);
  await assert.rejects(client.query('SELECT 1 / 0'), (error) => error.code === '22012');
  await assert.rejects(client.query({ name: 'wrong', text: 'SELEC', values: [] }), (error) => error.code === '42601');
  const two = await client.query('SELECT 1 AS a; SELECT 2 AS a');
  assert.equal(two[1].rows[0].a, 2);
}

// Transactions about one key; nothing is changed in the end.
async function transactions(client) {
  for (let key = 1; key <= KEYS; key++) {
    await client.query('BEGIN');
    const { rows } = await client.query('SELECT amount FROM keyed WHERE id = $1 FOR UPDATE', [key]);
    for (const change of [1, -1]) {
      await client.query('UPDATE keyed SET amount = amount + $2 WHERE id = $1', [key, change]);
      const now = await client.query('SELECT amount FROM keyed WHERE id = $1 FOR UPDATE', [key]);
      assert.equal(now.rows[0].amount, rows[0].amount + (change + 1) / 2);
    }
    await client.query('COMMIT');
  }
}

async function notifications() {
  const client = new Client(where);
  await client.connect();
  const heard = new Promise((resolve) => client.on('notification', resolve));
  await client.query('LISTEN news');
  await client.query("NOTIFY news, 'hello'");
  assert.equal((await heard).payload, 'hello');
  await client.end();
}

async function main() {
  const pool = new Pool({ ...where, max: 12 });
  await Promise.all(Array.from({ length: 12 }, () => work(pool)));
  const client = await pool.connect();
  await blocks(client);
  await transactions(client);
  client.release();
  await pool.end();
  await notifications();
}

main().catch((error) => { console.error(error); process.exit(1); });
