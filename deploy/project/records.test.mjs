// Runs the engine on a new database, without a server: npm test
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createEngine } from 'PACKAGE_NAME';

let folder;
let engine;
let records;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-'));
  engine = await createEngine({
    schemaDirectory: 'SCHEMA_DIR',
    databaseUrl: `sqlite:${join(folder, 'records.db')}`,
  });
  records = engine.records('Item');
});

after(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

test('a record is created, changed, found and deleted', async () => {
  const { id } = await records.create({ name: 'First' });
  await records.update(id, { name: 'Second' });
  assert.deepEqual(await records.get(id), { id, name: 'Second' });
  const { records: found } = await records.list({
    where: { name: { like: 'sec*' } },
    order: ['name', 'desc'],
    limit: 10,
  });
  assert.deepEqual(found, [{ id, name: 'Second' }]);
  await records.delete(id);
  await assert.rejects(records.get(id), { code: 'record-not-found' });
});

test('a record without a name is refused', async () => {
  await assert.rejects(records.create({}), { code: 'invalid-body' });
});
