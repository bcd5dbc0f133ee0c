/** Parts that are written at their own path: their owner decides, and faults point to the link to it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../engine/json/json.ts';
import { createDatabase } from '../support/databases.ts';
import { as, type Service, startService } from './service.ts';

const TYPES: Readonly<Record<string, string>> = {
  school: 'type: School\nfields: { name: { type: string, required: true } }',
  student: `type: Student
identifier: { name: code, type: string, maxLength: 20 }
fields: { name: { type: string, required: true }, teacher: { type: string } }
relations:
  school: { kind: belongsTo, type: School, required: true }
  grades: { kind: hasMany, type: Grade, inverse: student, owned: true }
  awards: { kind: hasMany, type: Award, inverse: student, owned: true }`,
  grade: `type: Grade
fields: { mark: { type: integer, required: true } }
relations: { student: { kind: belongsTo, type: Student, inverse: grades, required: true } }`,
  award: `type: Award
relations: { student: { kind: belongsTo, type: Student, inverse: awards, required: true, nested: write } }`,
};

const STUDENTS = '{ where: { teacher: { claim: sub } }';
const ROLES: Readonly<Record<string, string>> = {
  teacher: `read: { Student: ${STUDENTS} } }\nupdate: { Student: ${STUDENTS}, only: [grades] } }`,
  reader: `read: { Student: true }\nupdate: { Student: { where: { teacher: { claim: sub } }, only: [grades] } }`,
  registrar:
    'read: { Student: true, School: true }\ncreate: { Student: { except: [awards] } }\nupdate: { Student: true }',
};

let service: Service;
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'parts-'));
  const [schema, access] = [join(directory, 'schema'), join(directory, 'access')];
  for (const folder of [schema, access]) mkdirSync(folder);
  for (const [name, text] of Object.entries(TYPES)) writeFileSync(join(schema, `${name}.yaml`), text);
  for (const [name, text] of Object.entries(ROLES))
    writeFileSync(join(access, `${name}.yaml`), `role: ${name}\n${text}`);
  service = await startService(schema, await createDatabase(), access);
  const { id } = await service.engine.records<JsonObject & { id: number }>('School').create({ name: 'North' });
  for (const [code, teacher] of Object.entries({ A1: 'tina', B1: 'tom' })) {
    const grades = [{ mark: code === 'A1' ? 1 : 2 }];
    await service.engine.records('Student').create({ code, name: code, teacher, school: { id }, grades });
  }
});

afterAll(async () => {
  await service.close();
  await service.database.remove();
  rmSync(directory, { recursive: true });
});

async function send(role: string, title: string, body?: JsonObject) {
  const headers = body ? { 'content-type': 'application/json' } : {};
  const identity = as({ name: 'tina', role, claims: { sub: 'tina' } });
  const { status, text } = await service.send(title, { ...identity, ...headers }, body && JSON.stringify(body));
  const { errors = [], detail } = JSON.parse(text === '' ? '{}' : text) as {
    errors?: readonly { pointer: string; message: string }[];
    detail?: string;
  };
  return [status, ...errors.map(({ pointer, message }) => `${pointer}: ${message}`), ...(errors[0] ? [] : [detail])];
}

const to = (code: string): JsonObject => ({ mark: 1, student: { code } });

test.each([
  ['teacher', 'POST /api/grades', to('B1'), [422, '/student/code: There is no Student B1']],
  ['teacher', 'POST /api/grades', to('C1'), [422, '/student/code: There is no Student C1']],
  ['teacher', 'PATCH /api/grades/1', to('B1'), [422, '/student/code: There is no Student B1']],
  ['teacher', 'PATCH /api/grades/2', to('A1'), [404, 'There is no Grade 2']],
  ['reader', 'POST /api/grades', to('B1'), [403, '/student: You may not change Student B1']],
  [
    'reader',
    'PATCH /api/grades/1',
    to('B1'),
    [422, '/student/code: Grade 1 belongs to another record and cannot change its parent'],
  ],
  ['reader', 'PATCH /api/grades/2', { mark: 3 }, [403, ': You may not change Student B1']],
  [
    'registrar',
    'POST /api/awards',
    { student: { code: 'D1', name: 'D', school: { id: 1 } } },
    [403, '/student: You may not create a record of Student with "awards"'],
  ],
  ['teacher', 'POST /api/grades', to('A1'), [201, undefined]],
  [
    'teacher',
    'DELETE /api/students/A1',
    undefined,
    [403, 'You may not DELETE here; allowed are GET, HEAD, PUT, PATCH, OPTIONS'],
  ],
])('%s %s %j: %j', async (role, title, body, expected) => {
  expect(await send(role, title, body)).toEqual(expected);
});
