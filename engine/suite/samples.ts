/** Bodies from samples of the field types, the records that a case needs, and the expected responses. */
import { foldedValue } from '../field-types/case-folding.ts';
import { type ItemShape, listed, numeric, type Shape } from '../field-types/field-type.ts';
import { byName, isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { type Identifier, sampleOf } from '../model/identifier.ts';
import { type Field, identifierIn, type RecordType, type Relation } from '../model/model.ts';
import { unmetBy } from '../query/operators.ts';
import { among, collection, condition, createdId, type Expect, item, missing, shows, Skip } from './run.ts';

export interface Obtained {
  readonly id: Identifier;
  readonly record: JsonObject;
}

export type AddCase = (title: string, isPossible: boolean, work: (context: Context) => Promise<unknown>) => void;

/** Whether a case can create a record, or use an existing one. */
export const isObtainable = ({ operations, identifier }: RecordType): boolean =>
  operations.has('create') || (operations.has('list') && identifier.inRecord);

const neededBy = ({ relations }: RecordType, via?: Relation): readonly Relation[] =>
  [...relations.values()].filter((one) => one.required && one !== via?.inverse);

/** `via`: the relation that the record is nested in. */
export const writable = (type: RecordType, via?: Relation): readonly Field[] =>
  (via?.fields ?? type.defaultVariant.fields).filter((field) => !field.readOnly && field.generated === undefined);

/** Whether the value must differ from all other records' values. */
const isAlone = ({ indexes }: RecordType, field: Field): boolean =>
  field.unique ||
  indexes.some(({ unique, members }) => unique && members.every((one) => 'column' in one) && members[0] === field);

/** Whether a unique field has so few samples that another record may have them. */
export const isScarce = (type: RecordType): boolean =>
  [...type.fields.values()].some((field) => {
    const values = Array.from({ length: 20 }, (_, seed) => field.type.good(field, seed));
    const keys = values.map((value) => JSON.stringify(field.caseless ? foldedValue(value) : value));
    return isAlone(type, field) && new Set(keys).size < keys.length;
  });

export const differing = (field: Field, stored: JsonValue): JsonValue | undefined =>
  [1, 2, 3, 4]
    .map((seed) => field.type.good(field, seed))
    .find((value) => stored === null || !field.type.equal(value, stored));

const LONGEST_SAMPLE = 10_000;

/** Values that the field does not accept, those just beyond its limits included. */
export function badValues(shape: Shape & Pick<ItemShape, 'type'>): readonly JsonValue[] {
  const { constraints, type } = shape;
  const { minimum, maximum, pattern } = constraints;
  const values = listed(shape);
  const moved = (limit: JsonValue | undefined, step: number): readonly JsonValue[] => {
    const value = Number(limit) + step;
    if (limit === undefined || Math.abs(value) > Number.MAX_SAFE_INTEGER || value === limit) return [];
    return [typeof limit === 'string' ? String(value) : value];
  };
  const sized = (word: 'Length' | 'Items'): readonly JsonValue[] => {
    const fill = type.item?.(shape)?.type.good(type.item(shape) ?? shape, 1) ?? 1;
    return [numeric(shape, `min${word}`, -1) - 1, numeric(shape, `max${word}`, -2) + 1]
      .filter((size) => size >= 0 && size <= LONGEST_SAMPLE)
      .map((size) => (word === 'Length' ? 'x'.repeat(size) : Array.from({ length: size }, () => fill)));
  };
  return [
    ...moved(minimum, -1),
    ...moved(maximum, 1),
    ...sized('Length'),
    ...sized('Items'),
    ...['', ' ', 'no match', '!'].filter((text) => typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text)),
    ...(typeof values?.[0] === 'string' ? [`${values.join('')}x`] : []),
    ...(typeof values?.[0] === 'number' ? [Math.max(...values.map(Number)) + 1] : []),
    ...type.bad(shape),
  ];
}

const MOST_VARIATIONS = 3000;
const MOST_TRIES = 50;

/** Bodies with other values in one or several of these fields. */
export function variations(body: JsonObject, fields: readonly Field[]): readonly JsonObject[] {
  let all: readonly JsonObject[] = [body];
  for (const field of fields) {
    const samples = Array.from({ length: 8 }, (_, seed) => field.type.good(field, seed + 1));
    const others = [...samples, ...field.type.edges(field), ...(field.nullable ? [null] : [])];
    const varied = all.flatMap((one) => others.map((value) => ({ ...one, [field.name]: value })));
    all = all.concat(varied).slice(0, MOST_VARIATIONS);
  }
  return all;
}

export function meeting(type: RecordType, body: JsonObject, fixed: JsonObject): JsonObject | undefined {
  const fields = new Set(unmetBy(type, body).flatMap((check) => check.fields));
  const free = writable(type).filter(
    (field) => fields.has(field) && !isAlone(type, field) && !Object.hasOwn(fixed, field.name),
  );
  return variations(body, free).find((one) => unmetBy(type, one).length === 0);
}

interface BodyWish {
  readonly via?: Relation | undefined;
  readonly full?: boolean;
  readonly values?: JsonObject;
}

/** The tools of a running case. */
export class Context {
  readonly expect: Expect;
  readonly #samples: { seed: number };
  /** Types whose record is being created: required links may form a cycle. */
  readonly #pending = new Set<RecordType>();
  readonly #tried = new Set<string>();

  constructor(expect: Expect, samples: { seed: number }) {
    this.expect = expect;
    this.#samples = samples;
  }

  /** A new number for each call. */
  seed(): number {
    return (this.#samples.seed += 1);
  }

  /** An identifier that no record has. Clients may have given a sample to a record of theirs, which no case may change. */
  async free(type: RecordType): Promise<Identifier> {
    if (type.identifier.by === 'service') return missing(type);
    const canList = type.operations.has('list');
    const canAsk = canList || type.operations.has('get');
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const id = sampleOf(type.identifier, this.seed());
      const path = canList ? collection(type, among(type, [id])) : item(type, id);
      if (this.#tried.has(path)) continue;
      this.#tried.add(path);
      if (!canAsk) return id;
      const { status, body } = await this.expect({ method: 'GET', path }, ({ status: any }) => ({ status: any }));
      if (status === 404 || [body].flat().length === 0) return id;
    }
    throw new Skip();
  }

  /** A body that create accepts. */
  async body(type: RecordType, { via, full = false, values = {} }: BodyWish = {}): Promise<JsonObject> {
    const fields = writable(type, via);
    if ([...type.fields.values()].some((field) => field.required && !fields.includes(field))) throw new Skip();
    const isNeeded = (field: Field): boolean =>
      full || field.required || (isAlone(type, field) && field.default !== undefined);
    const links: Record<string, JsonValue> = {};
    for (const relation of neededBy(type, via))
      if (!Object.hasOwn(values, relation.name)) links[relation.name] = await this.related(relation);
    const own = byName(fields.filter(isNeeded), (field) => field.type.good(field, this.seed()));
    const { by, name } = type.identifier;
    const key = by === 'client' && !Object.hasOwn(values, name) ? { [name]: await this.free(type) } : {};
    return meeting(type, { ...key, ...own, ...links, ...values }, values) ?? Promise.reject(new Skip());
  }

  /** A link if possible, else a new record. */
  async related(relation: Relation): Promise<JsonObject> {
    const { target, nested } = relation;
    if (target.identifier.inRecord && isObtainable(target) && !this.#pending.has(target)) return this.link(target);
    if (nested !== 'write') throw new Skip();
    return this.body(target, { via: relation });
  }

  async link(type: RecordType): Promise<JsonObject> {
    return idOf(type, (await this.obtain(type)).id);
  }

  /** A key and required links that may lead nowhere: the service checks values first. */
  placeholders(type: RecordType): JsonObject {
    const targets = neededBy(type).filter(({ target }) => target.identifier.inRecord);
    const key = type.identifier.by === 'client' ? idOf(type, sampleOf(type.identifier, this.seed())) : {};
    return { ...key, ...byName(targets, ({ target }) => idOf(target, missing(target, this.seed()))) };
  }

  /** A new record or, without `create`, the first existing one. */
  async obtain(type: RecordType, wish: BodyWish = {}): Promise<Obtained> {
    if (!isObtainable(type) || this.#pending.has(type)) throw new Skip();
    if (!type.operations.has('create')) {
      const request = { method: 'GET', path: collection(type, `?${condition(['limit', '1'], 1)}`) };
      const { body } = await this.expect(request, { status: 200 });
      const [record] = body as readonly JsonObject[];
      if (!record) throw new Skip();
      return { id: identifierIn(record, type) ?? '', record };
    }
    this.#pending.add(type);
    try {
      return await this.create(type, await this.body(type, wish));
    } finally {
      this.#pending.delete(type);
    }
  }

  /** `include`: the relations that the response shows. */
  async create(type: RecordType, body: JsonObject, include?: readonly string[]): Promise<Obtained> {
    const query = include ? `?include=${include.map(encodeURIComponent).join(',')}` : '';
    const headers = { location: `${collection(type)}/*`, etag: tagOf(type) };
    const targets = [...type.relations.values()].filter(({ name }) => Object.hasOwn(body, name));
    const mayConflict = [type, ...targets.map(({ target }) => target)].some(isScarce);
    const response = await this.expect({ method: 'POST', path: collection(type, query), body }, (received) => {
      if (received.status === 409 && mayConflict) throw new Skip();
      return shows(type, 201, created(type, createdId(type, received), body, include), headers);
    });
    return { id: createdId(type, response), record: response.body as JsonObject };
  }
}

export const tagOf = ({ preconditions }: RecordType): string | null => (preconditions === 'off' ? null : '"*"');

/** The record that the response to this body shows. */
function created(
  type: RecordType,
  id: Identifier,
  given: JsonObject,
  include: readonly string[] | undefined,
): JsonObject {
  const plain = type.defaultVariant.fields.filter((field) => field.generated === undefined && !field.isNowByDefault);
  const record: Record<string, JsonValue> = {
    ...idOf(type, id),
    ...byName(plain, ({ default: value }) => value ?? null),
  };
  for (const [name, value] of Object.entries(given)) {
    const relation = type.relations.get(name);
    if (!relation) record[name] = value;
    else if (include?.includes(name) ?? relation.shown) record[name] = withoutRelations(relation, value);
  }
  return record;
}

export const idOf = ({ identifier }: RecordType, id: JsonValue): JsonObject =>
  identifier.inRecord ? { [identifier.name]: id } : {};

/** Responses omit the relations of related records. */
function withoutRelations({ target }: Relation, value: JsonValue): JsonValue {
  const plain = (one: JsonValue): JsonValue =>
    isObject(one) ? Object.fromEntries(Object.entries(one).filter(([name]) => !target.relations.has(name))) : one;
  return Array.isArray(value) ? value.map(plain) : plain(value);
}

/** A record after a change, without the times and names that the service generates. */
export const changed = (type: RecordType, record: JsonObject, changes: JsonObject = {}): JsonObject =>
  Object.fromEntries(
    Object.entries({ ...record, ...changes }).filter(
      ([name]) => !type.fields.get(name)?.generated?.startsWith('updated'),
    ),
  );
