/** What public linters say of the OpenAPI documents of every schema. */
import type { JsonObject } from '../../engine/json.ts';
import type { Model } from '../../engine/model/model.ts';
import { createDocument, type Profile, secured } from '../../engine/openapi/document.ts';
import { readSettings } from '../../engine/settings.ts';
import { loadModel } from '../support/model.ts';
import { fixtureSchemas, wideSchema } from '../support/schemas.ts';
import { judged, lint, lintSecurity } from './linters.ts';

const folders = [{ name: 'schema', directory: 'schema' }, ...fixtureSchemas, { name: 'wide', directory: wideSchema() }];
const ABOUT = { title: 'Records', version: '1.2.3', limits: readSettings({}) };
const documentOf = (model: Model, profile?: Profile): JsonObject => createDocument(model, ABOUT, profile);

/** Fields of all types, with most of the words that they take. */
const EVERY_WORD = 'tests/fixtures/schemas/every-field-type';

/** A copy that may be changed. */
type Mutable = { [key: string]: Mutable };
const copyOf = (document: JsonObject): Mutable => structuredClone(document) as unknown as Mutable;

test('linters find nothing in the documents of any schema', async () => {
  const documents = folders.map(({ name, directory }) => [name, documentOf(loadModel(directory))] as const);
  const simple = documentOf(loadModel('schema'), 'simple');
  const words = documentOf(loadModel(EVERY_WORD), 'simple');
  expect(await lint({ ...Object.fromEntries(documents), simple, words })).toEqual({ redocly: [], spectral: [] });
});

test('the rules of OWASP find nothing that has no reason', async () => {
  const documents = { schema: 'schema', words: EVERY_WORD };
  const both = Object.entries(documents).flatMap(([name, directory]) => {
    const model = loadModel(directory);
    const guarded = (profile: Profile): JsonObject => secured(documentOf(model, profile), true);
    return [
      [name, guarded('full')],
      [`${name}-simple`, guarded('simple')],
    ] as const;
  });
  expect(judged(await lintSecurity(Object.fromEntries(both)))).toEqual({ faults: [], idle: [] });
});

test('the rules of OWASP find what is planted', async () => {
  const planted = copyOf(documentOf(loadModel('tests/fixtures/schemas/only-identifier')));
  const header = { in: 'header', name: 'x', description: 'x', schema: { type: 'string' } };
  Object.assign(planted['components']?.['parameters'] ?? {}, { Planted: header });
  const { faults } = judged(await lintSecurity({ planted: planted as unknown as JsonObject }));
  expect(faults.map(({ rule }) => rule)).toEqual(
    expect.arrayContaining(['owasp:api2:2023-write-restricted', 'owasp:api4:2023-string-limit']),
  );
});

test('linters find what is planted', async () => {
  const planted = copyOf(documentOf(loadModel('schema')));
  delete planted['paths']?.['/api/tax-classes']?.['get']?.['operationId'];
  delete planted['components']?.['schemas']?.['TaxClass'];
  const { redocly, spectral } = await lint({ planted: planted as unknown as JsonObject });
  expect(redocly.map(({ rule }) => rule)).toEqual(
    expect.arrayContaining(['operation-operationId', 'no-unresolved-refs']),
  );
  expect(spectral.map(({ rule }) => rule)).toEqual(expect.arrayContaining(['operation-operationId', 'invalid-ref']));
});
