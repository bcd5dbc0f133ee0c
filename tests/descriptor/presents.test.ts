/** Words of descriptors about how people see records: checked, in the model, in OpenAPI and for user interfaces. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDescriptors } from '../../engine/descriptor/load.ts';
import { describeType } from '../../engine/describe/describe.ts';
import { resolveModel } from '../../engine/model/resolve.ts';
import { createDocument } from '../support/document.ts';

const CITY = 'type: City\nfields: { name: { type: string }, code: { type: string } }\n';
const person = (words: string, fields = ''): string =>
  `type: Person\n${words}fields: { first: { type: string }, last: { type: string }, ${fields} }\nrelations: { city: { kind: belongsTo, type: City }, friends: { kind: manyToMany, type: Person } }\n`;

function loaded(...descriptors: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'presents-'));
  for (const [index, text] of descriptors.entries()) writeFileSync(join(folder, `${index}.yaml`), text);
  return loadDescriptors(folder);
}

test.each([
  [person(`label: '{last}, {first}'\n`), []],
  [person(`label: '{last} ({city.name})'\n`), []],
  [person(`label: '{lst}'\n`), ['unknown-field']],
  [person(`label: '{city.nam}'\n`), ['unknown-field']],
  [person(`label: '{city.name.x}'\n`), ['unknown-field']],
  [person(`label: '{friends.last}'\n`), ['unknown-field']],
  [person('section: People\nlist: { columns: [last, city, id], order: [last desc, first] }\n'), []],
  [person('list: { columns: [friends] }\n'), ['unknown-field']],
  [person('list: { order: [lst] }\n'), ['unknown-field']],
  [person('list: { order: [city] }\n'), ['unknown-field']],
  [person('list: { order: [last, last desc] }\n'), ['repeated-item']],
  [person('', 'a: { type: decimal, shows: percent }, b: { type: decimal, shows: { money: EUR } }'), []],
  [person('', 'a: { type: integer, shows: { money: last } }, b: { type: integer, shows: bytes }'), []],
  [person('', 'a: { type: integer, shows: { money: lasst } }'), ['unknown-field']],
  [person('', 'a: { type: integer, shows: time }, b: { type: string, shows: image }'), []],
  [person('', 'a: { type: string, shows: bytes }'), ['unknown-value']],
  [person('', 'a: { type: integer, shows: image }'), ['unknown-value']],
  [person('', 'a: { type: boolean, shows: percent }'), ['misplaced-key']],
  [person('', 'a: { type: decimal, shows: { mony: EUR } }'), ['unknown-key']],
])('%j: %j', (descriptor, codes) => {
  const { diagnostics } = loaded(CITY, descriptor);
  expect(diagnostics.map(({ code }) => code).toSorted()).toEqual(codes);
});

test('they are described as they were written, and OpenAPI has them as extensions', () => {
  const { files } = loaded(
    CITY,
    person(
      `label: '{last}, {first}'\nsection: People\nlist: { columns: [last, city], order: [last desc] }\n`,
      'debt: { type: decimal, shows: { money: EUR } }, share: { type: decimal, shows: percent }',
    ),
  );
  const model = resolveModel(files.map(({ descriptor }) => descriptor));
  const type = model.types.get('Person');
  expect(type && describeType(type)).toMatchObject({
    label: '{last}, {first}',
    section: 'People',
    list: { columns: ['last', 'city'], order: ['last desc'] },
    fields: { debt: { shows: { money: 'EUR' } }, share: { shows: 'percent' } },
  });
  expect(type?.label?.name).toBe('last');
  const { components } = createDocument(model, { title: 'T', version: '1' }) as unknown as {
    components: { schemas: Record<string, { properties: object }> };
  };
  expect(components.schemas['Person']).toMatchObject({
    'x-label': '{last}, {first}',
    'x-section': 'People',
    'x-list': { columns: ['last', 'city'], order: ['last desc'] },
    properties: { debt: { 'x-shows': { money: 'EUR' } }, share: { 'x-shows': 'percent' } },
  });
});
