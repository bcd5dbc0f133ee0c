/** Titles of types, fields and values: from the descriptor, else made from the name. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { labelAmong, type Model } from '../../engine/model/model.ts';
import { didYouMean, nearest, pluralOf, titleFrom } from '../../engine/names.ts';
import { createDocument } from '../support/document.ts';
import { loadModel } from '../support/model.ts';

test.each([
  ['name', 'Name', 'Names'],
  ['shortName', 'Short name', 'Short names'],
  ['providerOneVATRate', 'Provider one VAT rate', 'Provider one VAT rates'],
  ['TaxClass', 'Tax class', 'Tax classes'],
  ['tax_class', 'Tax class', 'Tax classes'],
  ['markup_id', 'Markup ID', 'Markup IDs'],
  ['id', 'ID', 'IDs'],
  ['iconURL', 'Icon URL', 'Icon URLs'],
  ['html_text', 'HTML text', 'HTML texts'],
  ['line2', 'Line2', 'Line2'],
  ['_', '_', '_'],
  ['straßenName', 'Straßen name', 'Straßen names'],
  ['имяПоля', 'имяПоля', 'имяПоля'],
  ['商品_名', '商品_名', '商品_名'],
  ['', '', ''],
])('%j is called %j, and several %j', (name, title, many) => {
  expect([titleFrom(name), pluralOf(title)]).toEqual([title, many]);
});

test.each([
  ['etat', '; did you mean "état"?'],
  ['e\u0301tat', '; "état" must be written in Unicode form NFC'],
  ['e\u0301te\u0301', '; "été" must be written in Unicode form NFC'],
  ['e\u0301tatt', '; did you mean "état"?'],
  ['x', ''],
])('%j is unknown%s', (name, hint) => {
  expect(didYouMean(name, ['état', 'été'])).toBe(hint);
});

test.each([
  ['owner_id', 'owner'],
  ['ownerId', 'owner'],
  ['ownerID', 'owner'],
  ['owner_ids', 'owner'],
  ['owners', 'owner'],
  ['owners_id', 'owner'],
  ['city', 'cities'],
  ['cities_id', 'cities'],
  ['person', 'people'],
  ['box_id', 'box'],
  ['BOX', 'box'],
  ['seat', 'seat_id'],
  ['seats', 'seat_id'],
  ['stamp', 'stampId'],
  ['ids', 'id'],
  ['ownr', 'owner'],
  ['grid', undefined],
])('%s probably means %s', (name, meant) => {
  const known = [
    'cities',
    'box',
    'boxing',
    'boxes',
    'own_id',
    'owner_ip',
    'people',
    'seat_id',
    'stampId',
    'owner',
    'id',
  ];
  expect(nearest(name, known)).toBe(meant);
});

function modelOf(...descriptors: readonly string[]): Model {
  const folder = mkdtempSync(join(tmpdir(), 'titles-'));
  for (const [index, text] of descriptors.entries()) writeFileSync(join(folder, `${index}.yaml`), text);
  return loadModel(folder);
}

const labelOf = (fields: string, rest = ''): string | undefined => {
  const type = modelOf(`type: One\n${rest}fields: { ${fields} }`).types.get('One');
  return type && labelAmong(type, type.defaultVariant.fields)?.name;
};

test.each([
  ['a: { type: string }, b: { type: string, unique: true }', '', 'b'],
  ['a: { type: string, unique: true }, b: { type: string, required: true }', '', 'b'],
  ['a: { type: string, required: true }, b: { type: string, required: true, unique: true }', '', 'b'],
  ['a: { type: string }, b: { type: string, required: true, sensitive: true }', '', 'a'],
  ['n: { type: integer, unique: true }, a: { type: string }, b: { type: string }', '', 'a'],
  ['a: { type: string, sensitive: true, unique: true }, b: { type: string }', '', 'b'],
  ['a: { type: string, sensitive: true, unique: true }', '', undefined],
  ['a: { type: string, sensitive: true, unique: true }', 'label: a\n', 'a'],
  ['a: { type: string, generated: createdBy }, b: { type: string, multiline: true }', '', undefined],
  ['a: { type: string, enum: [x, y], required: true }, b: { type: string }', '', 'b'],
  ['a: { type: string, enum: [x, y], required: true, unique: true }', '', undefined],
  ['a: { type: string, enum: [x, y] }', 'label: a\n', 'a'],
  ['a: { type: string }, n: { type: integer }', 'label: n\n', 'n'],
  ['a: { type: string }, b: { type: string }', 'label: b\nvariants: { default: v, omit: { v: [b] } }\n', 'a'],
  ['n: { type: integer }', '', undefined],
])('{ %s } %j: the label is %j', (fields, rest, expected) => {
  expect(labelOf(fields, rest)).toBe(expected);
});

const COURIER = `type: Courier
title: { one: Courier service, many: Courier services }
description: Somebody who brings books to borrowers.
label: shortName
fields:
  shortName: { type: string, maxLength: 40, required: true }
  vatID: { type: string, maxLength: 20, unique: true, title: VAT number }
  pace: { type: string, enum: [same_day, wk], default: wk, titles: { wk: Within a week } }
  terms: { type: string, multiline: true }
`;

test('titles and label, in the model and in both profiles of OpenAPI', () => {
  const model = modelOf(COURIER);
  const type = model.types.get('Courier');
  expect(type).toMatchObject({
    title: { one: 'Courier service', many: 'Courier services' },
    label: { name: 'shortName' },
  });
  const about = { title: 'T', version: '1' };
  for (const profile of ['full', 'simple'] as const) {
    const { components } = createDocument(model, about, profile) as unknown as {
      components: { schemas: Record<string, { title?: string; properties: object }> };
    };
    expect(components.schemas['Courier']).toMatchObject({
      title: 'Courier service',
      properties: {
        id: { title: 'ID' },
        shortName: { title: 'Short name' },
        vatID: { title: 'VAT number' },
        pace: { title: 'Pace', enum: ['same_day', 'wk'], 'x-enum-descriptions': ['Same day', 'Within a week'] },
        terms: { title: 'Terms', 'x-multiline': true },
      },
    });
  }
});
