/** What public linters say of the OpenAPI documents: of every schema, or, in the gate, of two. */
import type { JsonObject } from '../../engine/json.ts';
import type { Model } from '../../engine/model/model.ts';
import { createDocument, type Profile, secured } from '../../engine/openapi/document.ts';
import { readSettings } from '../../engine/settings.ts';
import { loadModel } from '../support/model.ts';
import { isWhole } from '../support/sample.ts';
import { fixtureSchemas, wideSchema } from '../support/schemas.ts';
import { judged, lint, lintSecurity } from './linters.ts';

const ABOUT = { title: 'Records', version: '1.2.3', limits: readSettings({}) };
const documentOf = (model: Model, profile?: Profile): JsonObject => createDocument(model, ABOUT, profile);

/** Fields of all types, with most of the words that they take. */
const EVERY_WORD = 'tests/fixtures/schemas/every-field-type';
const SMALL = 'tests/fixtures/schemas/only-identifier';

/** A copy that may be changed. */
type Mutable = { [key: string]: Mutable };
const copyOf = (document: JsonObject): Mutable => structuredClone(document) as unknown as Mutable;

const modelOf = { schema: loadModel('tests/fixtures/store'), words: loadModel(EVERY_WORD) };

type Named = Readonly<Record<string, JsonObject>>;
const both = (schema: Profile, words: Profile): Named => ({
  [`schema-${schema}`]: documentOf(modelOf.schema, schema),
  [`words-${words}`]: documentOf(modelOf.words, words),
});
/** Where there is little time, each linter reads two of the four. */
const read = (most: Named, rest: Named): Named => (isWhole ? { ...most, ...rest } : most);
const [one, other] = [both('full', 'simple'), both('simple', 'full')];

const others = isWhole ? [...fixtureSchemas, { name: 'wide', directory: wideSchema() }] : [];

test('linters find nothing in the documents of any schema', async () => {
  const further = others.map(({ name, directory }) => [name, documentOf(loadModel(directory))] as const);
  const documents = { ...Object.fromEntries(further), ...read(one, other) };
  expect(await lint(documents)).toEqual({ redocly: [], spectral: [] });
});

test('the rules of OWASP find nothing that has no reason', async () => {
  const guarded = Object.entries(read(other, one)).map(([name, document]) => [name, secured(document, true)] as const);
  expect(judged(await lintSecurity(Object.fromEntries(guarded)))).toEqual({ faults: [], idle: [] });
});

test('the rules of OWASP find what is planted', async () => {
  const planted = copyOf(documentOf(loadModel(SMALL)));
  const header = { in: 'header', name: 'x', description: 'x', schema: { type: 'string' } };
  Object.assign(planted['components']?.['parameters'] ?? {}, { Planted: header });
  const { faults } = judged(await lintSecurity({ planted: planted as unknown as JsonObject }));
  expect(faults.map(({ rule }) => rule)).toEqual(
    expect.arrayContaining(['owasp:api2:2023-write-restricted', 'owasp:api4:2023-string-limit']),
  );
});

test('linters find what is planted', async () => {
  const planted = copyOf(documentOf(loadModel(SMALL)));
  delete planted['paths']?.['/api/things']?.['get']?.['operationId'];
  delete planted['components']?.['schemas']?.['Thing'];
  const { redocly, spectral } = await lint({ planted: planted as unknown as JsonObject });
  expect(redocly.map(({ rule }) => rule)).toEqual(
    expect.arrayContaining(['operation-operationId', 'no-unresolved-refs']),
  );
  expect(spectral.map(({ rule }) => rule)).toEqual(expect.arrayContaining(['operation-operationId', 'invalid-ref']));
});
