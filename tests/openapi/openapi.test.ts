/** What the OpenAPI document is made of. */
import { isObject, type JsonObject, type JsonValue } from '../../engine/json.ts';
import type { Model } from '../../engine/model/model.ts';
import { createDocument } from '../../engine/openapi/document.ts';
import { type ProblemCode, problemKinds } from '../../engine/problem.ts';
import { loadModel } from '../support/model.ts';
import { schemasOf } from '../support/openapi/schemas.ts';
import { shippedSchema } from '../support/shipped.ts';
import { fixtureSchemas, manyTypes, wideSchema } from '../support/schemas.ts';

const ABOUT = { title: 'Records', version: '1.2.3' };
const folders = [{ name: 'schema', directory: 'schema' }, ...fixtureSchemas, { name: 'wide', directory: wideSchema() }];
const models = folders.map(({ name, directory }) => ({ name, model: loadModel(directory) }));
const documentOf = (model: Model): JsonObject => createDocument(model, ABOUT);

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
      // Of agents.
      'origin-not-allowed',
    ];
    const expected = Object.keys(problemKinds).filter((code) => !elsewhere.some((other) => other === code));
    expect([...documented].toSorted()).toEqual(expected.toSorted());
  });

  it('names each response by its meaning, without numbers', () => {
    const { responses } = shipped['components'] as { readonly responses: JsonObject };
    const names = Object.keys(responses);
    expect(names.filter((name) => !/^[a-z]+$/i.test(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['InvalidQueryOrIdentifier', 'IdentifierOrUniqueConflict']));
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

test('300 types have 900 paths', () => {
  expect(Object.keys(documentOf(loadModel(manyTypes()))['paths'] ?? {})).toHaveLength(900);
});
