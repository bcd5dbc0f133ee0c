/** Fields: values that are accepted and refused, null, what only the service sets, merge patches, variants. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../../json.ts';
import type { Field, RecordType, Variant } from '../../model/model.ts';
import { type Call, cnd, MISSING_ID, parameter } from '../call.ts';
import { entriesOf, raw } from '../template.ts';
import { badValues } from '../values.ts';
import { type Context, get, list, post, put, remove, type Scene, send } from '../scene.ts';
import { fresh, fullest, obtain, OPEN_KEY, otherThan, smallest } from '../samples.ts';
import { type Id, rowOf } from '../world.ts';
import { offers, representative, type TableRow, type Rule, rule, single, table } from './rule.ts';

const isWritable = (type: RecordType, field: Field): boolean =>
  !field.readOnly && type.defaultVariant.fields.includes(field);

const writable = ({ type }: Context): readonly Field[] =>
  representative([...type.fields.values()]).filter((field) => isWritable(type, field));

/** Values that every record may have, whatever other records there are. */
const accepted = (scene: Scene, field: Field): readonly JsonValue[] => [
  ...(field.unique ? [] : field.type.edges(field)),
  ...(field.type.texts?.(field) ?? []).map(raw),
  fresh(scene, field),
  ...(field.nullable ? [null] : []),
];

const refused = (field: Field): readonly JsonValue[] => [...badValues(field), null];

/** What a field holds; two fresh values differ, so that the second is a change whatever was there before. */
const update = (method: string): TableRow =>
  rule<Field>({
    when: offers('update'),
    each: writable,
    title: ({ name }) => `${method} ${name}, accepted values`,
    requests: (scene, field) => {
      const id = obtain(scene, scene.type, smallest(scene));
      for (const value of accepted(scene, field)) put(scene, id, { [field.name]: value }, {}, method);
      get(scene, id);
    },
  });

/** What is there, and what is sent: members that go, stay, change, appear, and arrays, which are replaced. */
const BEFORE: JsonValue = { kept: 1, dropped: 2, deep: { kept: 'é', dropped: [1] }, list: [{ a: 1 }, null] };
/** The same with numbers and an order of keys that no parser of JavaScript's keeps. */
const WRITTEN = raw(
  '{"9":1.0,"dropped":2,"deep":{"8":12345678901234567890,"dropped":[1],"7":1e2},"list":[{"a":1.0},null]}',
);
const PATCHES: readonly JsonValue[] = [
  { dropped: null, deep: { dropped: null, added: { x: null, y: 1 } } },
  { list: [null, { b: null }], absent: null },
  { deep: 'text' },
  { deep: { again: true } },
];

/** Keys whose values may be objects, with whether null may be one too. */
const objectKeys = ({ type }: Context): readonly (readonly [key: string, nullable: boolean])[] => [
  ...type.defaultVariant.fields
    .filter(
      (field) =>
        !field.readOnly && field.type.keepsText && !field.type.bad(field).some((bad) => isDeepStrictEqual(bad, {})),
    )
    .map(({ name, nullable }) => [name, nullable] as const),
  ...(type.open ? [[OPEN_KEY, true] as const] : []),
];

function patch(scene: Scene, id: Id, key: string, value: JsonValue): void {
  const headers = { 'content-type': 'application/merge-patch+json' };
  send(scene, { method: 'PATCH', id, body: { [key]: value }, headers });
}

const named = ({ type }: Context): readonly Variant[] => [...type.variants.values()].filter(({ name }) => name !== '');

/** Each variant with each field that it lacks. */
const lacking = (type: RecordType): readonly (readonly [Variant, Field])[] =>
  named({ type } as Context).flatMap((variant) =>
    [...type.fields.values()]
      .filter((field) => !variant.fields.includes(field))
      .map((field) => [variant, field] as const),
  );

export const fieldRules: readonly Rule[] = [
  ...table('fields', [
    rule<Field>({
      when: offers('create'),
      each: writable,
      title: ({ name }) => `POST ${name}, accepted values`,
      requests: (scene, field) => {
        for (const value of accepted(scene, field))
          get(scene, post(scene, { ...smallest(scene), [field.name]: value }));
      },
    }),
    update('PUT'),
    update('PATCH'),
    rule<Field>({
      when: offers('create'),
      each: writable,
      title: ({ name }) => `POST ${name}, refused values`,
      requests: (scene, field) => {
        const good = smallest(scene);
        for (const value of refused(field))
          if (value !== null || !field.nullable)
            send(scene, { method: 'POST', body: { ...good, [field.name]: value } });
      },
    }),
    // The record that is not there matters less than the body that does not fit.
    rule<Field>({
      when: offers('update'),
      each: writable,
      title: ({ name }) => `PUT and PATCH ${name}, refused values`,
      requests: (scene, field) => {
        for (const value of refused(field))
          for (const method of ['PUT', 'PATCH']) send(scene, { method, id: MISSING_ID, body: { [field.name]: value } });
      },
    }),
    rule<Field>({
      when: offers('get', 'update'),
      each: writable,
      title: ({ name }) => `PUT ${name} of a record, refused values`,
      requests: (scene, field) => {
        const id = obtain(scene, scene.type, smallest(scene));
        for (const value of badValues(field)) put(scene, id, { [field.name]: value });
        get(scene, id);
      },
    }),
    rule<Field>({
      when: offers('create'),
      each: (context) => writable(context).filter(({ required }) => required),
      title: ({ name }) => `POST without ${name}`,
      requests: (scene, field) => {
        const { [field.name]: _, ...body } = smallest(scene);
        send(scene, { method: 'POST', body });
      },
    }),
    // What only the service sets may stand in a body as it is.
    rule<Field>({
      when: offers('update'),
      each: ({ type }) => representative([...type.fields.values()]).filter(({ readOnly }) => readOnly),
      title: ({ name }) => `PUT ${name}, which is read-only`,
      requests: (scene, field) => {
        const id = obtain(scene, scene.type, smallest(scene));
        const stored = field.default ?? null;
        const adopted = rowOf(scene.world, scene.type, id)?.adopted;
        if (!adopted && (stored !== null || field.nullable)) put(scene, id, { [field.name]: stored });
        const other = adopted ? undefined : otherThan(field, stored);
        if (other !== undefined) put(scene, id, { [field.name]: other });
        get(scene, id);
      },
    }),
  ]),
  ...table('patches', [
    rule<readonly [string, boolean]>({
      when: offers('create', 'update'),
      each: objectKeys,
      title: ([key]) => `PATCH inside ${key}`,
      requests: (scene, [key, nullable]) => {
        const id = post(scene, { ...smallest(scene), [key]: BEFORE });
        for (const value of [...PATCHES, ...(nullable ? [null] : [])]) patch(scene, id, key, value);
        put(scene, id, { [key]: WRITTEN });
        for (const value of PATCHES) patch(scene, id, key, value);
        put(scene, id, { [key]: BEFORE });
        put(scene, id, { [key]: { replaced: null } });
        get(scene, id);
      },
    }),
  ]),
  ...table('variants', [
    rule<Variant>({
      each: named,
      title: ({ name }) => `?variant=${name}, each operation`,
      requests: (scene, variant) => {
        const { type } = scene;
        const more = { view: { variant: variant.name } };
        const names = new Set(variant.fields.map(({ name }) => name));
        const body = entriesOf(fullest(scene)).filter(([key]) => names.has(key) || !type.fields.has(key));
        const id = type.operations.has('create') ? post(scene, Object.fromEntries(body), more) : obtain(scene);
        get(scene, id, more);
        get(scene, id);
        list(scene, [id], {}, more);
        for (const field of variant.fields.filter((one) => !one.readOnly && type.defaultVariant.fields.includes(one)))
          put(scene, id, { [field.name]: fresh(scene, field) }, more);
        remove(scene, id, more);
      },
    }),
    // A field that the variant lacks is unknown in it.
    single({
      calls: (type) =>
        lacking(type).flatMap(([{ name }, field]): readonly Call[] => {
          const value = field.type.good(field, 1);
          const call = { type, view: { variant: name } };
          const filters = [
            parameter(cnd(field.name), String(value)),
            parameter(cnd('orderBy'), field.name),
            parameter('fields', field.name),
          ];
          return [
            ...(offers('update')(type)
              ? [{ ...call, method: 'PUT', id: MISSING_ID, body: { [field.name]: value } }]
              : []),
            ...(offers('list')(type) ? filters.map((filter) => ({ ...call, method: 'GET', wrong: [filter] })) : []),
          ];
        }),
    }),
  ]),
  ...table('conflicts', [
    // A value that one record has is refused to another.
    rule<Field>({
      when: offers('get', 'update'),
      each: ({ type }) => [...type.fields.values()].filter((field) => field.unique && isWritable(type, field)),
      title: ({ name }) => `PUT the ${name} of another record`,
      requests: (scene, field) => {
        const [first, second] = [obtain(scene), obtain(scene)];
        const value = { [field.name]: fresh(scene, field) };
        put(scene, first, value);
        for (const method of ['PUT', 'PATCH']) put(scene, second, value, {}, method);
        put(scene, second, { [field.name]: fresh(scene, field) });
        get(scene, first);
        get(scene, second);
      },
    }),
  ]),
];
