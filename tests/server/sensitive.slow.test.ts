/** Sensitive values stand in records, and never in logs or problems. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Running, urlOf, useCompiled } from '../support/compiled.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';

const SECRET = 'planted-secret';
const PATIENT = `
type: Patient
order: [number]
fields:
  number: { type: string, pattern: '^P', unique: true, sensitive: true, examples: [P1] }
  age: { type: integer, sensitive: true }
  born: { type: date, sensitive: true }
  notes: { type: any, sensitive: true }
  ward: { type: integer }
relations:
  visits: { kind: hasMany, type: Visit, owned: true }
`;
const VISIT = `
type: Visit
operations: []
fields: { finding: { type: string, sensitive: true } }
`;
const HEADERS = { 'content-type': 'application/json' };

const directory = mkdtempSync(join(tmpdir(), 'sensitive-'));
const schema = join(directory, 'schema');
const compiled = useCompiled();
beforeAll(async () => {
  mkdirSync(schema);
  writeFileSync(join(schema, 'patient.yaml'), PATIENT);
  writeFileSync(join(schema, 'visit.yaml'), VISIT);
});

const file = (): string => join(directory, 'records.db');
const environment = (): Record<string, string> => ({ SCHEMA_DIR: schema, DATABASE_URL: `sqlite:${file()}` });

const body = (values: object): string => JSON.stringify(values);

/** Every way to send the secret: accepted, refused in the query, the body, by a constraint, by the parser. */
const REQUESTS: readonly (readonly [string, string | undefined, number])[] = [
  ['POST /api/patients', body({ number: `P${SECRET}`, notes: { a: SECRET }, visits: [{ finding: SECRET }] }), 201],
  ['POST /api/patients', body({ number: `P${SECRET}` }), 409],
  ['POST /api/patients', body({ number: SECRET }), 422],
  ['POST /api/patients', body({ born: SECRET, age: SECRET, visits: [{ finding: [SECRET] }] }), 422],
  ['POST /api/patients', `{"number":"${SECRET}`, 400],
  ['POST /api/patients', `{"number":"${SECRET}","number":"${SECRET}"}`, 400],
  ['PATCH /api/patients/1', body({ notes: { b: [SECRET] } }), 200],
  [`GET /api/patients?_cnd[number]=P${SECRET}`, undefined, 200],
  [`GET /api/patients?_cnd[number][like]=*${SECRET}*&_cnd[limit]=0&_cnd[limit]=1`, undefined, 200],
  [`GET /api/patients?_cnd[age]=${SECRET}`, undefined, 400],
  [`GET /api/patients?_cnd[born][in]=${SECRET}&_cnd[born][in]=2030-01-01`, undefined, 400],
  [`GET /api/patients?_cnd[age][null]=${SECRET}`, undefined, 400],
  [`GET /api/patients?number=${SECRET}`, undefined, 400],
  [`GET /api/patients?filter={"number":"${SECRET}"}`, undefined, 400],
  [`GET /api/patients?_cnd=${SECRET}`, undefined, 400],
  [`GET /api/patients?number_gte=${SECRET}`, undefined, 400],
  [`GET /api/patients?_cnd[visits][finding]=${SECRET}`, undefined, 400],
  [`GET /api/patients?_cnd[number][lt]=${SECRET}&_cnd[number][lt]=${SECRET}`, undefined, 400],
  ['DELETE /api/patients/1', undefined, 200],
];

async function send(url: string, title: string, text: string | undefined): Promise<Exchanged> {
  return exchange(url, title, text === undefined ? {} : { headers: HEADERS, body: text });
}

test('nothing that the service writes, and no problem that it answers, has one', async () => {
  const logged = { LOG_LEVEL: 'debug', ACCESS_LOG: 'on', SLOW_STATEMENT_MS: '1', METRICS: 'on' };
  const service: Running = compiled.run('server.js', [], { ...environment(), ...logged, PORT: '0' });
  const url = await urlOf(service);
  const answers: Exchanged[] = [];
  for (const [title, text] of REQUESTS) answers.push(await send(url, title, text));
  expect(answers.map(({ status }) => status)).toEqual(REQUESTS.map(([, , status]) => status));
  const problems = answers.filter(({ status }) => status >= 400);
  problems.push(await exchange(url, 'GET /metrics'));
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  expect(service.err()).toContain('"path":"/api/patients"');
  expect(service.out() + service.err()).not.toContain(SECRET);
  expect(problems.filter(({ text, headers }) => (text + JSON.stringify(headers)).includes(SECRET))).toEqual([]);
});

test('an import that is refused says which record, and not what is in it', async () => {
  const lines = [
    '{"format":1,"lines":2}',
    ...[1, 2].map((identifier) =>
      body({ type: 'Patient', identifier, fields: { number: `P${SECRET}` }, references: {} }),
    ),
  ];
  const run = async (text: string): Promise<string> => {
    writeFileSync(join(directory, 'export'), text);
    const url = `sqlite:${join(directory, 'imported.db')}`;
    const job = compiled.run('engine/cli.js', ['import', join(directory, 'export')], {
      ...environment(),
      DATABASE_URL: url,
    });
    expect(await job.ended).toBe(1);
    return job.out() + job.err();
  };
  const twice = await run(lines.join('\n'));
  expect(twice).toMatch(/^Line 3 \/fields\/number: Patient 1 has this value of "number" already\n/);
  const broken = await run(lines.join('\n').replace(`"P${SECRET}"`, SECRET));
  expect(broken).toMatch(/^Line 2 \/fields\/number: The line is not valid JSON: .*\n/);
  expect(twice + broken).not.toContain(SECRET);
});
