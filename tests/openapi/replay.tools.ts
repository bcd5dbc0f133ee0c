/** The OpenAPI document against the service: each operation with its example, and every answer to the generated suites. */
import { isObject, type JsonObject, type JsonValue } from '../../engine/json.ts';
import { namedUniques, type RecordType } from '../../engine/model/model.ts';
import { createReplayer } from '../../engine/suite/replay.ts';
import { suiteOfAll } from '../../engine/suite/suite.ts';
import { conformanceTo, type Documented, type Exchange, operationsOf } from '../support/openapi/conformance.ts';
import { schemasOf } from '../support/openapi/schemas.ts';
import { exchange } from '../support/exchange.ts';
import { loadModel } from '../support/model.ts';
import { type Recorded, startRecorder } from '../support/recorder.ts';
import { isWhole } from '../support/sample.ts';
import { fixtureSchemas } from '../support/schemas.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { ofEachGroup } from '../support/suites.ts';

async function fetchDocument(server: TestServer): Promise<JsonObject> {
  return JSON.parse((await exchange(server.url, 'GET /openapi.json')).text);
}

async function send(url: string, method: string, path: string, request: SentWith = {}): Promise<Exchange> {
  const { headers: further, body } = request;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await exchange(url, `${method} ${path}`, {
    headers: { ...type, ...further },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const headers = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, value?.toString()]));
  return { method, path, status: answer.status, headers, text: answer.text };
}

interface SentWith {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue | undefined;
}

type Schemas = ReturnType<typeof schemasOf>;

type Example = readonly [name: string, value: JsonValue];

/** The parameters of an operation that have an example. */
function exampleParameters(schemas: Schemas, place: readonly string[], where: 'query' | 'header'): readonly Example[] {
  const parameters = schemas.at(...place, 'parameters');
  const count = Array.isArray(parameters) ? parameters.length : 0;
  return Array.from({ length: count }, (_, index) => schemas.at(...place, 'parameters', String(index))).flatMap(
    (parameter) => {
      if (!isObject(parameter) || parameter['in'] !== where) return [];
      const { name, example } = parameter;
      return example === undefined ? [] : [[String(name), example] as const];
    },
  );
}

const queryOf = (examples: readonly Example[]): string =>
  examples
    .flatMap(([name, values]) =>
      [values].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`),
    )
    .join('&');

/** Identifiers and stamps are the service's: all are taken for 1. */
function withoutOwn(value: JsonValue, names: ReadonlySet<string>): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withoutOwn(item, names));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    names.has(key) && !isObject(item) && !Array.isArray(item) ? 1 : withoutOwn(item, names),
  ]);
  return Object.fromEntries(entries);
}

/** One query for each operator of each filter. */
function filterQueries(schemas: Schemas, place: readonly string[]): readonly string[] {
  const parameters = schemas.at(...place, 'parameters');
  const count = Array.isArray(parameters) ? parameters.length : 0;
  return Array.from({ length: count }, (_, index) => [...place, 'parameters', String(index)]).flatMap((parameter) => {
    if (schemas.at(...parameter, 'style') !== 'deepObject') return [];
    const name = String(schemas.at(...parameter, 'name'));
    const counts = schemas.at(...parameter, 'schema', 'properties', '$count', 'properties');
    const [key, known] = counts
      ? [`${name}[$count]`, counts]
      : [name, schemas.at(...parameter, 'schema', 'properties')];
    const sample = counts ? 1 : schemas.at(...parameter, 'examples', 'equal', 'value', 'eq');
    return Object.keys(known ?? {}).map((operator) => {
      const value = operator === 'null' ? true : sample;
      return `${encodeURIComponent(`${key}[${operator}]`)}=${encodeURIComponent(String(value))}`;
    });
  });
}

/** A document that may be changed. */
type Mutable = { [key: string]: Mutable };

const node = (document: Mutable, ...path: readonly string[]): Mutable =>
  path.reduce((value, step) => value[step] ?? {}, document);

const lied = (value: unknown): Mutable => value as Mutable;

const LIES: readonly (readonly [string, (document: Mutable) => void])[] = [
  [
    'another type of a field',
    (document) =>
      (node(document, 'components', 'schemas', 'TaxClass', 'properties', 'position')['type'] = lied('string')),
  ],
  [
    'a value that may not be null',
    (document) => (node(document, 'components', 'schemas', 'TmpVar', 'properties', 'name')['type'] = lied('string')),
  ],
  [
    'a relation of another shape',
    (document) =>
      (node(document, 'components', 'schemas', 'ShippingMarkup', 'properties')['zone'] = lied({ type: 'array' })),
  ],
  [
    'a key that records do not have',
    (document) => (node(document, 'components', 'schemas', 'RelatedZone')['required'] = lied(['zoneId'])),
  ],
  [
    'a header that is not sent',
    (document) => (node(document, 'components', 'headers', 'Link')['required'] = lied(true)),
  ],
  ['a status less', (document) => void delete node(document, 'paths', '/api/tax-classes', 'post', 'responses')['422']],
  [
    'another media type',
    (document) => {
      const answer = node(document, 'paths', '/api/tax-classes/{id}', 'get', 'responses', '200');
      answer['content'] = lied({ 'text/html': {} });
    },
  ],
  [
    'a problem less',
    (document) => {
      const answer = node(document, 'paths', '/api/tax-classes', 'post', 'responses', '400');
      const name = String(answer['$ref']).split('/').at(-1) ?? '';
      const content = node(document, 'components', 'responses', name, 'content');
      const schema = node(content, 'application/problem+json', 'schema', 'allOf', '1', 'properties', 'type');
      schema['enum'] = lied(['urn:problem:storage-busy']);
    },
  ],
];

/** Those whose suites bring every kind of answer. */
const REPLAYED = new Set([
  'schema',
  'every-field-type',
  'hidden-identifier',
  'open-types',
  'preconditions-required',
  'variants',
]);

const everyFolder = [{ name: 'schema', directory: 'schema' }, ...fixtureSchemas];
/** Where there is little time, every third stands for the rest. */
const folders = isWhole ? everyFolder : everyFolder.filter(({ name }, index) => REPLAYED.has(name) || index % 3 === 0);

describe.each(folders)('$name', ({ directory }) => {
  const model = loadModel(directory);
  const types = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  const own = new Set(
    [...model.types.values()].flatMap(({ identifier, fields }) => [
      identifier.name,
      ...[...fields.values()].filter(({ generated }) => generated !== undefined).map(({ name }) => name),
    ]),
  );
  const upserted = types.filter((type) => namedUniques(type).length > 0);
  let server: TestServer;
  let document: JsonObject;
  let schemas: Schemas;

  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: directory });
    document = await fetchDocument(server);
    schemas = schemasOf(document);
  });
  afterAll(() => server.close());

  const exampleOf = (place: readonly string[]): JsonValue | undefined =>
    schemas.at(...place, 'requestBody', 'content', 'application/json', 'examples', 'example', 'value');

  /** What an example links is the first record of its type. */
  async function makeFirst(url: string, type: RecordType): Promise<void> {
    const path = `/api/${encodeURIComponent(type.path)}`;
    if (!type.operations.has('get') || (await send(url, 'GET', `${path}/1`)).status === 200) return;
    await makeLinked(url, type);
    const example = exampleOf(['paths', path, 'post']);
    await send(url, 'POST', path, { body: { ...(isObject(example) ? example : {}), [type.identifier.name]: 1 } });
  }

  async function makeLinked(url: string, type: RecordType): Promise<void> {
    for (const { required, nested, target } of type.relations.values())
      if (required && nested !== 'write') await makeFirst(url, target);
  }

  async function call(url: string, { method, path }: Documented, id: number): Promise<Exchange> {
    const place = ['paths', path, method];
    // The document cannot say that one filter, whichever it is, must be there.
    const [filter = ''] = method === 'delete' && !path.endsWith('}') ? filterQueries(schemas, place) : [];
    const query = [queryOf(exampleParameters(schemas, place, 'query')), filter].filter((part) => part !== '').join('&');
    const headers = Object.fromEntries(
      exampleParameters(schemas, place, 'header').map(([name, value]) => [name, String(value)]),
    );
    const asked = path.replace('{id}', String(id)) + (query === '' ? '' : `?${query}`);
    return send(url, method.toUpperCase(), asked, { headers, body: exampleOf(place) });
  }

  async function onEmptyDatabase<Result>(run: (url: string) => Promise<Result>): Promise<Result> {
    const alone = await startTestServer({ schemaDirectory: directory });
    try {
      return await run(alone.url);
    } finally {
      await alone.close();
    }
  }

  const operationsFor = (type: RecordType): readonly Documented[] => {
    const collection = `/api/${encodeURIComponent(type.path)}`;
    return operationsOf(document).filter(({ path }) => path.replace(/\/(?:\{id\}|\$summary)$/, '') === collection);
  };

  const isUpsert = ({ method, path }: Documented): boolean => method === 'put' && !path.endsWith('}');

  function expectFitting(answers: readonly Exchange[], operations: readonly Documented[]): void {
    const conform = conformanceTo(document);
    expect(answers).toHaveLength(operations.length);
    expect(answers.map((answer) => [answer.method, answer.path, conform(answer)])).toEqual(
      answers.map(({ method, path }) => [method, path, []]),
    );
  }

  // Nobody knows the tag beforehand.
  const refusedOf = (answers: readonly Exchange[]): readonly Exchange[] =>
    answers.filter(({ status, text }) => status >= 400 && !text.includes('urn:problem:precondition-'));

  test.each(types)('each operation of $name with its example', async (type) => {
    const operations = operationsFor(type).filter((operation) => !isUpsert(operation));
    const creation = operations.find(({ method }) => method === 'post');
    const others = operations.filter(({ method }) => method !== 'post' && method !== 'delete');
    const deletions = operations.filter(({ method }) => method === 'delete').toReversed();
    const [created, answers] = await onEmptyDatabase(async (url) => {
      await makeLinked(url, type);
      const first = creation && (await call(url, creation, 0));
      const id = Number(first?.headers['location']?.split('/').at(-1) ?? 1);
      const all = first === undefined ? [] : [first];
      for (const operation of [...others, ...deletions]) all.push(await call(url, operation, id));
      return [first, all];
    });
    expectFitting(answers, operations);
    if (created === undefined || creation === undefined) return;
    expect(refusedOf(answers)).toEqual([]);
    const answer = ['paths', creation.path, 'post', 'responses', '201', 'content', 'application/json'];
    const shown = schemas.at(...answer, 'examples', 'example', 'value');
    expect(withoutOwn(JSON.parse(created.text), own)).toEqual(withoutOwn(shown ?? null, own));
  });

  test.each(types)('each filter of $name', async (type) => {
    if (!type.operations.has('list')) return;
    const conform = conformanceTo(document);
    const collection = `/api/${encodeURIComponent(type.path)}`;
    const answers: Exchange[] = [];
    for (const query of filterQueries(schemas, ['paths', collection, 'get']))
      answers.push(await send(server.url, 'GET', `${collection}?${query}`));
    expect(answers.filter((answer) => answer.status !== 200 || conform(answer)?.length !== 0)).toEqual([]);
    expect(answers.length).toBeGreaterThan(0);
  });

  if (upserted.length === 0) return;
  test.each(upserted)('the upsert of $name with its example', async (type) => {
    const operations = operationsFor(type).filter(isUpsert);
    const answers = await onEmptyDatabase(async (url) => {
      await makeLinked(url, type);
      for (const member of namedUniques(type)[0]?.members ?? [])
        if ('target' in member) await makeFirst(url, member.target);
      return Promise.all(operations.map((operation) => call(url, operation, 0)));
    });
    expectFitting(answers, operations);
    expect(refusedOf(answers)).toEqual([]);
  });
});

/** Everything that the suites of a schema ask and are answered. */
async function recordSuites(
  directory: string,
): Promise<{ readonly document: JsonObject; readonly answers: readonly Recorded[] }> {
  const server = await startTestServer({ schemaDirectory: directory });
  const answers: Recorded[] = [];
  const recorder = await startRecorder(server.url, (recorded) => answers.push(recorded));
  const replayer = createReplayer({ url: recorder.url });
  try {
    // The recorder is a server of its own: what is not quite HTTP does not get past it.
    const cases = suiteOfAll(loadModel(directory)).filter(({ group }) => group !== 'wire');
    for (const one of ofEachGroup(cases, 1)) await replayer.replay(one);
    return { document: await fetchDocument(server), answers };
  } finally {
    replayer.close();
    await recorder.close();
    await server.close();
  }
}

/** What of the answers is not as the document says, up to so many. */
function differences(document: JsonObject, answers: readonly Recorded[], most: number): readonly string[] {
  const conform = conformanceTo(document);
  const found: string[] = [];
  for (const answer of answers) {
    // 421 says that the request was for somebody else's document.
    const faults = answer.status === 421 ? [] : (conform(answer) ?? []);
    found.push(...faults.map((fault) => `${answer.method} ${answer.path} ${answer.status} ${fault}`));
    if (found.length >= most) break;
  }
  return found;
}

describe.each(folders.filter(({ name }) => REPLAYED.has(name)))('the suites of $name', ({ name, directory }) => {
  let recorded: Awaited<ReturnType<typeof recordSuites>>;
  beforeAll(async () => {
    recorded = await recordSuites(directory);
  });

  test('get no answer that the document does not have', () => {
    const conform = conformanceTo(recorded.document);
    expect(differences(recorded.document, recorded.answers, 10)).toEqual([]);
    expect(recorded.answers.filter((answer) => conform(answer) !== undefined).length).toBeGreaterThan(30);
  });

  if (name !== 'schema') return;

  test.each(LIES)('show a lie: %s', (_, lie) => {
    const document = structuredClone(recorded.document) as unknown as Mutable;
    lie(document);
    expect(differences(document as unknown as JsonObject, recorded.answers, 1)).not.toEqual([]);
  });
});
