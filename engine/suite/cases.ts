/** The cases of one record type: its operations, fields, variants, relations and refusals. */
import { foldedValue } from '../field-types/case-folding.ts';
import type { OperatorName } from '../field-types/field-type.ts';
import { byName, isObject, type JsonObject, type JsonValue, pointer } from '../json/json.ts';
import { requiredKeys } from '../model/bodies.ts';
import { compareIdentifiers, type Identifier } from '../model/identifier.ts';
import {
  type Field,
  identifierIn,
  type RecordType,
  type Relation,
  uniqueIndexes,
  type Variant,
} from '../model/model.ts';
import { isOffered, operationEntries, type OperationPath } from '../operations/table.ts';
import { MAX_ERRORS } from '../problem.ts';
import { unmetBy } from '../query/operators.ts';
import {
  ABSENT,
  among,
  ANY,
  collection,
  condition,
  type Expected,
  guard,
  item,
  missing,
  NEW_ID,
  problem,
  type Response,
  shows,
  Skip,
} from './run.ts';
import {
  type AddCase,
  badValues,
  changed,
  type Context,
  differing,
  idOf,
  isObtainable,
  isScarce,
  meeting,
  type Obtained,
  tagOf,
  variations,
  writable,
} from './samples.ts';

export function recordCases(add: AddCase, type: RecordType): void {
  const { operations, variants, defaultVariant } = type;
  if (operations.has('create')) {
    creations(add, type);
    refusedCreations(add, type);
  }
  const one = item(type, NEW_ID);
  add(`GET ${one}`, operations.has('get') && isObtainable(type), async (context) => {
    const { id, record } = await context.obtain(type, { full: true });
    await context.expect({ method: 'GET', path: item(type, id) }, shows(type, 200, record, { etag: tagOf(type) }));
  });
  add(`GET ${one} of no record`, operations.has('get'), async (context) =>
    context.expect({ method: 'GET', path: item(type, await context.free(type)) }, problem(404, 'record-not-found')),
  );
  if (operations.has('update')) updates(add, type);
  add(`DELETE ${one}`, operations.has('create') && operations.has('delete'), async (context) => {
    const { id, record } = await context.obtain(type, { full: true });
    const request = { method: 'DELETE', path: item(type, id), ...guard(type) };
    await context.expect(request, shows(type, 200, record));
    await context.expect(request, problem(404, 'record-not-found'));
  });
  if (operations.has('list')) lists(add, type);
  refusedMethods(add, type, 'collection', collection(type));
  refusedMethods(add, type, 'item', item(type, missing(type)));
  for (const variant of variants.values()) if (variant !== defaultVariant) variantCases(add, type, variant);
  if (operations.has('create')) for (const relation of type.relations.values()) relationCases(add, relation);
  if (operations.has('create') && operations.has('delete'))
    for (const referrer of type.referrers) referredDeletion(add, referrer);
}

type BodyPath = readonly (string | number)[];

const badBody = (...paths: readonly BodyPath[]): Expected =>
  problem(422, 'invalid-body', { pointers: paths.map(pointer) });

const MOST_EDGES = 8;

function creations(add: AddCase, type: RecordType): void {
  const title = `POST ${collection(type)}`;
  const creation = (text: string, wish: Parameters<Context['body']>[1]): void =>
    add(`${title} with ${text}`, true, async (context) => context.create(type, await context.body(type, wish)));
  creation('what is required', {});
  creation('every field', { full: true });
  const edges = new Map(writable(type).map((one) => [one, one.type.edges(one)]));
  const rows = Math.min(MOST_EDGES, Math.max(0, ...[...edges.values()].map(({ length }) => length)));
  for (let row = 0; row < rows; row += 1) {
    const values = byName(edges.keys(), (field) => (field.unique && row > 0 ? undefined : edges.get(field)?.[row]));
    creation(`values at the limits of its fields (${row + 1})`, { values });
  }
  if (type.open) creation('keys of its own', { values: { aKeyOfItsOwn: { b: [1, null], a: 'é' }, '9': null } });
  for (const { members } of uniqueIndexes(type))
    add(
      `${title} with the ${members.map(({ name }) => name).join(' and ')} of another record`,
      !isScarce(type) && members.every((one) => ('column' in one ? !one.readOnly : !isUniqueLink(one.link))),
      (context) => taken(context, type, members),
    );
}

/** Whether the linked record can have only one such link. */
const isUniqueLink = (link: Relation['link']): boolean => link.at !== 'join' && link.reference.unique;

/** Expects refusal of a second record with the same unique values; an upsert finds the first. */
async function taken(context: Context, type: RecordType, members: readonly (Field | Relation)[]): Promise<void> {
  const values: Record<string, JsonValue> = {};
  for (const member of members) {
    if ('column' in member) values[member.name] = member.type.good(member, context.seed());
    else if (isObtainable(member.target)) values[member.name] = await context.related(member);
    else throw new Skip();
  }
  const names = members.map(({ name }) => name);
  await context.obtain(type, { values });
  const body = await context.body(type, { values });
  // The errors name the first field, else the first relation.
  const pointers = [pointer([members.find((member) => 'column' in member)?.name ?? names[0] ?? ''])];
  const conflict = problem(409, 'unique-conflict', { pointers });
  await context.expect({ method: 'POST', path: collection(type), body }, conflict);
  const path = collection(type, `?on=${names.map(encodeURIComponent).join(',')}`);
  if (type.operations.has('update'))
    await context.expect({ method: 'PUT', path, body: values, ...guard(type) }, { status: 200 });
}

type Refused = readonly [JsonObject, ...BodyPath];

const valueAt = (name: string, value: JsonValue): Refused => [{ [name]: value }, name];

/** Sends all bodies, each with one fault, as an array. */
async function refuses(context: Context, type: RecordType, all: readonly Refused[]): Promise<void> {
  const body: JsonObject[] = [];
  for (const [values] of all) {
    const whole = { ...(await context.body(type, { values: context.placeholders(type) })), ...values };
    body.push(meeting(type, whole, values) ?? whole);
  }
  const paths = all.map(([, ...path], index) => [index, ...path]);
  await context.expect({ method: 'POST', path: collection(type), body }, badBody(...paths));
}

function refusedCreations(add: AddCase, type: RecordType): void {
  const path = collection(type);
  const fields = writable(type);
  const refused: readonly (readonly [string, readonly Refused[]])[] = [
    ...fields.map((field): [string, readonly Refused[]] => [
      `bad values of ${field.name}`,
      [
        ...badValues(field).map((value) => valueAt(field.name, value)),
        ...badItems(field).map((value): Refused => [{ [field.name]: [value] }, field.name, 0]),
      ],
    ]),
    ['null where it is not allowed', fields.filter((one) => !one.nullable).map(({ name }) => valueAt(name, null))],
    ['values of read-only fields', Object.entries(otherFixedValues(type)).map(([name, one]) => valueAt(name, one))],
    ['a key that no field has', type.open ? [] : [valueAt('noSuchKey', 1)]],
  ];
  for (const [text, all] of refused)
    add(`POST ${path} with ${text}`, all.length > 0, (context) => refuses(context, type, all.slice(0, MAX_ERRORS)));
  const required = requiredKeys(type);
  const unmet = unmetBy(type, {}).filter(({ fields: compared }) => !compared.some((one) => one.required));
  const needed = [...required, ...unmet.map(({ at }) => at.name)].map((name) => [name]);
  add(`POST ${path} without what is required`, required.length > 0, (context) =>
    context.expect({ method: 'POST', path, body: {} }, badBody(...needed)),
  );
  for (const check of type.checks)
    add(`POST ${path} against the check: ${check.message}`, true, async (context) => {
      const free = check.fields.filter((field) => fields.includes(field));
      const body = variations(await context.body(type), free).find((one) => {
        const [first, ...others] = unmetBy(type, one);
        return first === check && others.length === 0;
      });
      if (!body) throw new Skip();
      await context.expect({ method: 'POST', path, body }, badBody([check.at.name]));
    });
}

function badItems(field: Field): readonly JsonValue[] {
  const items = field.type.item?.(field);
  const isFree = Number(field.constraints['minItems'] ?? 1) < 2;
  return items && isFree ? badValues(items).slice(0, 5) : [];
}

/** Values of read-only fields that differ from a new record's. */
const otherFixedValues = (type: RecordType): JsonObject =>
  byName(
    type.defaultVariant.fields.filter((field) => field.readOnly && !field.generated),
    (field) => differing(field, field.default ?? null),
  );

function updates(add: AddCase, type: RecordType): void {
  const isMade = type.operations.has('create');
  const put = (method: string, id: Identifier, body: JsonValue) => ({
    method,
    path: item(type, id),
    body,
    ...guard(type),
  });
  const one = item(type, NEW_ID);
  const pathsOf = (values: JsonObject): readonly BodyPath[] => Object.keys(values).map((name) => [name]);
  add(`PUT ${one} with what GET answered`, isObtainable(type) && type.operations.has('get'), async (context) => {
    const { id } = await context.obtain(type, { full: true });
    const { body } = await context.expect({ method: 'GET', path: item(type, id) }, { status: 200 });
    await context.expect(put('PUT', id, body), shows(type, 200, body));
  });
  const fields = writable(type).filter(
    (field) => !field.unique && differing(field, field.type.good(field, 1)) !== undefined,
  );
  for (const method of ['PATCH', 'PUT'])
    add(`${method} ${one} with other values`, isMade && fields.length > 0, async (context) => {
      const { id, record } = await context.obtain(type, { full: true });
      const fixedNow = byName(type.fields.values(), (field) =>
        fields.includes(field) ? undefined : record[field.name],
      );
      const other = byName(fields, (field) => differing(field, record[field.name] ?? null));
      const after = meeting(type, { ...record, ...other }, fixedNow);
      if (!after) throw new Skip();
      const changes = byName(fields, (field) => after[field.name] ?? null);
      await context.expect(put(method, id, changes), shows(type, 200, changed(type, record, changes)));
    });
  for (const { name } of writable(type).filter((field) => field.type.keepsText && badValues(field).length === 0))
    add(`PATCH ${one} with a part of ${name}`, isMade, async (context) => {
      const values = { [name]: { kept: 1, changed: { to: [] }, removed: 3 } };
      const { id, record } = await context.obtain(type, { values });
      const part = { [name]: { changed: { to: null, by: 4 }, removed: null } };
      const merged = { [name]: { kept: 1, changed: { by: 4 } } };
      await context.expect(put('PATCH', id, part), shows(type, 200, changed(type, record, merged)));
      await context.expect(put('PUT', id, part), shows(type, 200, changed(type, record, part)));
    });
  const bad = byName(writable(type).slice(0, MAX_ERRORS), (field) => badValues(field)[0]);
  add(`PATCH ${item(type, missing(type))} with a bad value of each field`, pathsOf(bad).length > 0, (context) =>
    context.expect(put('PATCH', missing(type), bad), badBody(...pathsOf(bad))),
  );
  const fixed = otherFixedValues(type);
  add(`PATCH ${one} with other values of read-only fields`, pathsOf(fixed).length > 0 && isMade, async (context) => {
    const { id } = await context.obtain(type);
    await context.expect(put('PATCH', id, fixed), badBody(...pathsOf(fixed)));
  });
}

function lists(add: AddCase, type: RecordType): void {
  const path = collection(type);
  const isHad = isObtainable(type);
  const filterable = type.defaultVariant.fields.filter((field) => field.type.operators.length > 0);
  for (const field of filterable) {
    add(`GET ${path} by ${field.name}`, isHad, (context) => filtered(context, type, field));
    const isSorted = type.operations.has('create') && type.identifier.inRecord;
    add(`GET ${path} by ${field.name}, ascending and descending`, isSorted, (context) => ordered(context, type, field));
  }
  const parsed = filterable.filter((one) => one.type.parse('no value') === undefined);
  add(`GET ${path} by what is no value of the field`, parsed.length > 0, async (context) => {
    for (const field of parsed) {
      const query = `?${condition([field.name], 'no value')}`;
      await context.expect({ method: 'GET', path: collection(type, query) }, problem(400, 'invalid-query'));
    }
  });
}

/** Operators that match a value equal to the operand. */
const HOLDING: readonly OperatorName[] = ['eq', 'lte', 'gte', 'in'];
const FAILING: readonly OperatorName[] = ['ne', 'lt', 'gt'];
const LONGEST_OPERAND = 200;

/** Sends all matching conditions at once, then all others joined by `$any`. */
async function filtered(context: Context, type: RecordType, field: Field): Promise<void> {
  const { id, record } = await context.obtain(type, { full: !field.readOnly });
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
  const { count } = type;
  for (const [query, found] of queries) {
    const path = collection(type, [among(type, [id]), ...query].join('&'));
    const total = count === 'exact' ? String(found.length) : count === 'none' ? null : '*';
    await context.expect({ method: 'GET', path }, shows(type, 200, found, { 'x-total-count': total }));
  }
}

async function ordered(context: Context, type: RecordType, field: Field): Promise<void> {
  const records = [];
  for (let count = 0; count < 2; count += 1) {
    const { id, record } = await context.obtain(type, { full: !field.readOnly });
    const value = record[field.name];
    if (value === undefined) throw new Skip();
    records.push({ id, value: field.caseless ? foldedValue(value) : value });
  }
  const nullsFirst = (a: JsonValue, b: JsonValue): number =>
    a === null || b === null ? Number(a !== null) - Number(b !== null) : field.type.compare(a, b);
  const ids = records
    .toSorted((a, b) => nullsFirst(a.value, b.value) || compareIdentifiers(a.id, b.id))
    .map(({ id }) => id);
  for (const [direction, found] of Object.entries({ asc: ids, desc: ids.toReversed() })) {
    const by = [condition(['orderBy'], field.name), condition(['orderBy'], direction)];
    const path = collection(type, [among(type, ids), ...by].join('&'));
    const body = found.map((id) => idOf(type, id));
    await context.expect({ method: 'GET', path }, shows(type, 200, body));
  }
}

function refusedMethods(add: AddCase, type: RecordType, at: OperationPath, path: string): void {
  const offered = operationEntries.filter(([, entry]) => entry.path === at && isOffered(entry, type));
  const allowed = offered.flatMap(([, { method }]) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const headers = { allow: [...allowed, 'OPTIONS'].join(', ') };
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !allowed.includes(one)))
    add(`${method} ${path}, which is not offered`, true, (context) =>
      context.expect(
        { method, path, ...(method.startsWith('P') ? { body: {} } : {}) },
        { ...problem(405, 'method-not-allowed'), headers },
      ),
    );
}

function variantCases(add: AddCase, type: RecordType, variant: Variant): void {
  const query = `?variant=${encodeURIComponent(variant.name)}`;
  const hidden = type.defaultVariant.fields.filter((field) => !variant.fields.includes(field));
  const { operations } = type;
  add(`GET ${item(type, NEW_ID, query)}`, operations.has('get') && isObtainable(type), async (context) => {
    const { id, record } = await context.obtain(type, { full: true });
    const others = byName(variant.fields, ({ name }) => (Object.hasOwn(record, name) ? undefined : ANY));
    const body = { ...record, ...others, ...byName(hidden, () => ABSENT) };
    await context.expect({ method: 'GET', path: item(type, id, query) }, shows(type, 200, body));
  });
  const isMade = operations.has('create');
  const path = isMade ? collection(type, query) : item(type, missing(type), query);
  const method = isMade ? 'POST' : 'PATCH';
  const isRefused = hidden.length > 0 && (isMade || operations.has('update'));
  add(`${method} ${path} with fields of other variants`, isRefused, async (context) => {
    const values = byName(hidden, (one) => one.type.good(one, 1));
    const body = isMade ? await context.body(type, { values }) : values;
    await context.expect({ method, path, body, ...guard(type) }, badBody(...hidden.map(({ name }) => [name])));
  });
  const field = hidden.find((one) => one.type.operators.includes('null'));
  const list = collection(type, `${query}&${condition([field?.name ?? '', 'null'], 'true')}`);
  add(`GET ${list}, which the variant does not have`, operations.has('list') && field !== undefined, (context) =>
    context.expect({ method: 'GET', path: list }, problem(400, 'invalid-query')),
  );
}

/** An owned record cannot change owner. */
const isLinkable = ({ owned, link, target }: Relation): boolean =>
  target.identifier.inRecord && !(owned && link.at !== 'join');

/** Whether the related record cannot exist without this record. */
const staysLinked = ({ owned, inverse, link }: Relation): boolean =>
  inverse?.owned === true || (link.at === 'target' && link.reference.required && !owned);

/** Whether the field can change while all other fields stay as they are. */
export const isIndependent = (type: RecordType, field: Field): boolean =>
  writable(type).includes(field) &&
  !field.unique &&
  type.checks.every(({ fields }) => !fields.includes(field)) &&
  type.indexes.every(({ members }) => members.every((one) => one !== field)) &&
  differing(field, field.type.good(field, 1)) !== undefined;

const newChild = (context: Context, relation: Relation): Promise<JsonObject> =>
  context.body(relation.target, { via: relation, full: true });

/** Creates a record with this value of the relation, which the response shows. */
const createWith = async (context: Context, { source, name }: Relation, value: JsonValue): Promise<Obtained> =>
  context.create(source, await context.body(source, { values: { [name]: value } }), [name]);

const childIn = ({ name, target }: Relation, { record }: Obtained): Identifier =>
  identifierIn(([record[name] ?? null].flat() as readonly JsonObject[])[0] ?? {}, target) ?? '';

function relationCases(add: AddCase, relation: Relation): void {
  const { source, name, target, toMany, nested, owned, required } = relation;
  const { name: key, inRecord } = target.identifier;
  const path = collection(source);
  const [writes, canLink] = [nested === 'write', isLinkable(relation) && isObtainable(target)];
  const valueOf = (record: JsonValue): JsonValue => (toMany ? [record] : record);
  const at = (...steps: BodyPath): BodyPath => (toMany ? [name, 0, ...steps] : [name, ...steps]);

  /** Adds a case: POST shows or refuses this value of the relation. */
  const post = (
    text: string,
    isPossible: boolean,
    make: (context: Context) => JsonValue | Promise<JsonValue>,
    refusal?: readonly [409 | 422, 'link-conflict' | 'invalid-reference' | 'invalid-body', BodyPath],
  ): void =>
    add(`POST ${path} with ${name}: ${text}`, isPossible, async (context) => {
      const value = await make(context);
      if (refusal === undefined) return createWith(context, relation, value);
      const [status, code, steps] = refusal;
      const others = code === 'invalid-body' ? context.placeholders(source) : {};
      const body = await context.body(source, { values: { ...others, [name]: value } });
      return context.expect({ method: 'POST', path, body }, problem(status, code, { pointers: [pointer(steps)] }));
    });

  post('a link', canLink, async (context) => valueOf(await context.link(target)));
  post('a new record', writes, async (context) => valueOf(await newChild(context, relation)));
  const changeable = relation.fields.find((one) => isIndependent(target, one));
  post(
    `a link and another ${changeable?.name}`,
    changeable !== undefined && isLinkable(relation) && target.operations.has('create'),
    async (context) => {
      const { id, record } = await context.obtain(target, { full: true });
      const other = changeable && differing(changeable, record[changeable.name] ?? null);
      if (!changeable || other === undefined) throw new Skip();
      return valueOf({ ...idOf(target, id), [changeable.name]: other });
    },
    writes ? undefined : [409, 'link-conflict', at(changeable?.name ?? '')],
  );
  const absent = idOf(target, missing(target));
  // Where clients make identifiers, such a body creates a record.
  const isAbsent = inRecord && !(writes && target.identifier.by === 'client');
  const notFound = [422, 'invalid-reference', at(key)] as const;
  const absentIn = async (context: Context) => valueOf(idOf(target, await context.free(target)));
  post('a record that is not there', isAbsent, absentIn, notFound);
  const isOnlyLinked = nested === 'link' && inRecord;
  post('a new record, where only links are allowed', isOnlyLinked, () => valueOf({}), [422, 'invalid-body', at(key)]);
  post('null, which is not allowed', required, () => null, [422, 'invalid-body', [name]]);
  for (const value of [toMany ? {} : [], 'text', 7])
    post(JSON.stringify(value), true, () => value, [422, 'invalid-body', [name]]);
  post('one record twice', toMany && isAbsent, () => [absent, absent], [422, 'invalid-body', [name, 1]]);
  const strict = writes ? relation.fields.find((one) => !one.readOnly && badValues(one).length > 0) : undefined;
  post(
    `a record with a bad value of ${strict?.name}`,
    strict !== undefined,
    async (context) => {
      const values = strict ? { [strict.name]: badValues(strict)[0] ?? null } : {};
      return valueOf({ ...(await context.body(target, { via: relation })), ...values });
    },
    [422, 'invalid-body', at(strict?.name ?? '')],
  );
  post(
    'a record that belongs to another one',
    owned && inRecord && writes,
    async (context) => {
      const parent = await createWith(context, relation, valueOf(await newChild(context, relation)));
      return valueOf(idOf(target, childIn(relation, parent)));
    },
    notFound,
  );

  const isListed = !toMany && source.operations.has('list') && source.identifier.inRecord;
  add(`GET ${path} by ${name}`, canLink && isListed, async (context) => {
    const link = await context.link(target);
    const { id } = await createWith(context, relation, link);
    const query = [among(source, [id]), condition([name], link[key])].join('&');
    await context.expect({ method: 'GET', path: collection(source, query) }, shows(source, 200, [idOf(source, id)]));
  });
  const stays = staysLinked(relation);
  const empty = { [name]: toMany ? [] : null };
  add(
    `PATCH ${item(source, NEW_ID)} with ${name}: ${JSON.stringify(empty[name])}${stays ? ', which is refused' : ''}`,
    source.operations.has('update') && !required && (canLink || writes),
    async (context) => {
      const child = await (canLink ? context.link(target) : newChild(context, relation));
      const parent = await createWith(context, relation, valueOf(child));
      const request = { method: 'PATCH', path: item(source, parent.id, `?include=${encodeURIComponent(name)}`) };
      const expected = stays
        ? problem(422, 'invalid-reference', { pointers: [pointer([name])] })
        : shows(source, 200, { ...idOf(source, parent.id), ...empty });
      await context.expect({ ...request, body: empty, ...guard(source) }, expected);
      if (!owned || !inRecord || !target.operations.has('get')) return;
      const left = item(target, childIn(relation, parent));
      await context.expect({ method: 'GET', path: left }, problem(404, 'record-not-found'));
    },
  );
}

/** Deletes a record that another record refers to, first as a dry run. */
function referredDeletion(add: AddCase, { type: child, reference }: RecordType['referrers'][number]): void {
  const { relation, onDelete } = reference;
  if (!relation || !child.operations.has('create') || !relation.target.identifier.inRecord) return;
  const { name, target: type } = relation;
  add(`DELETE ${item(type, NEW_ID)} while ${child.name}.${name} refers to it: ${onDelete}`, true, async (context) => {
    const parent = await context.obtain(type);
    const other = await context.obtain(child, { values: { [name]: idOf(type, parent.id) } });
    const request = { method: 'DELETE', path: item(type, parent.id), ...guard(type) };
    const dry = { ...request, path: item(type, parent.id, '?dryRun=true') };
    if (onDelete === 'restrict') {
      for (const one of [dry, request]) await context.expect(one, problem(409, 'restrict-conflict'));
      return;
    }
    const effect = { effect: onDelete === 'cascade' ? 'deleted' : 'unlinked', type: child.name };
    await context.expect(dry, (response) => planned(response, effect, other.id));
    await context.expect(request, { status: 200 });
    if (!child.operations.has('get')) return;
    const unlinked = shows(child, 200, { ...idOf(child, other.id), [name]: null });
    const path = item(child, other.id, `?include=${encodeURIComponent(name)}`);
    await context.expect({ method: 'GET', path }, onDelete === 'cascade' ? problem(404, 'record-not-found') : unlinked);
  });
}

/** A dry run's report that includes this effect. */
function planned(
  { body }: Response,
  effect: { readonly effect: string; readonly type: string },
  id: Identifier,
): Expected {
  const effects = isObject(body) && Array.isArray(body['effects']) ? (body['effects'] as readonly JsonObject[]) : [];
  const isNamed = effects.some(
    (one) => one['effect'] === effect.effect && one['type'] === effect.type && [one['identifiers']].flat().includes(id),
  );
  return {
    status: 200,
    body: { dryRun: true, answer: ANY, effects: isNamed ? ANY : [{ ...effect, identifiers: [id] }] },
  };
}
