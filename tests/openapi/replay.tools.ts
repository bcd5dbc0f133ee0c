/** The OpenAPI document against the service: each operation with its example, and every answer to the generated suites. */
import { isObject, type JsonObject, type JsonValue } from '../../engine/json.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { createReplayer } from '../../engine/suite/replay.ts';
import { suiteOfAll } from '../../engine/suite/suite.ts';
import { conformanceTo, type Documented, type Exchange, operationsOf } from '../support/openapi/conformance.ts';
import { schemasOf } from '../support/openapi/schemas.ts';
import { exchange } from '../support/exchange.ts';
import { loadModel } from '../support/model.ts';
import { type Recorded, startRecorder } from '../support/recorder.ts';
import { fixtureSchemas } from '../support/schemas.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

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

/** What identifiers are, a fresh database decides: all are taken for 1. */
function withFirstIdentifiers(value: JsonValue, names: ReadonlySet<string>): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withFirstIdentifiers(item, names));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    names.has(key) && Number.isInteger(item) ? 1 : withFirstIdentifiers(item, names),
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
      const content = node(document, 'components', 'responses', 'create400', 'content');
      const schema = node(content, 'application/problem+json', 'schema', 'allOf', '1', 'properties', 'type');
      schema['enum'] = lied(['urn:problem:storage-busy']);
    },
  ],
];

const folders = [{ name: 'schema', directory: 'schema' }, ...fixtureSchemas];

describe.each(folders)('$name', ({ directory }) => {
  const model = loadModel(directory);
  const types = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  const identifiers = new Set([...model.types.values()].map(({ identifier }) => identifier.name));
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

  /** The records that the example links must be there. */
  async function makeLinked(type: RecordType): Promise<void> {
    for (const { required, nested, target } of type.relations.values()) {
      const path = `/api/${encodeURIComponent(target.path)}`;
      if (!required || nested === 'write' || target.operations.has('get') === false) continue;
      if ((await send(server.url, 'GET', `${path}/1`)).status === 200) continue;
      await makeLinked(target);
      const example = exampleOf(['paths', path, 'post']);
      // Another record may have had the identifier, and be gone.
      await send(server.url, 'POST', path, {
        body: { ...(isObject(example) ? example : {}), [target.identifier.name]: 1 },
      });
    }
  }

  async function call({ method, path }: Documented, id: number): Promise<Exchange> {
    const place = ['paths', path, method];
    // The document cannot say that one filter, whichever it is, must be there.
    const [filter = ''] = method === 'delete' && !path.endsWith('}') ? filterQueries(schemas, place) : [];
    const query = [queryOf(exampleParameters(schemas, place, 'query')), filter].filter((part) => part !== '').join('&');
    const url = path.replace('{id}', String(id)) + (query === '' ? '' : `?${query}`);
    const headers = Object.fromEntries(
      exampleParameters(schemas, place, 'header').map(([name, value]) => [name, String(value)]),
    );
    return send(server.url, method.toUpperCase(), url, { headers, body: exampleOf(place) });
  }

  test.each(types)('each operation of $name with its example', async (type) => {
    const conform = conformanceTo(document);
    const collection = `/api/${encodeURIComponent(type.path)}`;
    const operations = operationsOf(document).filter(({ path }) => path.split('/{')[0] === collection);
    await makeLinked(type);
    const creation = operations.find(({ method }) => method === 'post');
    const created = creation && (await call(creation, 0));
    const id = Number(created?.headers['location']?.split('/').at(-1) ?? 1);
    const others = operations.filter(({ method }) => method !== 'post' && method !== 'delete');
    const deletions = operations.filter(({ method }) => method === 'delete');
    const answers = created === undefined ? [] : [created];
    for (const operation of [...others, ...deletions.toReversed()]) answers.push(await call(operation, id));
    expect(answers).toHaveLength(operations.length);
    expect(answers.map((answer) => [answer.method, answer.path, conform(answer)])).toEqual(
      answers.map(({ method, path }) => [method, path, []]),
    );
    if (created === undefined || creation === undefined) return;
    const wrong = answers.filter(({ status, text }) => status >= 400 && !text.includes('urn:problem:precondition-'));
    expect(wrong).toEqual([]);
    const shown = schemas.at(
      'paths',
      creation.path,
      'post',
      'responses',
      '201',
      'content',
      'application/json',
      'examples',
      'example',
      'value',
    );
    expect(withFirstIdentifiers(JSON.parse(created.text), identifiers)).toEqual(
      withFirstIdentifiers(shown ?? null, identifiers),
    );
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
});

/** Those whose suites bring every kind of answer. */
const REPLAYED = new Set([
  'schema',
  'every-field-type',
  'hidden-identifier',
  'open-types',
  'preconditions-required',
  'variants',
]);

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
    for (const one of cases) await replayer.replay(one);
    return { document: await fetchDocument(server), answers };
  } finally {
    replayer.close();
    await recorder.close();
    await server.close();
  }
}

/** What of the answers is not as the document says. */
function differences(document: JsonObject, answers: readonly Recorded[]): readonly string[] {
  const conform = conformanceTo(document);
  // 421 says that the request was for somebody else's document.
  const own = answers.filter(({ status }) => status !== 421);
  return own.flatMap((answer) =>
    (conform(answer) ?? []).map((fault) => `${answer.method} ${answer.path} ${answer.status} ${fault}`),
  );
}

describe.each(folders.filter(({ name }) => REPLAYED.has(name)))('the suites of $name', ({ name, directory }) => {
  let recorded: Awaited<ReturnType<typeof recordSuites>>;
  beforeAll(async () => {
    recorded = await recordSuites(directory);
  });

  test('get no answer that the document does not have', () => {
    const conform = conformanceTo(recorded.document);
    expect(differences(recorded.document, recorded.answers).slice(0, 10)).toEqual([]);
    expect(recorded.answers.filter((answer) => conform(answer) !== undefined).length).toBeGreaterThan(30);
  });

  if (name !== 'schema') return;

  test.each(LIES)('show a lie: %s', (_, lie) => {
    const document = structuredClone(recorded.document) as unknown as Mutable;
    lie(document);
    expect(differences(document as unknown as JsonObject, recorded.answers)).not.toEqual([]);
  });
});
