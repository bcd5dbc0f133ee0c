/** The OpenAPI document: what it is made of, and that its bodies are the ones that the service accepts. */
import fc from 'fast-check';
import { checkSchema } from '../../engine/check.ts';
import { isObject, type JsonObject, type JsonValue } from '../../engine/json.ts';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { createDocument } from '../../engine/openapi/document.ts';
import { changeExample, creationExample, recordExample } from '../../engine/openapi/examples.ts';
import { type ProblemCode, problemKinds } from '../../engine/problem.ts';
import { loadModel } from '../support/model.ts';
import { schemasOf } from '../support/openapi/schemas.ts';
import { randomBody } from '../support/random-body.ts';
import { shippedSchema } from '../support/shipped.ts';
import { fixtureSchemas, manyTypes, wideSchema } from '../support/schemas.ts';

const ABOUT = { title: 'Records', version: '1.2.3' };
const folders = [{ name: 'schema', directory: 'schema' }, ...fixtureSchemas, { name: 'wide', directory: wideSchema() }];
const models = folders.map(({ name, directory }) => ({ name, directory, model: loadModel(directory) }));
const documentOf = (model: Model): JsonObject => createDocument(model, ABOUT);
const served = (model: Model): readonly RecordType[] =>
  [...model.types.values()].filter(({ operations }) => operations.size > 0);

const shipped = documentOf(loadModel(shippedSchema()));
const schemas = schemasOf(shipped);

/** The operations of a document, each with its path and method. */
function operationsOf(document: JsonObject): readonly { method: string; path: string; operation: JsonObject }[] {
  return Object.entries(document['paths'] ?? {}).flatMap(([path, item]) =>
    Object.entries<JsonValue>(item)
      .filter(([method]) => method !== 'parameters')
      .flatMap(([method, operation]) => (isObject(operation) ? [{ method, path, operation }] : [])),
  );
}

describe('the shipped document', () => {
  test('has the operations of the interface', () => {
    const outline = operationsOf(shipped).map(
      ({ method, path, operation: { operationId, responses } }) =>
        `${method.toUpperCase()} ${path} ${String(operationId)} ${Object.keys(responses ?? {}).join(' ')}`,
    );
    expect(outline).toMatchSnapshot();
  });

  test('names these things', () => {
    const components = Object.entries(shipped['components'] ?? {});
    expect(components.map(([section, entries]) => [section, Object.keys(entries ?? {})])).toMatchSnapshot();
  });

  test('lists markups by these parameters', () => {
    const parameters = schemas.at('paths', '/api/shipping-markups', 'get', 'parameters');
    const names = Array.isArray(parameters)
      ? parameters.map((_, index) =>
          schemas.at('paths', '/api/shipping-markups', 'get', 'parameters', String(index), 'name'),
        )
      : [];
    expect(names).toMatchSnapshot();
  });

  test('shows a relation, and behind it no other', () => {
    const zone = schemas.at('components', 'schemas', 'RelatedZone', 'properties');
    expect(Object.keys(zone ?? {})).toEqual(['zone_id', 'zone_name', 'is_default']);
    const taxClass = schemas.at('components', 'schemas', 'RelatedSalesTaxRateTaxClass', 'properties');
    expect(Object.keys(taxClass ?? {})).toEqual(['id', 'position']);
  });

  test('knows every problem but those of paths and methods that it has not', () => {
    const documented = new Set(JSON.stringify(shipped).match(/(?<=#\/components\/examples\/)[\w-]+/g));
    const elsewhere: readonly ProblemCode[] = [
      'path-not-found',
      'method-not-allowed',
      'precondition-required',
      // Of what is no request yet.
      'bad-request',
      'request-timeout',
      'misdirected-request',
      'headers-too-large',
    ];
    const expected = Object.keys(problemKinds).filter((code) => !elsewhere.some((other) => other === code));
    expect([...documented].toSorted()).toEqual(expected.toSorted());
  });
});

test('a type that needs preconditions says so', () => {
  const document = documentOf(loadModel('tests/fixtures/schemas/preconditions-required'));
  const put = operationsOf(document).find(({ method }) => method === 'put');
  expect(Object.keys(put?.operation['responses'] ?? {})).toContain('428');
  expect(JSON.stringify(put?.operation['parameters'])).toContain('If-Match-Required');
});

test.each(models)('the document of $name is frozen, made of ASCII names, and always the same', ({ model }) => {
  const document = documentOf(model);
  expect(document).toEqual(documentOf(model));
  expect(Object.isFrozen(document['paths'])).toBe(true);
  const ids = operationsOf(document).map(({ operation }) => String(operation['operationId']));
  const names = Object.values(document['components'] ?? {}).flatMap((section) => Object.keys(section ?? {}));
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids, ...names].filter((name) => !/^[A-Za-z][\w-]*$/.test(name))).toEqual([]);
});

test('300 types have 600 paths', () => {
  expect(Object.keys(documentOf(loadModel(manyTypes()))['paths'] ?? {})).toHaveLength(600);
});

/** Bodies that a type takes, and such as differ from them in one value. */
function bodiesOf(type: RecordType): readonly JsonObject[] {
  const good = [creationExample(type), changeExample(type), recordExample(type), {}, { noSuchKey: 1 }];
  const random = fc.sample(
    fc.gen().map((gen) => randomBody(type, gen, ({ target }) => ({ [target.identifier.name]: 1 }))),
    { numRuns: 30, seed: 7 },
  );
  const values = type.defaultVariant.fields.flatMap((field) =>
    [null, ...field.type.edges(field), ...field.type.bad(field)].map((value) => ({ [field.name]: value })),
  );
  const relations = [...type.relations.values()].flatMap(({ name, target }) => {
    const id = target.identifier.name;
    const links = [null, 1, {}, { [id]: 1 }, { [id]: 0 }, { [id]: null }, { [id]: '1' }, { noSuchKey: 1 }];
    return links.flatMap((link) => [{ [name]: link }, { [name]: [link] }] as JsonObject[]);
  });
  const { name } = type.identifier;
  const identifiers = [1, 0, null, '1', 2 ** 52, 2 ** 52 + 1, 2 ** 53].map((value) => ({ [name]: value }));
  const complete = [...values, ...relations, ...identifiers].map((part) => ({ ...creationExample(type), ...part }));
  return [...good, ...random, ...values, ...relations, ...identifiers, ...complete];
}

/** What no JSON Schema can say: strings must be well-formed, and hold no U+0000. */
const isClean = (body: JsonObject): boolean => !/\\u(0000|d[89a-f])/.test(JSON.stringify(body));

/** And that a body says of one record two things, or the same twice. */
const BEYOND_SCHEMA: ReadonlySet<string> = new Set(['contradiction', 'duplicate']);

describe.each(models)('bodies of $name', ({ directory, model }) => {
  const documented = schemasOf(documentOf(model));
  const { schema } = checkSchema(directory);
  const types = schema === undefined ? [] : served(schema.model);

  test.each(types)('are refused by the document where $name refuses them, and nowhere else', (type) => {
    const validators = schema?.validatorsOf(type);
    const item = `/api/${encodeURIComponent(type.path)}`;
    const places = [
      ['create', [item, 'post']],
      ['update', [`${item}/{id}`, 'put']],
    ] as const;
    for (const [operation, path] of places) {
      if (!type.operations.has(operation)) continue;
      const validate = validators?.[operation](type.defaultVariant);
      const outcomes = bodiesOf(type)
        .filter(isClean)
        .map((body) => ({ body, refused: (validate?.(body) ?? []).some(({ code }) => !BEYOND_SCHEMA.has(code)) }));
      const media = ['requestBody', 'content', 'application/json', 'schema'];
      const differing = outcomes.filter(({ body, refused }) => {
        return documented.faults(body, 'paths', ...path, ...media).length > 0 !== refused;
      });
      expect(differing.slice(0, 5)).toEqual([]);
      expect(outcomes.some(({ refused }) => refused)).toBe(true);
      expect(outcomes.some(({ refused }) => !refused)).toBe(true);
    }
  });
});
