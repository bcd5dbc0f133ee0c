/** The service accepts exactly the bodies that the OpenAPI document describes. */
import { checkSchema } from '../../engine/validation/check-schema.ts';
import { validatorsOf } from '../../engine/validation/compile.ts';
import type { JsonObject } from '../../engine/json/json.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { createDocument } from '../support/document.ts';
import { badValues } from '../../engine/suite/samples.ts';
import { changeExample, creationExample, recordExample } from '../../engine/openapi/examples.ts';
import { schemasOf } from '../support/openapi/schemas.ts';
import { drawn } from '../support/sample.ts';
import { randomBody } from '../support/random-body.ts';
import { documentedSchemas } from '../support/schemas.ts';
import fc from '../support/fast-check.ts';
import { isWhole } from '../support/whole.ts';

const checked = documentedSchemas().map(({ name, directory }) => ({ name, model: checkSchema(directory).model }));

function bodiesOf(type: RecordType): readonly JsonObject[] {
  const good = [creationExample(type), changeExample(type), recordExample(type), {}, { noSuchKey: 1 }];
  const random = fc.sample(
    fc.gen().map((gen) => randomBody(type, gen, ({ target }) => ({ [target.identifier.name]: 1 }))),
    { numRuns: drawn(30) },
  );
  const values = type.defaultVariant.fields.flatMap((field) =>
    [null, ...field.type.edges(field), ...badValues(field)].map((value) => ({
      [field.name]: value,
    })),
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
const BEYOND_SCHEMA: ReadonlySet<string> = new Set(['contradiction', 'cycle', 'duplicate']);

describe.each(isWhole ? checked : checked.filter(({ name }) => name !== 'wide'))('bodies of $name', ({ model }) => {
  if (model === undefined) throw new Error('check refuses the schema');
  const documented = schemasOf(createDocument(model, { title: 'Records', version: '1.2.3' }));
  const types = [...model.types.values()].filter(({ operations }) => operations.size > 0);

  test.each(types)('are refused by the document where $name refuses them, and nowhere else', (type) => {
    const validators = validatorsOf(model)(type);
    const item = `/api/${encodeURIComponent(type.path)}`;
    const places = [
      ['create', [item, 'post']],
      ['update', [`${item}/{id}`, 'put']],
    ] as const;
    for (const [operation, path] of places) {
      if (!type.operations.has(operation)) continue;
      const validate = validators[operation](type.defaultVariant);
      const outcomes = bodiesOf(type)
        .filter(isClean)
        .map((body) => ({
          body,
          refused: validate([{ body, identifier: undefined, pointer: '' }]).some(
            ({ code }) => !BEYOND_SCHEMA.has(code),
          ),
        }));
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
