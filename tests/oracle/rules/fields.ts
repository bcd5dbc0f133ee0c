/** Fields: accepted and refused values, null, merge patches, variants; checks across fields; what only the service sets. */
import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../engine/descriptor/descriptor.ts';
import type { JsonObject, JsonValue } from '../../../engine/json.ts';
import type { Check, Field, RecordType, Relation, Variant } from '../../../engine/model/model.ts';
import { cnd, linkTo, MISSING_ID, parameter } from '../call.ts';
import { candidates } from '../checks.ts';
import {
  fresh,
  fullest,
  inRelation,
  isChangeable,
  obtain,
  OPEN_KEY,
  otherThan,
  smallest,
  targetsOf,
} from '../samples.ts';
import { type Context, get, list, post, put, puts, remove, type Scene, send, shownAs, WAYS } from '../scene.ts';
import { badValues, isStamped, timePasses } from '../values.ts';
import { entriesOf, raw } from '../template.ts';
import { rowOf } from '../world.ts';
import { parentOf, through } from './relations.ts';
import {
  always,
  each,
  isWritable,
  offers,
  relations,
  representative,
  type Rule,
  rule,
  single,
  table,
  type TableRow,
} from './rule.ts';

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

// Checks across fields: values that meet them and values that do not, all at once and one after the other.

/** Combinations of each check that are tried. */
const MAX_COMBINATIONS = 24;

const writableIn = ({ type }: Pick<Context, 'type'>, { fields }: Check): readonly Field[] =>
  fields.filter((field) => !field.readOnly && !field.unique && type.defaultVariant.fields.includes(field));

const checksOf = (context: Context): readonly Check[] =>
  context.type.checks.filter((check) => writableIn(context, check).length > 0);

/** Values of all its fields; where there are too many combinations, some of them. */
function combinations(scene: Scene, check: Check): readonly JsonObject[] {
  let all: readonly JsonObject[] = [{}];
  for (const field of writableIn(scene, check)) {
    const values = [...new Map(candidates(field).map((value) => [JSON.stringify(value), value])).values()];
    all = all.flatMap((body) => values.map((value): JsonObject => ({ ...body, [field.name]: value as JsonValue })));
  }
  const stride = Math.ceil(all.length / MAX_COMBINATIONS);
  // An odd stride meets every value of a field in turn.
  return all.filter((_, index) => index % (stride + 1 - (stride % 2)) === 0);
}

/** A case for each check, told by its message. */
const eachCheck = (method: string, when: ReturnType<typeof offers>, requests: (scene: Scene, check: Check) => void) =>
  each(
    `${method}, met and broken: {}`,
    when,
    (context) => checksOf(context).map((check) => ({ check, name: check.message })),
    (scene, { check }) => requests(scene, check),
  );

const checkedBy = (method: string): TableRow =>
  eachCheck(method, offers('update'), (scene, check) => {
    const id = obtain(scene, scene.type, smallest(scene));
    // What an adopted record holds is known from here on.
    if (rowOf(scene.world, scene.type, id)?.adopted) put(scene, id, combinations(scene, check)[0] ?? {});
    for (const body of combinations(scene, check)) {
      send(scene, { method, id, body });
      for (const [name, value] of Object.entries(body)) send(scene, { method, id, body: { [name]: value } });
    }
    send(scene, { method, id, body: shownAs(scene, id) });
    get(scene, id);
  });

export const checkRules: readonly Rule[] = table(
  'checks',
  eachCheck('POST', offers('create'), (scene, check) => {
    const [first = {}] = combinations(scene, check);
    for (const body of [...combinations(scene, check), { ...first, [check.at.name]: {} }])
      send(scene, { method: 'POST', body: { ...smallest(scene), ...body } });
  }),
  ...WAYS.map(checkedBy),
);

// Generated fields: which writes stamp a record, and which do not. Bodies of all other cases hold other values of them.

/** Requests that take longer than a millisecond, all together. */
const SOME = 20;

function waitIn(scene: Scene): void {
  for (let count = 0; count < SOME; count += 1) send(scene, { method: 'OPTIONS' });
  timePasses(scene.world);
}

const changeable = ({ defaultVariant }: RecordType): readonly Field[] => defaultVariant.fields.filter(isChangeable);

const stampedBy =
  (...operations: readonly Operation[]) =>
  (type: RecordType): boolean =>
    isStamped(type) && offers(...operations)(type);

const isGenerated = ({ generated }: Field): boolean => generated !== undefined;

/** Links to records of the type that are stored in its own rows. */
const links = (are: (relation: Relation) => boolean) =>
  relations((one) => one.link.at === 'source' && !one.required && one.target.identifier.inRecord && are(one));

export const stampRules: readonly Rule[] = table(
  'stamps',
  rule('a change is stamped, and nothing else', stampedBy('get', 'update'), (scene) => {
    const id = obtain(scene);
    for (const method of WAYS)
      for (const field of changeable(scene.type).slice(0, 2)) {
        const body = { [field.name]: fresh(scene, field) };
        waitIn(scene);
        puts(scene, id, [body, body, {}], [method]);
      }
    waitIn(scene);
    puts(scene, id, [shownAs(scene, id), { ...fullest(scene), ...shownAs(scene, id) }]);
  }),
  // Nothing of what is said of a stamp is written: copies of a record in one body may differ in it.
  each(
    'given once more through {}, with other stamps',
    stampedBy('create', 'get', 'update'),
    relations(
      ({ source, target, inverse }) =>
        source.identifier.inRecord && target.identifier.inRecord && inverse?.fields.some(isGenerated) === true,
    ),
    (scene, relation) => {
      const id = parentOf(scene, relation);
      const [first] = targetsOf(scene, relation, id);
      const field = relation.inverse?.fields.find(isGenerated);
      if (first === undefined || field === undefined) return;
      const [one, other] = [1, 2].map((seed) => ({ [field.name]: field.type.good(field, seed) }));
      puts(scene, id, [{ ...one, [relation.name]: through(scene.type, relation, id, first, other ?? {}) }], WAYS);
    },
  ),
  each(
    'a link that is set, kept and cut: {}',
    stampedBy('create', 'get', 'update'),
    links(() => true),
    (scene, { name, target }) => {
      const other = obtain(scene, target);
      const id = post(scene, smallest(scene));
      for (const value of [linkTo(target, other), linkTo(target, other), null]) {
        waitIn(scene);
        puts(scene, id, [{ [name]: value }]);
      }
    },
  ),
  each(
    'a link that the other side cuts: {}',
    stampedBy('create', 'get'),
    links(({ inverse, target }) => inverse?.toMany === true && !inverse.owned && offers('update')(target)),
    (scene, { name, inverse, target }) => {
      if (inverse === undefined) return;
      const other = obtain(scene, target);
      const [first, second] = [1, 2].map(() => post(scene, { ...smallest(scene), [name]: linkTo(target, other) }));
      waitIn(scene);
      put(scene, other, { [inverse.name]: inRelation(inverse, linkTo(scene.type, first ?? '')) }, { type: target });
      for (const id of [first, second]) if (id !== undefined) get(scene, id);
    },
  ),
  each(
    'a link to a record that is deleted: {}',
    stampedBy('create', 'get'),
    links(
      ({ link, target }) => link.at === 'source' && link.reference.onDelete === 'setNull' && offers('delete')(target),
    ),
    (scene, { name, target }) => {
      const other = obtain(scene, target);
      const id = post(scene, { ...smallest(scene), [name]: linkTo(target, other) });
      waitIn(scene);
      remove(scene, other, { type: target });
      get(scene, id);
    },
  ),
);
