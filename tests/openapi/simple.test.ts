import { isObject, type JsonObject, type JsonValue } from '../../engine/json/json.ts';
import { createDocument } from '../support/document.ts';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { exchange } from '../support/exchange.ts';
import { loadModel } from '../support/model.ts';
import { documentedSchemas } from '../support/schemas.ts';
import { useServer } from '../support/server.ts';

const ABOUT = { title: 'Records', version: '1.2.3' };

const membersOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});
const schemasOf = (document: JsonObject): JsonObject => membersOf(membersOf(document['components'])['schemas']);

/** Every object and array within, with the way to it. */
function* within(value: JsonValue, way: readonly string[] = []): Generator<readonly [readonly string[], JsonObject]> {
  if (isObject(value)) yield [way, value];
  if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* within(inner as JsonValue, [...way, key]);
}

/** Words of JSON Schema that 3.0 lacks, in places where schemas stand. */
const NEWER = 'const examples not prefixItems if dependentRequired exclusiveMinimum $defs default'.split(' ');
const inSchemas = (way: readonly string[]): boolean =>
  way.includes('schema') || (way[1] === 'schemas' && way.at(-1) !== 'properties');

describe.each(documentedSchemas())('$name', ({ directory }) => {
  const model = loadModel(directory);
  const simple = createDocument(model, ABOUT, 'simple');
  const all = [...within(simple)];

  it('uses only OpenAPI 3.0, without dangling references', () => {
    const words = all.flatMap(([way, object]) =>
      inSchemas(way) && !way.includes('example')
        ? [...NEWER.filter((word) => word in object), ...(Array.isArray(object['type']) ? ['types'] : [])].map(
            (word) => `${way.join('/')}: ${word}`,
          )
        : [],
    );
    expect(words).toEqual([]);
    const components = membersOf(simple['components']);
    const lost = all.flatMap(([, { $ref }]) => {
      const [, , section = '', name = ''] = String($ref ?? '').split('/');
      return $ref === undefined || name in membersOf(components[section]) ? [] : [$ref];
    });
    expect(lost).toEqual([]);
  });

  it('has one JSON response for each success, and no object parameters', () => {
    const text = JSON.stringify(simple);
    expect(text).not.toMatch(/"(?:204|304)":|deepObject|ndjson|text\/csv|dry-run|"name":"(?:include|fields|variant)"/);
    for (const [way, object] of all)
      if (way.at(-1) === 'requestBody') expect(Object.keys(membersOf(object['content']))).toEqual(['application/json']);
  });

  it('has no recursive schemas', () => {
    const refsOf = (name: string): readonly string[] =>
      [...JSON.stringify(schemasOf(simple)[name]).matchAll(/schemas\/(\w+)/g)].map(([, one = '']) => one);
    const walk = (name: string, open: readonly string[]): void => {
      expect(open).not.toContain(name);
      for (const one of new Set(refsOf(name))) walk(one, [...open, name]);
    };
    for (const name of Object.keys(schemasOf(simple))) walk(name, []);
  });
});

describe('against the service', () => {
  const tokens = { all: createToken(), some: createToken() };
  const lines = [
    tokenLine({ name: 'all', read: 'all', write: 'all' }, tokens.all),
    tokenLine({ name: 'some', read: new Set(['TaxClass']), write: new Set() }, tokens.some),
  ];
  const server = useServer({ settings: { tokens: lines.join(';'), corsOrigins: ['https://shop.example'] } });

  const bearer = (token: string): { readonly authorization: string } => ({ authorization: `Bearer ${token}` });

  test('a token sees what it may see, pages of named origins may read it, and other profiles are refused', async () => {
    const origin = 'https://shop.example';
    for (const path of ['/openapi.json', '/openapi.json?profile=simple', '/openapi.yaml?profile=simple']) {
      const asked = {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      };
      const preflight = await exchange(server.url, `OPTIONS ${path}`, { headers: asked });
      expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, origin]);
      const { headers, text } = await exchange(server.url, `GET ${path}`, {
        headers: { origin, ...bearer(tokens.some) },
      });
      expect(headers['access-control-allow-origin']).toBe(origin);
      expect(headers.vary).toBe('Origin, Authorization, Accept-Encoding');
      expect([text.includes('/tax-classes'), text.includes('createTaxClass'), text.includes('/tmp-vars')]).toEqual([
        true,
        false,
        false,
      ]);
    }
    const stranger = await exchange(server.url, 'GET /openapi.json', { headers: { origin: 'https://other.example' } });
    expect(stranger.headers['access-control-allow-origin']).toBeUndefined();
    for (const [query, parameters, message] of [
      ['foo=1', ['foo'], 'Unknown parameter "foo"'],
      ['profil=simple', ['profil'], 'did you mean "profile"?'],
      ['profile=simple&_=17', ['_'], 'Unknown parameter "_"'],
      ['profile=simple&profile=full', ['profile'], '"profile" is given twice'],
      ['profile=&b=1', ['b', 'profile'], 'Unknown parameter "b"'],
    ] as const)
      for (const path of ['/openapi.json', '/openapi.yaml']) {
        const { status, text } = await exchange(server.url, `GET ${path}?${query}`);
        const { message: told, errors } = JSON.parse(text);
        expect([status, errors.map(({ parameter }: { parameter: string }) => parameter)]).toEqual([400, parameters]);
        expect(told).toContain(message);
      }
    const wrong = await exchange(server.url, 'GET /openapi.json?profile=smple');
    expect([wrong.status, JSON.parse(wrong.text).detail]).toEqual([
      400,
      '"smple" is not a profile of the document; there are full and simple',
    ]);
    expect((await exchange(server.url, 'OPTIONS /openapi.json')).status).toBe(405);
  });
});
