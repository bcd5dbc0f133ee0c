/** The cases of one record type: what can be written to it, what reads show, and what it does not offer. */
import { foldedValue } from '../field-types/case-folding.ts';
import type { OperatorName } from '../field-types/field-type.ts';
import { type JsonObject, type JsonValue, pointer } from '../json.ts';
import { type Check, type Field, type RecordType, type Relation, uniqueIndexes, type Variant } from '../model/model.ts';
import { unmetBy } from '../query/checks.ts';
import * as bodies from './bodies.ts';
import { type Draft, newBody, obtain, refusedBody, type Samples, shown, writable } from './bodies.ts';
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
  ref,
} from './cases.ts';
import type { Request, Step } from './cases.ts';

/** Adds the steps of a case and returns its title; undefined where the type cannot have it. */
export type Maker = (draft: Draft) => string | undefined;

export const make = (samples: Samples, type: RecordType, makers: readonly Maker[]): readonly Case[] =>
  makers.flatMap((maker) => {
    const draft = bodies.newDraft(samples);
    const title = maker(draft);
    return title === undefined || draft.steps.length === 0 ? [] : [{ type: type.name, title, steps: draft.steps }];
  });

export const add = ({ steps }: Draft, request: Request, expected: Expected, keep?: Step['keep']): void =>
  void steps.push({ request, expected, ...(keep ? { keep } : {}) });

type Headers = Expected['headers'];

export const shows = (type: RecordType, status: number, body: JsonValue, headers: Headers = {}): Expected => ({
  status,
  body,
  type: type.name,
  headers,
});

export const badBody = (...places: readonly (readonly (string | number)[])[]): Expected =>
  problem(422, 'invalid-body', { pointers: places.map(pointer) });

export const recordCases = (samples: Samples, type: RecordType): readonly Case[] =>
  make(samples, type, [
    ...(type.operations.has('create') ? [...creations(type), ...refusedCreations(type)] : []),
    ...(type.operations.has('get') ? gets(type) : []),
    ...(type.operations.has('update') ? updates(type) : []),
    ...(type.operations.has('create') && type.operations.has('delete') ? [deletion(type)] : []),
    ...(type.operations.has('list') ? lists(type) : []),
    ...refusedMethods(type),
    ...[...type.variants.values()]
      .filter((one) => one !== type.defaultVariant)
      .flatMap((one) => variantCases(type, one)),
  ]);

const valuesOf = (fields: readonly Field[], valueOf: (field: Field) => JsonValue | undefined): JsonObject =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = valueOf(field);
      return value === undefined ? [] : [[field.name, value]];
    }),
  );

/** A value that is not the one that is stored. */
export const differing = (field: Field, stored: JsonValue): JsonValue | undefined =>
  [1, 2, 3, 4]
    .map((seed) => field.type.good(field, seed))
    .find((value) => stored === null || !field.type.equal(value, stored));

/** Creates a record, after the steps that it needs, and expects what the body says. */
export function creates(
  draft: Draft,
  type: RecordType,
  body: JsonObject | undefined,
  include?: readonly string[],
): string | undefined {
  if (!body) return undefined;
  const name = bodies.nameFor(draft, type);
  const step = bodies.creation(draft, type, name, body);
  const query = include ? `?include=${include.map(encodeURIComponent).join(',')}` : '';
  const headers = { location: `${collection(type)}/*`, etag: tagOf(type) };
  const expected = shows(type, 201, shown(draft, type, name, body, include), headers);
  draft.steps.push({ ...step, request: { ...step.request, path: collection(type, query) }, expected });
  return name;
}

const tagOf = ({ preconditions }: RecordType): string | null => (preconditions === 'off' ? null : '"*"');

/** Whatever the relations of the default view hold. */
export const relationsOf = ({ relations }: RecordType): JsonObject =>
  Object.fromEntries([...relations.values()].filter((one) => one.shown).map(({ name }) => [name, ANY]));

/** A record that the case has made or borrowed, as the default view shows it. */
const known = (draft: Draft, type: RecordType, name: string, changes: JsonObject = {}): JsonObject => ({
  ...shown(draft, type, name, { ...draft.records.get(name), ...changes }),
  ...relationsOf(type),
});

const MOST_EDGES = 6;

function creations(type: RecordType): readonly Maker[] {
  const title = `POST ${collection(type)}`;
  const fields = writable(type);
  const rows = Math.min(MOST_EDGES, Math.max(0, ...fields.map((field) => field.type.edges(field).length)));
  const ownKeys = { values: { aKeyOfItsOwn: { b: [1, null], a: 'é' }, '9': null } };
  return [
    (draft) => creates(draft, type, newBody(draft, type)) && `${title} with what is required`,
    (draft) => creates(draft, type, newBody(draft, type, { full: true })) && `${title} with every field`,
    ...Array.from({ length: rows }, (_, row): Maker => (draft) => {
      const values = valuesOf(fields, (field) => (field.unique && row > 0 ? undefined : field.type.edges(field)[row]));
      const body = newBody(draft, type, { values });
      return creates(draft, type, body) && `${title} with values at the limits of its fields (${row + 1})`;
    }),
    ...(type.open
      ? [(draft: Draft) => creates(draft, type, newBody(draft, type, ownKeys)) && `${title} with keys of its own`]
      : []),
    ...uniqueIndexes(type).map(
      ({ members }): Maker =>
        (draft) =>
          taken(draft, type, members),
    ),
  ];
}

/** Bodies of one array, each refused at one place. */
export function refuses(
  draft: Draft,
  type: RecordType,
  all: readonly (readonly [JsonObject, ...(string | number)[]])[],
): boolean {
  const sent = all.flatMap(([values]) => refusedBody(draft, type, values) ?? []);
  if (sent.length < all.length) return false;
  const places = all.map(([, ...place], index) => [index, ...place]);
  if (all.length > 0) add(draft, { method: 'POST', path: collection(type), body: sent }, badBody(...places));
  return all.length > 0;
}

/** As many as one response names. */
const MOST_FAULTS = 100;

function refusedCreations(type: RecordType): readonly Maker[] {
  const title = `POST ${collection(type)}`;
  const fields = writable(type);
  const required = [...type.fields.values(), ...type.relations.values()].filter((one) => one.required);
  const isJudged = ({ fields: compared }: Check): boolean => !compared.some((field) => required.includes(field));
  const unmet = unmetBy(type, {}).filter(isJudged);
  const readOnly = fixedFields(type).flatMap((field) => {
    const value = differing(field, field.default ?? null);
    return value === undefined ? [] : [[{ [field.name]: value }, field.name] as const];
  });
  return [
    ...fields.map((field): Maker => (draft) => {
      const { name, type: kind } = field;
      const bad = kind.bad(field).map((value) => [{ [name]: value }, name] as const);
      const items = badItems(field).map((value) => [{ [name]: [value] }, name, 0] as const);
      return refuses(draft, type, [...bad, ...items].slice(0, MOST_FAULTS))
        ? `${title} with bad values of ${name}`
        : undefined;
    }),
    (draft) => {
      const names = [...required, ...unmet.map(({ at }) => at)].map(({ name }) => [name]);
      add(draft, { method: 'POST', path: collection(type), body: {} }, badBody(...names));
      return required.length > 0 ? `${title} without what is required` : undefined;
    },
    (draft) => {
      const strict = fields.filter(({ nullable }) => !nullable);
      const isRefused = refuses(
        draft,
        type,
        strict.map(({ name }) => [{ [name]: null }, name]),
      );
      return isRefused ? `${title} with null where it is not allowed` : undefined;
    },
    (draft) => (refuses(draft, type, readOnly) ? `${title} with values of read-only fields` : undefined),
    ...type.checks.map((check): Maker => (draft) => {
      const body = breaking(draft, type, check);
      if (body) add(draft, { method: 'POST', path: collection(type), body }, badBody([check.at.name]));
      return `${title} against the check: ${check.message}`;
    }),
  ];
}

const fixedFields = (type: RecordType): readonly Field[] =>
  type.defaultVariant.fields.filter((field) => field.readOnly && !field.generated);

/** Items that an array does not accept. */
function badItems(field: Field): readonly JsonValue[] {
  const items = field.type.item?.(field);
  const { minItems = 1 } = field.constraints;
  return items && Number(minItems) < 2 ? items.type.bad(items).slice(0, 5) : [];
}

/** Two records with the same unique values; then a write that finds the first by them. */
function taken(draft: Draft, type: RecordType, members: readonly (Field | Relation)[]): string | undefined {
  const values: Record<string, JsonValue> = {};
  for (const member of members) {
    const value =
      'column' in member ? member.type.good(member, (draft.samples.seed += 1)) : bodies.relatedBody(draft, member);
    const isUsable = 'column' in member ? !member.readOnly : draft.samples.sources.has(member.target);
    if (value === undefined || !isUsable) return undefined;
    values[member.name] = value;
  }
  const names = members.map(({ name }) => name);
  const first = obtain(draft, type, { values });
  const second = newBody(draft, type, { values });
  if (first === undefined || !second) return undefined;
  // One place stands for the set: its first field, else its first relation.
  const pointers = [pointer([members.find((member) => 'column' in member)?.name ?? names[0] ?? ''])];
  add(draft, { method: 'POST', path: collection(type), body: second }, problem(409, 'unique-conflict', { pointers }));
  const path = collection(type, `?on=${names.map(encodeURIComponent).join(',')}`);
  if (type.operations.has('update')) add(draft, { method: 'PUT', path, body: values, ...guard(type) }, { status: 200 });
  return `POST ${collection(type)} with the ${names.join(' and ')} of another record`;
}

/** A body that meets every check but this one. */
function breaking(draft: Draft, type: RecordType, check: Check): JsonObject | undefined {
  const free = check.fields.filter((field) => writable(type).includes(field));
  return bodies.variations(refusedBody(draft, type, {}) ?? {}, free).find((body) => {
    const unmet = unmetBy(type, body);
    return unmet.length === 1 && unmet[0] === check;
  });
}

// One record.

const gets = (type: RecordType): readonly Maker[] => [
  (draft) => {
    const isMade = type.operations.has('create');
    const name = isMade
      ? creates(draft, type, newBody(draft, type, { full: true }))
      : obtain(draft, type, { full: true });
    if (name === undefined) return undefined;
    const expected = isMade ? shown(draft, type, name, draft.records.get(name) ?? {}) : known(draft, type, name);
    add(draft, { method: 'GET', path: item(type, name) }, shows(type, 200, expected, { etag: tagOf(type) }));
    return `GET ${item(type, 'id')}`;
  },
  (draft) => {
    add(draft, { method: 'GET', path: item(type, MISSING) }, problem(404, 'record-not-found'));
    return `GET ${item(type, MISSING)}, which is no record`;
  },
];

/** Fields that can be changed to another value. */
const changeable = (type: RecordType): readonly Field[] =>
  writable(type).filter((field) => !field.unique && differing(field, field.type.good(field, 1)) !== undefined);

function updates(type: RecordType): readonly Maker[] {
  const [one, missing] = [item(type, 'id'), item(type, MISSING)];
  const canGet = type.operations.has('get');
  const generated = type.defaultVariant.fields.filter((field) => field.generated);
  const put = (method: string, name: string | number, body: JsonValue): Request => ({
    method,
    path: item(type, name),
    body,
    ...guard(type),
  });
  return [
    (draft) => {
      const name = canGet ? obtain(draft, type, { full: true }) : undefined;
      if (name === undefined) return undefined;
      add(draft, { method: 'GET', path: item(type, name) }, { status: 200 }, { record: '' });
      add(draft, put('PUT', name, ref('record')), shows(type, 200, ref('record')));
      return `PUT ${one} with what GET answered`;
    },
    ...['PATCH', 'PUT'].map((method): Maker => (draft) => {
      const name = obtain(draft, type, { full: true });
      const before = draft.records.get(name ?? '') ?? {};
      const fields = changeable(type);
      const changed = valuesOf(fields, (field) => differing(field, before[field.name] ?? null));
      const after = bodies.meeting(type, { ...before, ...changed }, fields);
      if (name === undefined || !after || fields.length === 0) return undefined;
      const changes = valuesOf(fields, (field) => after[field.name] ?? null);
      add(draft, put(method, name, changes), shows(type, 200, known(draft, type, name, changes)));
      return `${method} ${one} with other values`;
    }),
    (draft) => {
      const bad = valuesOf(writable(type).slice(0, MOST_FAULTS), (field) => field.type.bad(field)[0]);
      const places = Object.keys(bad).map((name) => [name]);
      add(draft, put('PATCH', MISSING, bad), badBody(...places));
      return places.length > 0 ? `PATCH ${missing} with a bad value of each field` : undefined;
    },
    (draft) => {
      add(draft, put('PUT', MISSING, {}), problem(404, 'record-not-found'));
      return `PUT ${missing}, which is no record`;
    },
    (draft) => {
      const others = valuesOf(fixedFields(type), (field) => differing(field, field.default ?? null));
      const name = Object.keys(others).length > 0 && type.operations.has('create') ? obtain(draft, type) : undefined;
      if (name === undefined) return undefined;
      add(draft, put('PATCH', name, others), badBody(...Object.keys(others).map((key) => [key])));
      return `PATCH ${one} with other values of read-only fields`;
    },
    (draft) => {
      const name = canGet && generated.length > 0 ? obtain(draft, type, { full: true }) : undefined;
      const field = changeable(type).find((some) => type.checks.every(({ fields }) => !fields.includes(some)));
      if (name === undefined || !field) return undefined;
      const created = generated.filter((some) => some.generated?.startsWith('created')).map((some) => some.name);
      const kept = Object.fromEntries(created.map((key) => [key, `/${key}`]));
      add(draft, { method: 'GET', path: item(type, name) }, { status: 200 }, kept);
      const changes = valuesOf([field], () => differing(field, draft.records.get(name)?.[field.name] ?? null));
      const stamps = Object.fromEntries(created.map((key) => [key, ref(key)]));
      add(draft, put('PATCH', name, changes), shows(type, 200, { ...known(draft, type, name, changes), ...stamps }));
      return `PATCH ${one} keeps what the service filled in on create`;
    },
  ];
}

const deletion =
  (type: RecordType): Maker =>
  (draft) => {
    const name = obtain(draft, type, { full: true });
    if (name === undefined) return undefined;
    const request = { method: 'DELETE', path: item(type, name), ...guard(type) };
    add(draft, request, shows(type, 200, shown(draft, type, name, draft.records.get(name) ?? {})));
    add(draft, request, problem(404, 'record-not-found'));
    if (type.operations.has('get')) add(draft, { ...request, method: 'GET' }, problem(404, 'record-not-found'));
    return `DELETE ${item(type, 'id')}`;
  };

// Lists.

const filterable = ({ defaultVariant }: RecordType): readonly Field[] =>
  defaultVariant.fields.filter((field) => field.type.operators.length > 0);

const totalOf = ({ count }: RecordType, exact: number): string | null =>
  count === 'exact' ? String(exact) : count === 'none' ? null : '*';

function lists(type: RecordType): readonly Maker[] {
  const path = collection(type);
  const { inRecord, name: key } = type.identifier;
  return [
    (draft) => {
      const query = `?${condition(['limit', '1'], 0)}`;
      const total = type.count === 'none' ? null : '*';
      add(draft, { method: 'GET', path: collection(type, query) }, shows(type, 200, [], { 'x-total-count': total }));
      return `GET ${path} with limit 0`;
    },
    (draft) => {
      const [first, second] = inRecord ? [obtain(draft, type), obtain(draft, type)] : [];
      if (first === undefined || second === undefined) return undefined;
      const order = [condition(['orderBy'], key), condition(['orderBy'], 'desc')];
      const page = [condition(['limit', '0'], 1), condition(['limit', '1'], 5), `fields=${encodeURIComponent(key)}`];
      const headers = { 'x-total-count': totalOf(type, 2), link: '*' };
      const query = [among(type, [first, second]), ...order, ...page].join('&');
      // Borrowed records come in any order.
      const body = type.operations.has('create') ? [{ [key]: ref(first) }] : [ANY];
      add(draft, { method: 'GET', path: collection(type, query) }, shows(type, 200, body, headers));
      return `GET ${path} by ${key} descending, from the second on`;
    },
    ...filterable(type).flatMap((field): readonly Maker[] => [
      (draft) => filtered(draft, type, field),
      (draft) => ordered(draft, type, field),
    ]),
    (draft) => {
      for (const field of filterable(type).filter((one) => one.type.parse('no value') === undefined)) {
        const query = `?${condition([field.name], 'no value')}`;
        add(draft, { method: 'GET', path: collection(type, query) }, problem(400, 'invalid-query'));
      }
      return `GET ${path} by what is no value of the field`;
    },
  ];
}

/** A record whose value of the field is known. */
function having(draft: Draft, type: RecordType, field: Field): readonly [name: string, value: JsonValue] | undefined {
  const name = obtain(draft, type, { full: !field.readOnly });
  if (name === undefined) return undefined;
  const value = shown(draft, type, name, draft.records.get(name) ?? {})[field.name] ?? null;
  return value === ANY ? undefined : [name, value];
}

/** Operators whose condition holds for the operand itself, and those whose condition does not. */
const HOLDING: readonly OperatorName[] = ['eq', 'lte', 'gte', 'in'];
const FAILING: readonly OperatorName[] = ['ne', 'lt', 'gt'];
const LONGEST_OPERAND = 200;

/** All conditions that hold, together; then any of those that do not. */
function filtered(draft: Draft, type: RecordType, field: Field): string | undefined {
  const [name, value] = having(draft, type, field) ?? [];
  const text = String(value ?? '');
  if (name === undefined || value === undefined || text.length > LONGEST_OPERAND || value === '') return undefined;
  const conditions = (operators: readonly OperatorName[], like: string, isNull: boolean) => {
    const all = [...operators.map((one) => [one, text] as const), ['like', like] as const];
    const offered = all.filter(([one]) => value !== null && field.type.operators.includes(one));
    return [...offered, ['null', String(isNull)] as const];
  };
  const start = [...text].slice(0, 5).join('').replaceAll('*', '');
  const holding = conditions(HOLDING, `${start}*`, value === null);
  const failing = conditions(FAILING, `${start}*\u{1F9EA}`, value !== null);
  const queries = [
    [holding.map(([one, operand]) => condition([field.name, one], operand)), [known(draft, type, name)]],
    [failing.map(([one, operand], index) => condition(['$any', String(index), field.name, one], operand)), []],
  ] as const;
  for (const [query, found] of queries) {
    const path = collection(type, [among(type, [name]), ...query].join('&'));
    add(draft, { method: 'GET', path }, shows(type, 200, found, { 'x-total-count': totalOf(type, found.length) }));
  }
  return `GET ${collection(type)} by ${field.name}`;
}

function ordered(draft: Draft, type: RecordType, field: Field): string | undefined {
  const [first, second] = [having(draft, type, field), having(draft, type, field)];
  const { inRecord, name: key } = type.identifier;
  if (!first || !second || !inRecord) return undefined;
  const [a, b] = [first[1], second[1]].map((value) => (field.caseless ? foldedValue(value) : value));
  const nulls = Number(a !== null) - Number(b !== null);
  const order = nulls === 0 && a !== null ? field.type.compare(a ?? null, b ?? null) : nulls;
  // The identifier decides, and borrowed records come in any order.
  if (order === 0 && !type.operations.has('create')) return undefined;
  const ascending = order > 0 ? [second[0], first[0]] : [first[0], second[0]];
  for (const [direction, names] of Object.entries({ asc: ascending, desc: ascending.toReversed() })) {
    const by = [condition(['orderBy'], field.name), condition(['orderBy'], direction)];
    const path = collection(type, [among(type, ascending), ...by, `fields=${encodeURIComponent(key)}`].join('&'));
    add(
      draft,
      { method: 'GET', path },
      shows(
        type,
        200,
        names.map((name) => ({ [key]: ref(name) })),
      ),
    );
  }
  return `GET ${collection(type)} by ${field.name}, ascending and descending`;
}

// What is not there.

function refusedMethods(type: RecordType): readonly Maker[] {
  const { operations, preconditions, identifier } = type;
  const methods = (all: readonly (readonly [isOffered: boolean, ...methods: string[]])[]): readonly string[] =>
    all.flatMap(([isOffered, ...names]) => (isOffered ? names : []));
  const [canCreate, canUpdate, canDelete] = [
    operations.has('create'),
    operations.has('update'),
    operations.has('delete'),
  ];
  const onCollection = methods([
    [operations.has('list'), 'GET', 'HEAD'],
    [canCreate, 'POST'],
    [canUpdate && identifier.inRecord, 'PATCH'],
    [canUpdate && canCreate && uniqueIndexes(type).length > 0, 'PUT'],
    [canDelete && preconditions !== 'required', 'DELETE'],
  ]);
  const onItem = methods([
    [operations.has('get'), 'GET', 'HEAD'],
    [canUpdate, 'PUT', 'PATCH'],
    [canDelete, 'DELETE'],
  ]);
  const refused = (path: string, allowed: readonly string[]): readonly Maker[] =>
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
      .filter((method) => !allowed.includes(method))
      .map((method) => (draft) => {
        const headers = { allow: [...allowed, 'OPTIONS'].join(', ') };
        const body = method.startsWith('P') ? { body: {} } : {};
        add(draft, { method, path, ...body }, { ...problem(405, 'method-not-allowed'), headers });
        return `${method} ${path}, which is not offered`;
      });
  return [...refused(collection(type), onCollection), ...refused(item(type, MISSING), onItem)];
}

function variantCases(type: RecordType, variant: Variant): readonly Maker[] {
  const query = `?variant=${encodeURIComponent(variant.name)}`;
  const hidden = type.defaultVariant.fields.filter((field) => !variant.fields.includes(field));
  const { operations } = type;
  return [
    (draft) => {
      const name = operations.has('get') ? obtain(draft, type, { full: true }) : undefined;
      if (name === undefined) return undefined;
      const whole = known(draft, type, name);
      const isHidden = ([key]: readonly [string, JsonValue]): boolean => hidden.some((field) => field.name === key);
      const others = valuesOf(
        variant.fields.filter(({ name: key }) => !Object.hasOwn(whole, key)),
        () => ANY,
      );
      const expected = { ...Object.fromEntries(Object.entries(whole).filter((one) => !isHidden(one))), ...others };
      add(draft, { method: 'GET', path: item(type, name, query) }, shows(type, 200, expected));
      return `GET ${item(type, 'id', query)}`;
    },
    (draft) => {
      const isMade = operations.has('create');
      const path = isMade ? collection(type, query) : item(type, MISSING, query);
      const values = valuesOf(hidden, (field) => field.type.good(field, 1));
      if (hidden.length === 0 || (!isMade && !operations.has('update'))) return undefined;
      const body = isMade ? refusedBody(draft, type, values) : values;
      if (!body) return undefined;
      const method = isMade ? 'POST' : 'PATCH';
      add(draft, { method, path, body, ...guard(type) }, badBody(...hidden.map(({ name }) => [name])));
      return `${method} ${path} with fields of other variants`;
    },
    (draft) => {
      const field = operations.has('list') ? hidden.find((one) => one.type.operators.includes('null')) : undefined;
      if (!field) return undefined;
      const path = collection(type, `${query}&${condition([field.name, 'null'], 'true')}`);
      add(draft, { method: 'GET', path }, problem(400, 'invalid-query'));
      return `GET ${collection(type, query)} by ${field.name}, which the variant does not have`;
    },
  ];
}
