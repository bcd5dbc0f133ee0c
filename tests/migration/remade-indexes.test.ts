/** Indexes over expressions that the engine used to write differently are made anew when the service starts. */
import { afterEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { timestamp } from '../../engine/field-types/timestamp.ts';
import { ask } from '../support/ask.ts';
import { fileOf } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';

const VISIT = `type: Visit
fields:
  room: { type: string, maxLength: 10 }
  came: { type: timestamp, index: true }
  left: { type: timestamp }
unique: [[room, left]]
`;

const { comparable } = timestamp.columns.sqlite;
/** Offsets above 14:00 were null to it. */
const formerly = (column: string): string => `unixepoch(${column}, 'subsec')`;

const inOldWords = (sql: string): string =>
  ['`came`', '`left`'].reduce((text, column) => text.replaceAll(comparable(column), formerly(column)), sql);

let project: Project;
afterEach(() => project.remove());

interface IndexRow {
  readonly name: string;
  readonly sql: string;
}

function indexes(database: Database.Database): readonly IndexRow[] {
  const all = "select name, sql from sqlite_schema where type = 'index' and tbl_name = 'visits' and sql is not null";
  return database.prepare<[], IndexRow>(all).all();
}

/** As a database of that engine has them. */
function makeOld(database: Database.Database): void {
  const applied = database.prepare<[], string>('select applied from _records_model').pluck().get() ?? '';
  for (const { name, sql } of indexes(database)) database.exec(`drop index "${name}"; ${inOldWords(sql)}`);
  database.prepare('update _records_model set applied = ?').run(inOldWords(applied));
}

async function oldProject(): Promise<void> {
  project = await createProject({ 'visit.yaml': VISIT }, undefined, 'sqlite');
  await project.starts();
  const database = new Database(fileOf(project.database));
  makeOld(database);
  expect(indexes(database).map(({ sql }) => sql.includes('unixepoch') && !sql.includes('case'))).toEqual([true, true]);
  const insert = database.prepare('insert into visits (room, came, "left") values (?, ?, ?)');
  insert.run('A', '2024-01-01T00:00:00+23:00', '2024-01-01T00:00:00+23:00');
  insert.run('B', '2024-01-01T00:00:00Z', '2023-12-31T01:00:00Z');
  database.close();
}

test('they answer like rows without an index', async () => {
  await oldProject();
  const plan = await project.run('plan');
  expect(plan.out).toContain('Rebuild the indexes of Visit');
  await project.serving(async (url) => {
    const { body } = await ask(url, 'GET /api/visits?_cnd[came][lt]=2024-01-01T00:00:00Z&fields=room');
    expect(body).toEqual([{ id: 1, room: 'A' }]);
    expect((await ask(url, 'PUT /api/visits/2', { room: 'A' })).status).toBe(409);
  });
  expect((await project.run('plan')).out).not.toContain('Visit');
});

test('a unique one is not, where records would then be the same', async () => {
  await oldProject();
  const database = new Database(fileOf(project.database));
  database.exec(`update visits set room = 'A'`);
  database.close();
  const { code, out } = await project.run('plan');
  expect({ code, out }).toEqual({ code: 1, out: expect.stringMatching(/"room", "left".*1, 2/s) });
});
