import { isObject, type JsonObject, type JsonValue } from '../../engine/json/json.ts';
import type { Model } from '../../engine/model/model.ts';
import { createDocument } from '../support/document.ts';
import { type ProblemCode, problemKinds } from '../../engine/problem.ts';
import { loadModel } from '../support/model.ts';
import { schemasOf } from '../support/openapi/schemas.ts';
import { documentedSchemas } from '../support/schemas.ts';

const ABOUT = { title: 'Records', version: '1.2.3' };
const models = documentedSchemas().map(({ name, directory }) => ({ name, model: loadModel(directory) }));
const documentOf = (model: Model): JsonObject => createDocument(model, ABOUT);

const shipped = documentOf(loadModel('tests/fixtures/store'));
const schemas = schemasOf(shipped);

function operationsOf(document: JsonObject): readonly { method: string; path: string; operation: JsonObject }[] {
  return Object.entries(document['paths'] ?? {}).flatMap(([path, item]) =>
    Object.entries<JsonValue>(item)
      .filter(([method]) => method !== 'parameters')
      .flatMap(([method, operation]) => (isObject(operation) ? [{ method, path, operation }] : [])),
  );
}

describe('the shipped document', () => {
  test('knows every problem but those of paths and methods that it has not', () => {
    const { responses } = shipped['components'] as { readonly responses: JsonObject };
    const documented = new Set(JSON.stringify(responses).match(/(?<="type":"urn:problem:)[a-z-]+/g));
    const elsewhere: readonly ProblemCode[] = [
      'path-not-found',
      'method-not-allowed',
      'precondition-required',
      'bad-request',
      'request-timeout',
      'misdirected-request',
      'headers-too-large',
      'origin-not-allowed',
      'http-version-not-supported',
      'cursor-expired',
    ];
    const expected = Object.keys(problemKinds).filter((code) => !elsewhere.some((other) => other === code));
    expect([...documented].toSorted()).toEqual(expected.toSorted());
  });
});

describe('nested bodies', () => {
  const properties = (name: string): readonly string[] =>
    Object.keys(schemas.at('components', 'schemas', name, 'properties') ?? {});
  const faults = (body: object): readonly string[] =>
    schemas.faults(body, 'components', 'schemas', 'ShippingMarkupInput');

  test('leave out the relation that leads back, and of links all but the identifier', () => {
    const zone = loadModel('tests/fixtures/store').types.get('Zone');
    expect([...(zone?.relations.keys() ?? [])]).toContain('shipping_markups');
    expect(properties('ShippingMarkupZoneInput')).toEqual(expect.arrayContaining(['zone_id', 'zone_name']));
    expect(properties('ShippingMarkupZoneInput')).not.toContain('shipping_markups');
    expect(properties('LinkedShippingMarkup')).toEqual(['markup_id']);
  });

  test.each<[body: object, isRefused: boolean]>([
    [
      { zone: { zone_id: 1, zone_name: 'North', shipping_markups: [{ markup_id: 1, min_total: '0.00', zone: null }] } },
      false,
    ],
    [{ zone: { zone_id: 1, zone_elements: [{ id: 1, anything: true }] } }, false],
    [{ zone: { zone_id: 1, zone_nmae: 'North' } }, true],
    [{ zone: { zone_id: '1' } }, true],
  ])('%j', (body, isRefused) => {
    expect(faults(body).length > 0).toBe(isRefused);
  });
});

test.each([
  [['json-server', 'simple-rest'], 'below `/json-server` and `/simple-rest`'],
  [['simple-rest'], 'below `/simple-rest`,'],
  [[], undefined],
] as const)('the description names the dialects that are served: %j', (dialects, named) => {
  const { info } = createDocument(loadModel('tests/fixtures/store'), { ...ABOUT, dialects });
  const text = isObject(info) ? String(info['description']) : '';
  expect(text.includes('**Admin frameworks**')).toBe(named !== undefined);
  expect(text).toContain(named ?? 'HEAD works');
});

test.each(models)(
  'the document of $name is made of ASCII names, refers only to its components and to all of them, and is always the same',
  ({ model }) => {
    const document = documentOf(model);
    expect(document).toEqual(documentOf(model));
    const ids = operationsOf(document).map(({ operation }) => String(operation['operationId']));
    const names = Object.values(document['components'] ?? {}).flatMap((section) => Object.keys(section ?? {}));
    expect(new Set(ids).size).toBe(ids.length);
    expect([...ids, ...names].filter((name) => !/^[A-Za-z][\w-]*$/.test(name))).toEqual([]);
    for (const one of [document, createDocument(model, ABOUT, 'simple')]) {
      const referred = new Set(JSON.stringify(one).match(/(?<="#\/components\/)[^"]+/g));
      const made = Object.entries(one['components'] ?? {}).flatMap(([section, all]) =>
        Object.keys(all ?? {}).map((name) => `${section}/${name}`),
      );
      expect([...referred].toSorted()).toEqual(made.toSorted());
    }
  },
);
