/** What public linters say of the OpenAPI documents of every schema. */
import type { JsonObject } from '../../engine/json.ts';
import type { Model } from '../../engine/model/model.ts';
import { createDocument } from '../../engine/openapi/document.ts';
import { loadModel } from '../support/model.ts';
import { fixtureSchemas, wideSchema } from '../support/schemas.ts';
import { lint } from './linters.ts';

const folders = [{ name: 'schema', directory: 'schema' }, ...fixtureSchemas, { name: 'wide', directory: wideSchema() }];
const documentOf = (model: Model): JsonObject => createDocument(model, { title: 'Records', version: '1.2.3' });

/** A copy that may be changed. */
type Mutable = { [key: string]: Mutable };
const copyOf = (document: JsonObject): Mutable => structuredClone(document) as unknown as Mutable;

test('linters find nothing in the documents of any schema', async () => {
  const documents = folders.map(({ name, directory }) => [name, documentOf(loadModel(directory))] as const);
  const simple = createDocument(loadModel('schema'), { title: 'Records', version: '1.2.3' }, 'simple');
  expect(await lint({ ...Object.fromEntries(documents), simple })).toEqual({ redocly: [], spectral: [] });
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
