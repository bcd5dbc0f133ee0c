/** The cases that depend on how a service is set up, replayed against services that are set up so. */
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { readSettings, type Settings } from '../../engine/settings.ts';
import { type Case, type Deployment, deploymentOf } from '../../engine/suite/case.ts';
import type { Tokens } from '../../engine/suite/replay.ts';
import { suiteOf } from '../../engine/suite/suite.ts';
import { loadModel } from '../support/model.ts';
import { type Bench, openBench, replayAll } from '../support/replaying.ts';
import { isWhole, sampled } from '../support/sample.ts';
import { mountSmall } from '../support/small-disk.ts';

const model = loadModel('schema');
/** The first shows what is said once of a service, another what is said of relations; `npm run test:suites` asks all types. */
const types = [...model.types.values()].filter(
  ({ name }) => isWhole || ['ContentImage', 'ShippingMarkup'].includes(name),
);

const tokens: Required<Tokens> = { token: createToken(), readToken: createToken() };
const lines = [
  tokenLine({ name: 'all', read: 'all', write: 'all' }, tokens.token),
  tokenLine({ name: 'reader', read: 'all', write: new Set() }, tokens.readToken),
];

interface Setup {
  readonly name: string;
  readonly settings: Partial<Settings>;
  readonly known?: Deployment;
  readonly tokens?: Tokens;
  /** Groups of cases that depend on it. */
  readonly groups: readonly string[];
}

const SETUPS: readonly Setup[] = [
  {
    name: 'little that a request may hold',
    settings: { bodyLimit: 900, bodyKeys: 40, bodyItems: 60, urlLimit: 300 },
    groups: ['limits', 'wire'],
  },
  { name: 'two origins', settings: { corsOrigins: ['https://a.example', 'http://b.example:8080'] }, groups: ['cors'] },
  { name: 'every origin', settings: { corsOrigins: ['*'] }, groups: ['cors'] },
  {
    name: 'tokens and an origin',
    settings: { tokens: lines.join(';'), corsOrigins: ['https://a.example'] },
    known: { hasReader: true },
    tokens,
    groups: ['access', 'cors', 'request ids', 'operations'],
  },
  { name: 'few rows for one write', settings: { writeRows: 20 }, groups: ['limits', 'relations'] },
  { name: 'a rate limit', settings: { rateLimit: 20 }, groups: ['rates'] },
];

function casesFor(settings: Partial<Settings>, known: Deployment = {}): readonly Case[] {
  const deployment = { ...deploymentOf({ ...readSettings({}), ...settings }), ...known };
  return types.flatMap((type) => suiteOf(model, type, { deployment }));
}

describe.each(SETUPS)('a service with $name', ({ settings, known, tokens: held = {}, groups }) => {
  const all = sampled(
    casesFor(settings, known).filter(({ group }) => groups.includes(group)),
    3,
  );
  let bench: Bench;
  beforeAll(async () => void (bench = await openBench('schema', model, { settings, tokens: held })));
  afterAll(() => bench?.close());

  test.each(groups)('%s', (group) =>
    replayAll(
      bench,
      all.filter((one) => one.group === group),
    ),
  );
});

test('a service with little patience: bytes whose body never ends', async () => {
  // Each of them waits as long: one type stands for the rest.
  const settings = { requestTimeout: 4000 };
  const waiting = casesFor(settings).find(({ title }) => title.includes('whose body never ends'));
  const bench = await openBench('schema', model, { settings });
  await replayAll(bench, waiting ? [waiting] : []);
  await bench.close();
  expect(waiting).toBeDefined();
});

const usual = casesFor({});
const needing = (condition: string): readonly Case[] =>
  sampled(
    usual.filter(({ steps }) => steps.some(({ given }) => given === condition)),
    3,
  );

describe.each(['database held', 'memory used up', 'service stopping'] as const)('%s', (condition) => {
  const cases = needing(condition);
  let bench: Bench;
  beforeAll(async () => void (bench = await openBench('schema', model)));
  afterAll(() => bench?.close());

  test.each(cases.map((one) => [one.title, one] as const))('%s', (_, one) => replayAll(bench, [one]));
});

const disk = mountSmall(8);
afterAll(() => disk?.remove());

if (disk === undefined) test.skip('a full disk: needs the right to mount a tmpfs', () => undefined);
else
  test('database full', async () => {
    const bench = await openBench('schema', model, { disk });
    await replayAll(bench, needing('database full'));
    await bench.close();
  });
