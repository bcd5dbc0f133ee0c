/** The cases of one record type: what can be written to it, what reads show, and what it does not offer. */
import { foldedValue } from '../field-types/case-folding.ts';
import type { OperatorName } from '../field-types/field-type.ts';
import { type JsonObject, type JsonValue, pointer } from '../json/json.ts';
import { type Check, type Field, type RecordType, type Relation, uniqueIndexes, type Variant } from '../model/model.ts';
import { unmetBy } from '../query/checks.ts';
import {
  among,
  ANY,
  type Case,
  collection,
  condition,
  type Expected,
  guard,
  item,
  MISSING,
  problem,
  shows,
  Skip,
} from './run.ts';
import * as samples from './samples.ts';
import {
  caseMaker,
  changed,
  type Context,
  differing,
  type MakeCase,
  newBody,
  obtain,
  type Samples,
  shown,
  writable,
} from './samples.ts';

export const badBody = (...places: readonly (readonly (string | number)[])[]): Expected =>
  problem(422, 'invalid-body', { pointers: places.map(pointer) });

export function recordCases(all: Samples, type: RecordType): readonly Case[] {
  const make = caseMaker(all, type.name);
  const { operations } = type;
  return [
    ...(operations.has('create') ? [...creations(make, type), ...refusedCreations(make, type)] : []),
    ...(operations.has('get') ? gets(make, type) : []),
    ...(operations.has('update') ? updates(make, type) : []),
    ...(operations.has('create') && operations.has('delete') ? deletion(make, type) : []),
    ...(operations.has('list') ? lists(make, type) : []),
    ...refusedMethods(make, type),
    ...[...type.variants.values()]
      .filter((one) => one !== type.defaultVariant)
      .flatMap((one) => variantCases(make, type, one)),
  ];
}

const valuesOf = (fields: readonly Field[], valueOf: (field: Field) => JsonValue | undefined): JsonObject =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = valueOf(field);
      return value === undefined ? [] : [[field.name, value]];
    }),
  );

/** Creates a record, and expects what the body says. */
export function creates(context: Context, type: RecordType, body: JsonObject, include?: readonly string[]) {
  const query = include ? `?include=${include.map(encodeURIComponent).join(',')}` : '';
  const headers = { location: `${collection(type)}/*`, etag: tagOf(type) };
  return samples.create(context, type, body, query, (id) =>
    shows(type, 201, shown(context, type, id, body, include), headers),
  );
}

const tagOf = ({ preconditions }: RecordType): string | null => (preconditions === 'off' ? null : '"*"');

const MOST_EDGES = 6;

function creations(make: MakeCase, type: RecordType): readonly Case[] {
  const title = `POST ${collection(type)}`;
  const fields = writable(type);
  const rows = Math.min(MOST_EDGES, Math.max(0, ...fields.map((field) => field.type.edges(field).length)));
  const ownKeys = { values: { aKeyOfItsOwn: { b: [1, null], a: 'é' }, '9': null } };
  const creation = (text: string, isPossible: boolean, wish: Parameters<typeof newBody>[2]): readonly Case[] =>
    make(`${title} with ${text}`, isPossible, async (context) =>
      creates(context, type, await newBody(context, type, wish)),
    );
  return [
    ...creation('what is required', true, {}),
    ...creation('every field', true, { full: true }),
    ...Array.from({ length: rows }, (_, row) => {
      const values = valuesOf(fields, (field) => (field.unique && row > 0 ? undefined : field.type.edges(field)[row]));
      return creation(`values at the limits of its fields (${row + 1})`, true, { values });
    }).flat(),
    ...creation('keys of its own', type.open, ownKeys),
    ...uniqueIndexes(type).flatMap(({ members }) =>
      make(
        `${title} with the ${members.map(({ name }) => name).join(' and ')} of another record`,
        members.every((member) => ('column' in member ? !member.readOnly : !isUniqueLink(member.link))),
        (context) => taken(context, type, members),
      ),
    ),
  ];
}

/** Only one record can have a link to that one, whatever its other values are. */
const isUniqueLink = (link: Relation['link']): boolean => link.at !== 'join' && link.reference.unique;

/** Bodies of one array, each refused at one place. */
export async function refuses(
  context: Context,
  type: RecordType,
  all: readonly (readonly [JsonObject, ...(string | number)[]])[],
): Promise<void> {
  const body = all.flatMap(([values]) => samples.refusedBody(context.samples, type, values) ?? []);
  if (body.length < all.length) throw new Skip();
  const places = all.map(([, ...place], index) => [index, ...place]);
  await context.expect({ method: 'POST', path: collection(type), body }, badBody(...places));
}

/** As many as one response names. */
const MOST_FAULTS = 100;

function refusedCreations(make: MakeCase, type: RecordType): readonly Case[] {
  const path = collection(type);
  const fields = writable(type);
  const required = [...type.fields.values(), ...type.relations.values()].filter((one) => one.required);
  const isJudged = ({ fields: compared }: Check): boolean => !compared.some((field) => required.includes(field));
  const missing = [
    ...required,
    ...unmetBy(type, {})
      .filter(isJudged)
      .map(({ at }) => at),
  ].map(({ name }) => [name]);
  const fixed = Object.entries(otherFixedValues(type)).map(([name, value]) => [{ [name]: value }, name] as const);
  const nulls = fields.filter(({ nullable }) => !nullable).map(({ name }) => [{ [name]: null }, name] as const);
  return [
    ...fields.flatMap((field) => {
      const { name, type: kind } = field;
      const bad = kind.bad(field).map((value) => [{ [name]: value }, name] as const);
      const items = badItems(field).map((value) => [{ [name]: [value] }, name, 0] as const);
      const all = [...bad, ...items].slice(0, MOST_FAULTS);
      return make(`POST ${path} with bad values of ${name}`, all.length > 0, (context) => refuses(context, type, all));
    }),
    ...make(`POST ${path} without what is required`, required.length > 0, (context) =>
      context.expect({ method: 'POST', path, body: {} }, badBody(...missing)),
    ),
    ...make(`POST ${path} with null where it is not allowed`, nulls.length > 0, (context) =>
      refuses(context, type, nulls),
    ),
    ...make(`POST ${path} with values of read-only fields`, fixed.length > 0, (context) =>
      refuses(context, type, fixed),
    ),
    ...type.checks.flatMap((check) =>
      make(`POST ${path} against the check: ${check.message}`, true, async (context) => {
        const body = breaking(context.samples, type, check);
        if (!body) throw new Skip();
        await context.expect({ method: 'POST', path, body }, badBody([check.at.name]));
      }),
    ),
  ];
}

/** Values that read-only fields do not have on create. */
const otherFixedValues = (type: RecordType): JsonObject =>
  valuesOf(
    type.defaultVariant.fields.filter((field) => field.readOnly && !field.generated),
    (field) => differing(field, field.default ?? null),
  );

/** Items that an array does not accept. */
function badItems(field: Field): readonly JsonValue[] {
  const items = field.type.item?.(field);
  const { minItems = 1 } = field.constraints;
  return items && Number(minItems) < 2 ? items.type.bad(items).slice(0, 5) : [];
}

/** Two records with the same unique values; then a write that finds the first by them. */
async function taken(context: Context, type: RecordType, members: readonly (Field | Relation)[]): Promise<void> {
  const values: Record<string, JsonValue> = {};
  for (const member of members) {
    if ('column' in member) values[member.name] = samples.goodValue(context, member);
    else if (samples.isObtainable(member.target)) values[member.name] = await samples.relatedBody(context, member);
    else throw new Skip();
  }
  const names = members.map(({ name }) => name);
  await obtain(context, type, { values });
  const body = await newBody(context, type, { values });
  // One place stands for the set: its first field, else its first relation.
  const pointers = [pointer([members.find((member) => 'column' in member)?.name ?? names[0] ?? ''])];
  const conflict = problem(409, 'unique-conflict', { pointers });
  await context.expect({ method: 'POST', path: collection(type), body }, conflict);
  const path = collection(type, `?on=${names.map(encodeURIComponent).join(',')}`);
  if (type.operations.has('update'))
    await context.expect({ method: 'PUT', path, body: values, ...guard(type) }, { status: 200 });
}

/** A body that meets every check but this one. */
function breaking(all: Samples, type: RecordType, check: Check): JsonObject | undefined {
  const free = check.fields.filter((field) => writable(type).includes(field));
  return samples.variations(samples.refusedBody(all, type, {}) ?? {}, free).find((body) => {
    const unmet = unmetBy(type, body);
    return unmet.length === 1 && unmet[0] === check;
  });
}

// One record.

const gets = (make: MakeCase, type: RecordType): readonly Case[] => [
  ...make(`GET ${item(type, '{id}')}`, samples.isObtainable(type), async (context) => {
    const { id, record } = type.operations.has('create')
      ? await creates(context, type, await newBody(context, type, { full: true }))
      : await obtain(context, type, { full: true });
    const expected = shows(type, 200, record, { etag: tagOf(type) });
    await context.expect({ method: 'GET', path: item(type, id) }, expected);
  }),
  ...make(`GET ${item(type, MISSING)}, which is no record`, true, (context) =>
    context.expect({ method: 'GET', path: item(type, MISSING) }, problem(404, 'record-not-found')),
  ),
];

/** Fields that can be changed to another value. */
const changeable = (type: RecordType): readonly Field[] =>
  writable(type).filter((field) => !field.unique && differing(field, field.type.good(field, 1)) !== undefined);

function updates(make: MakeCase, type: RecordType): readonly Case[] {
  const { operations } = type;
  const isHad = samples.isObtainable(type);
  const put = (method: string, id: number, body: JsonValue) => ({ method, path: item(type, id), body, ...guard(type) });
  const [one, missing] = [item(type, '{id}'), item(type, MISSING)];
  const bad = valuesOf(writable(type).slice(0, MOST_FAULTS), (field) => field.type.bad(field)[0]);
  const fixed = otherFixedValues(type);
  const places = (values: JsonObject) => Object.keys(values).map((name) => [name]);
  const fields = changeable(type);
  return [
    ...make(`PUT ${one} with what GET answered`, isHad && operations.has('get'), async (context) => {
      const { id } = await obtain(context, type, { full: true });
      const { body } = await context.expect({ method: 'GET', path: item(type, id) }, { status: 200 });
      await context.expect(put('PUT', id, body), shows(type, 200, body));
    }),
    ...['PATCH', 'PUT'].flatMap((method) =>
      make(`${method} ${one} with other values`, isHad && fields.length > 0, async (context) => {
        const { id, record } = await obtain(context, type, { full: true });
        const other = valuesOf(fields, (field) => differing(field, record[field.name] ?? null));
        const after = samples.meeting(type, { ...record, ...other }, fields);
        if (!after) throw new Skip();
        const changes = valuesOf(fields, (field) => after[field.name] ?? null);
        await context.expect(put(method, id, changes), shows(type, 200, changed(type, record, changes)));
      }),
    ),
    ...make(`PATCH ${missing} with a bad value of each field`, places(bad).length > 0, (context) =>
      context.expect(put('PATCH', MISSING, bad), badBody(...places(bad))),
    ),
    ...make(`PUT ${missing}, which is no record`, true, (context) =>
      context.expect(put('PUT', MISSING, {}), problem(404, 'record-not-found')),
    ),
    ...make(
      `PATCH ${one} with other values of read-only fields`,
      isHad && places(fixed).length > 0 && operations.has('create'),
      async (context) => {
        const { id } = await obtain(context, type);
        await context.expect(put('PATCH', id, fixed), badBody(...places(fixed)));
      },
    ),
  ];
}

const deletion = (make: MakeCase, type: RecordType): readonly Case[] =>
  make(`DELETE ${item(type, '{id}')}`, true, async (context) => {
    const { id, record } = await obtain(context, type, { full: true });
    const request = { method: 'DELETE', path: item(type, id), ...guard(type) };
    await context.expect(request, shows(type, 200, record));
    await context.expect(request, problem(404, 'record-not-found'));
    if (type.operations.has('get'))
      await context.expect({ ...request, method: 'GET' }, problem(404, 'record-not-found'));
  });

// Lists.

const filterable = ({ defaultVariant }: RecordType): readonly Field[] =>
  defaultVariant.fields.filter((field) => field.type.operators.length > 0);

const totalOf = ({ count }: RecordType, exact: number): string | null =>
  count === 'exact' ? String(exact) : count === 'none' ? null : '*';

function lists(make: MakeCase, type: RecordType): readonly Case[] {
  const path = collection(type);
  const { inRecord, name: key } = type.identifier;
  const isHad = samples.isObtainable(type);
  const parsed = filterable(type).filter((one) => one.type.parse('no value') === undefined);
  return [
    ...make(`GET ${path} with limit 0`, true, (context) => {
      const headers = { 'x-total-count': type.count === 'none' ? null : '*' };
      const none = collection(type, `?${condition(['limit', '1'], 0)}`);
      return context.expect({ method: 'GET', path: none }, shows(type, 200, [], headers));
    }),
    ...make(`GET ${path} by ${key} descending, from the second on`, isHad && inRecord, async (context) => {
      const [first, second] = [(await obtain(context, type)).id, (await obtain(context, type)).id];
      const order = [condition(['orderBy'], key), condition(['orderBy'], 'desc')];
      const page = [condition(['limit', '0'], 1), condition(['limit', '1'], 5), `fields=${encodeURIComponent(key)}`];
      const headers = { 'x-total-count': totalOf(type, 2), link: '*' };
      const query = [among(type, [first, second]), ...order, ...page].join('&');
      const expected = shows(type, 200, [{ [key]: Math.min(first, second) }], headers);
      await context.expect({ method: 'GET', path: collection(type, query) }, expected);
    }),
    ...filterable(type).flatMap((field) => [
      ...make(`GET ${path} by ${field.name}`, isHad, (context) => filtered(context, type, field)),
      ...make(`GET ${path} by ${field.name}, ascending and descending`, isHad && inRecord, (context) =>
        ordered(context, type, field),
      ),
    ]),
    ...make(`GET ${path} by what is no value of the field`, parsed.length > 0, async (context) => {
      for (const field of parsed) {
        const query = `?${condition([field.name], 'no value')}`;
        await context.expect({ method: 'GET', path: collection(type, query) }, problem(400, 'invalid-query'));
      }
    }),
  ];
}

/** Operators whose condition holds for the operand itself, and those whose condition does not. */
const HOLDING: readonly OperatorName[] = ['eq', 'lte', 'gte', 'in'];
const FAILING: readonly OperatorName[] = ['ne', 'lt', 'gt'];
const LONGEST_OPERAND = 200;

/** All conditions that hold, together; then any of those that do not. */
async function filtered(context: Context, type: RecordType, field: Field): Promise<void> {
  const { id, record } = await obtain(context, type, { full: !field.readOnly });
  const value = record[field.name];
  const text = String(value ?? '');
  if (value === undefined || text.length > LONGEST_OPERAND || value === '') throw new Skip();
  const conditions = (operators: readonly OperatorName[], like: string, isNull: boolean) => {
    const all = [...operators.map((one) => [one, text] as const), ['like', like] as const];
    const offered = all.filter(([one]) => value !== null && field.type.operators.includes(one));
    return [...offered, ['null', String(isNull)] as const];
  };
  const start = [...text].slice(0, 5).join('').replaceAll('*', '');
  const holding = conditions(HOLDING, `${start}*`, value === null);
  const failing = conditions(FAILING, `${start}*\u{1F9EA}`, value !== null);
  const queries = [
    [holding.map(([one, operand]) => condition([field.name, one], operand)), [changed(type, record)]],
    [failing.map(([one, operand], index) => condition(['$any', String(index), field.name, one], operand)), []],
  ] as const;
  for (const [query, found] of queries) {
    const path = collection(type, [among(type, [id]), ...query].join('&'));
    const headers = { 'x-total-count': totalOf(type, found.length) };
    await context.expect({ method: 'GET', path }, shows(type, 200, found, headers));
  }
}

async function ordered(context: Context, type: RecordType, field: Field): Promise<void> {
  const records = [];
  for (let count = 0; count < 2; count += 1) {
    const { id, record } = await obtain(context, type, { full: !field.readOnly });
    const value = record[field.name];
    if (value === undefined) throw new Skip();
    records.push({ id, value: field.caseless ? foldedValue(value) : value });
  }
  const { name: key } = type.identifier;
  const nullsFirst = (a: JsonValue, b: JsonValue): number =>
    a === null || b === null ? Number(a !== null) - Number(b !== null) : field.type.compare(a, b);
  const ids = records.toSorted((a, b) => nullsFirst(a.value, b.value) || a.id - b.id).map(({ id }) => id);
  for (const [direction, found] of Object.entries({ asc: ids, desc: ids.toReversed() })) {
    const by = [condition(['orderBy'], field.name), condition(['orderBy'], direction)];
    const path = collection(type, [among(type, ids), ...by, `fields=${encodeURIComponent(key)}`].join('&'));
    const body = found.map((id) => ({ [key]: id }));
    await context.expect({ method: 'GET', path }, shows(type, 200, body));
  }
}

// What is not there.

function refusedMethods(make: MakeCase, type: RecordType): readonly Case[] {
  const { operations, preconditions, identifier } = type;
  const methods = (all: readonly (readonly [isOffered: boolean, ...methods: string[]])[]): readonly string[] =>
    all.flatMap(([isOffered, ...names]) => (isOffered ? names : []));
  const [canCreate, canUpdate] = [operations.has('create'), operations.has('update')];
  const onCollection = methods([
    [operations.has('list'), 'GET', 'HEAD'],
    [canCreate, 'POST'],
    [canUpdate && canCreate && uniqueIndexes(type).length > 0, 'PUT'],
    [canUpdate && identifier.inRecord, 'PATCH'],
    [operations.has('delete') && preconditions !== 'required', 'DELETE'],
  ]);
  const onItem = methods([
    [operations.has('get'), 'GET', 'HEAD'],
    [canUpdate, 'PUT', 'PATCH'],
    [operations.has('delete'), 'DELETE'],
  ]);
  const refused = (path: string, allowed: readonly string[]): readonly Case[] =>
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
      .filter((method) => !allowed.includes(method))
      .flatMap((method) => {
        const request = { method, path, ...(method.startsWith('P') ? { body: {} } : {}) };
        const headers = { allow: [...allowed, 'OPTIONS'].join(', ') };
        const expected = { ...problem(405, 'method-not-allowed'), headers };
        const title = `${method} ${path}, which is not offered`;
        return make(title, true, (context) => context.expect(request, expected));
      });
  return [...refused(collection(type), onCollection), ...refused(item(type, MISSING), onItem)];
}

function variantCases(make: MakeCase, type: RecordType, variant: Variant): readonly Case[] {
  const query = `?variant=${encodeURIComponent(variant.name)}`;
  const hidden = type.defaultVariant.fields.filter((field) => !variant.fields.includes(field));
  const { operations } = type;
  const isMade = operations.has('create');
  const path = isMade ? collection(type, query) : item(type, MISSING, query);
  const method = isMade ? 'POST' : 'PATCH';
  const field = hidden.find((one) => one.type.operators.includes('null'));
  return [
    ...make(
      `GET ${item(type, '{id}', query)}`,
      operations.has('get') && samples.isObtainable(type),
      async (context) => {
        const { id, record } = await obtain(context, type, { full: true });
        const others = variant.fields.filter(({ name }) => !Object.hasOwn(record, name)).map(({ name }) => [name, ANY]);
        const isShown = ([key]: readonly [string, JsonValue]): boolean => !hidden.some(({ name }) => name === key);
        const body = { ...Object.fromEntries(Object.entries(record).filter(isShown)), ...Object.fromEntries(others) };
        await context.expect({ method: 'GET', path: item(type, id, query) }, shows(type, 200, body));
      },
    ),
    ...make(
      `${method} ${path} with fields of other variants`,
      hidden.length > 0 && (isMade || operations.has('update')),
      async (context) => {
        const values = valuesOf(hidden, (one) => one.type.good(one, 1));
        const body = isMade ? samples.refusedBody(context.samples, type, values) : values;
        if (!body) throw new Skip();
        const expected = badBody(...hidden.map(({ name }) => [name]));
        await context.expect({ method, path, body, ...guard(type) }, expected);
      },
    ),
    ...(field
      ? make(
          `GET ${collection(type, query)} by ${field.name}, which the variant does not have`,
          operations.has('list'),
          (context) => {
            const filter = collection(type, `${query}&${condition([field.name, 'null'], 'true')}`);
            return context.expect({ method: 'GET', path: filter }, problem(400, 'invalid-query'));
          },
        )
      : []),
  ];
}
