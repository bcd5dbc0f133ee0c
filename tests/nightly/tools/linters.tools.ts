/** Findings of public linters in the OpenAPI documents. */
import type { JsonObject } from '../../../engine/json/json.ts';
import { createDocument } from '../../support/document.ts';
import { loadModel } from '../../support/model.ts';
import { lint } from './linters.ts';

const ABOUT = { title: 'Records', version: '1.2.3' };

test.each(['tests/fixtures/store', 'tests/fixtures/schemas/every-field-type'])(
  'linters find nothing in the documents of %s',
  async (directory) => {
    const model = loadModel(directory);
    const [full, simple] = [createDocument(model, ABOUT), createDocument(model, ABOUT, 'simple')];
    expect(await lint({ full, simple })).toEqual({ redocly: [], spectral: [] });
  },
);

test('linters find what is planted', async () => {
  type Mutable = { [key: string]: Mutable };
  const small = createDocument(loadModel('tests/fixtures/schemas/only-identifier'), ABOUT);
  const planted = structuredClone(small) as unknown as Mutable;
  delete planted['paths']?.['/api/things']?.['get']?.['operationId'];
  delete planted['components']?.['schemas']?.['Thing'];
  const { redocly, spectral } = await lint({ planted: planted as unknown as JsonObject });
  expect(redocly.map(({ rule }) => rule)).toEqual(
    expect.arrayContaining(['operation-operationId', 'no-unresolved-refs']),
  );
  expect(spectral.map(({ rule }) => rule)).toEqual(expect.arrayContaining(['operation-operationId', 'invalid-ref']));
});
