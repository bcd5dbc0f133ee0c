/** Variants decide which fields are shown, accepted and filterable. */
import type { Field, Variant } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { entriesOf } from '../json-tree.ts';
import { cnd, parameter } from '../query-text.ts';
import { freshValue } from '../samples.ts';
import { collectionPath, guard, itemPath, MISSING_ID } from '../addresses.ts';
import { fullBody } from '../obtain.ts';
import { get, list, post, put, remove } from '../requests.ts';
import { refused } from '../scenario.ts';

const GROUP = 'variants';

const omitted = ({ type }: Context, variant: Variant): Field[] =>
  [...type.fields.values()].filter((field) => !variant.fields.includes(field));

function life(context: Context, variant: Variant): Case[] {
  const { type, seeds } = context;
  if (!type.operations.has('create')) return [];
  return caseOf(
    context,
    GROUP,
    `POST ${collectionPath(type)}?variant=${variant.name}, then each operation`,
    (scenario) => {
      const view = { variant: variant.name };
      const names = new Set(variant.fields.map(({ name }) => name));
      const body = Object.fromEntries(
        entriesOf(fullBody(scenario, type)).filter(([key]) => names.has(key) || !type.fields.has(key)),
      );
      const id = post(scenario, type, body, view);
      get(scenario, type, id, view);
      get(scenario, type, id);
      if (type.identifier.inRecord) list(scenario, type, [id], { view });
      for (const field of type.operations.has('update') ? variant.fields.filter(({ readOnly }) => !readOnly) : []) {
        put(scenario, type, id, { [field.name]: freshValue(field, seeds) }, view);
      }
      if (type.operations.has('delete')) remove(scenario, type, id, view);
    },
  );
}

/** A field that the variant lacks is unknown in it. */
function lacking(context: Context, variant: Variant, field: Field): Case[] {
  const { type } = context;
  const query = [parameter('variant', variant.name)];
  const value = field.type.good(field, 1);
  const updates = type.operations.has('update')
    ? caseOf(context, GROUP, `PUT ${itemPath(type, MISSING_ID, query)} with ${field.name}`, (scenario) => {
        const request = {
          method: 'PUT',
          path: itemPath(type, MISSING_ID, query),
          body: { [field.name]: value },
          ...guard(type),
        };
        refused(scenario, request, 422, { code: 'invalid-body', pointers: [`/${field.name}`] });
      })
    : [];
  const filters = [
    parameter(cnd(field.name), String(value)),
    parameter(cnd('orderBy'), field.name),
    parameter('fields', field.name),
  ];
  const lists = type.operations.has('list')
    ? caseOf(context, GROUP, `GET ${collectionPath(type, query)} by ${field.name}`, (scenario) => {
        for (const filter of filters) {
          refused(scenario, { method: 'GET', path: collectionPath(type, [...query, filter]) }, 400, {
            code: 'invalid-query',
          });
        }
      })
    : [];
  return [...updates, ...lists];
}

export function variants(context: Context): readonly Case[] {
  const all = [...context.type.variants.values()].filter(({ name }) => name !== '');
  return all.flatMap((variant) => [
    ...life(context, variant),
    ...omitted(context, variant).flatMap((field) => lacking(context, variant, field)),
  ]);
}
