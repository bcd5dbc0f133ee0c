/** Fields: values that are accepted and refused, null, what only the service sets, merge patches, variants. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../../json.ts';
import type { Field, Variant } from '../../model/model.ts';
import { cnd, MISSING_ID, parameter } from '../call.ts';
import { entriesOf, raw } from '../template.ts';
import { badValues } from '../values.ts';
import { type Context, get, list, post, put, puts, remove, type Scene, send, WAYS } from '../scene.ts';
import { fresh, fullest, obtain, OPEN_KEY, otherThan, smallest } from '../samples.ts';
import { rowOf } from '../world.ts';
import { always, each, isWritable, offers, representative, type TableRow, type Rule, single, table } from './rule.ts';

const writable = ({ type }: Context): readonly Field[] =>
  representative([...type.fields.values()]).filter((field) => isWritable(type, field));

const required = (context: Context): readonly Field[] => writable(context).filter((field) => field.required);

const readOnly = ({ type }: Context): readonly Field[] =>
  representative([...type.fields.values()]).filter((field) => field.readOnly);

const unique = ({ type }: Context): readonly Field[] =>
  [...type.fields.values()].filter((field) => field.unique && isWritable(type, field));

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
  each(`${method} {}, accepted values`, offers('update'), writable, (scene, field) => {
    const id = obtain(scene, scene.type, smallest(scene));
    puts(
      scene,
      id,
      accepted(scene, field).map((value) => ({ [field.name]: value })),
      [method],
    );
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

const takesObjects = (field: Field): boolean =>
  !field.readOnly && field.type.keepsText === true && !field.type.bad(field).some((bad) => isDeepStrictEqual(bad, {}));

/** Keys whose values may be objects, with whether null may be one too. */
const objectKeys = ({ type }: Context): readonly Pick<Field, 'name' | 'nullable'>[] => [
  ...type.defaultVariant.fields.filter(takesObjects),
  ...(type.open ? [{ name: OPEN_KEY, nullable: true }] : []),
];

const named = ({ type }: Pick<Context, 'type'>): readonly Variant[] =>
  [...type.variants.values()].filter(({ name }) => name !== '');

export const fieldRules: readonly Rule[] = [
  ...table(
    'fields',
    each('POST {}, accepted values', offers('create'), writable, (scene, field) => {
      for (const value of accepted(scene, field)) get(scene, post(scene, { ...smallest(scene), [field.name]: value }));
    }),
    update('PUT'),
    update('PATCH'),
    each('POST {}, refused values', offers('create'), writable, (scene, field) => {
      const good = smallest(scene);
      for (const value of refused(field))
        if (value !== null || !field.nullable) send(scene, { method: 'POST', body: { ...good, [field.name]: value } });
    }),
    // The record that is not there matters less than the body that does not fit.
    each('PUT and PATCH {}, refused values', offers('update'), writable, (scene, field) => {
      for (const value of refused(field))
        for (const method of WAYS) send(scene, { method, id: MISSING_ID, body: { [field.name]: value } });
    }),
    each('PUT {} of a record, refused values', offers('get', 'update'), writable, (scene, field) => {
      const id = obtain(scene, scene.type, smallest(scene));
      puts(
        scene,
        id,
        badValues(field).map((value) => ({ [field.name]: value })),
      );
    }),
    each('POST without {}', offers('create'), required, (scene, field) => {
      const { [field.name]: _, ...body } = smallest(scene);
      send(scene, { method: 'POST', body });
    }),
    // What only the service sets may stand in a body as it is.
    each('PUT {}, which is read-only', offers('update'), readOnly, (scene, field) => {
      const id = obtain(scene, scene.type, smallest(scene));
      const stored = field.default ?? null;
      const adopted = rowOf(scene.world, scene.type, id)?.adopted;
      if (!adopted && (stored !== null || field.nullable)) put(scene, id, { [field.name]: stored });
      const other = adopted ? undefined : otherThan(field, stored);
      puts(scene, id, other === undefined ? [] : [{ [field.name]: other }]);
    }),
  ),
  ...table(
    'patches',
    each('PATCH inside {}', offers('create', 'update'), objectKeys, (scene, { name, nullable }) => {
      const id = post(scene, { ...smallest(scene), [name]: BEFORE });
      const headers = { 'content-type': 'application/merge-patch+json' };
      const patch = (value: JsonValue) => void send(scene, { method: 'PATCH', id, body: { [name]: value }, headers });
      [...PATCHES, ...(nullable ? [null] : [])].forEach(patch);
      put(scene, id, { [name]: WRITTEN });
      PATCHES.forEach(patch);
      puts(scene, id, [{ [name]: BEFORE }, { [name]: { replaced: null } }]);
    }),
  ),
  ...table(
    'variants',
    each('?variant={}, each operation', always, named, (scene, variant) => {
      const { type } = scene;
      const more = { view: { variant: variant.name } };
      const names = new Set(variant.fields.map(({ name }) => name));
      const body = entriesOf(fullest(scene)).filter(([key]) => names.has(key) || !type.fields.has(key));
      const id = type.operations.has('create') ? post(scene, Object.fromEntries(body), more) : obtain(scene);
      get(scene, id, more);
      get(scene, id);
      list(scene, [id], {}, more);
      for (const field of variant.fields.filter((one) => isWritable(type, one)))
        put(scene, id, { [field.name]: fresh(scene, field) }, more);
      remove(scene, id, more);
    }),
    // A field that the variant lacks is unknown in it.
    single(always, (type) =>
      named({ type }).flatMap((variant) =>
        [...type.fields.values()]
          .filter((field) => !variant.fields.includes(field))
          .flatMap((field) => {
            const value = field.type.good(field, 1);
            const view = { variant: variant.name };
            const filters = [
              parameter(cnd(field.name), String(value)),
              parameter(cnd('orderBy'), field.name),
              parameter('fields', field.name),
            ];
            return [
              ...(offers('update')(type)
                ? [{ view, method: 'PUT', id: MISSING_ID, body: { [field.name]: value } }]
                : []),
              ...(offers('list')(type) ? filters.map((filter) => ({ view, method: 'GET', wrong: [filter] })) : []),
            ];
          }),
      ),
    ),
  ),
  ...table(
    'conflicts',
    // A value that one record has is refused to another.
    each('PUT the {} of another record', offers('get', 'update'), unique, (scene, field) => {
      const [first, second] = [obtain(scene), obtain(scene)];
      const value = { [field.name]: fresh(scene, field) };
      put(scene, first, value);
      for (const method of WAYS) put(scene, second, value, {}, method);
      put(scene, second, { [field.name]: fresh(scene, field) });
      get(scene, first);
      get(scene, second);
    }),
  ),
];
