/** Descriptions of types for agents, and the entity tags that agents see. */
import { describeType } from '../describe/describe.ts';
import { typeOf } from '../embed/call.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { type Model, type RecordType } from '../model/model.ts';
import { namedUniques } from '../model/rights.ts';
import { faultyRequest } from '../problem.ts';

/** Types that one answer names. */
const MAX_LISTED = 200;

export function listTypes({ types }: Model, search = ''): JsonObject {
  const wanted = search.toLowerCase();
  const found = [...types.values()].filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(wanted),
  );
  // Those that can be asked for come first.
  const ordered = found.toSorted((a, b) => Number(a.operations.size === 0) - Number(b.operations.size === 0));
  const listed = ordered.slice(0, MAX_LISTED).map(({ name, description, operations }) => ({
    type: name,
    description,
    operations: [...operations],
  }));
  return {
    types: listed,
    ...(found.length > listed.length
      ? { more: `${found.length - listed.length} more types; narrow them down with "search"` }
      : {}),
    ...(listed.some(({ operations }) => operations.length === 0)
      ? { note: 'A type without operations is read and written inside the records of others.' }
      : {}),
  };
}

/** Of the descriptor, what concerns only the database, maintainers, and people who look at forms. */
const INTERNAL = new Set([
  'table',
  'column',
  'through',
  'index',
  'indexes',
  'renamedFrom',
  'seed',
  'path',
  'unique',
  'title',
  'label',
  'multiline',
]);
/** Said only where it is not as usual. */
const USUAL: Readonly<Record<string, JsonValue>> = {
  required: false,
  nullable: false,
  readOnly: false,
  sensitive: false,
  caseless: false,
  owned: false,
  acyclic: false,
  open: false,
  shown: true,
};

/** Without what the database alone needs, and without what is as usual. */
export function describeFor(model: Model, name: string): JsonObject {
  const type = typeOf(model, name);
  const { operations, identifier, fields, relations, checks, ...rest } = describeType(type);
  const uniques = namedUniques(type).map(({ members }) => members.map((member) => member.name));
  return {
    ...without(rest),
    operations: operations ?? [],
    identifier: isObject(identifier) ? without(identifier) : {},
    fields: each(fields, (field) => without(field)),
    relations: each(relations, (relation) => without(relation)),
    ...(uniques.length > 0 ? { unique: uniques } : {}),
    ...(Array.isArray(checks) && checks.length > 0 ? { checks } : {}),
    ...waysOfWriting(type),
  };
}

const each = (items: JsonValue | undefined, change: (item: JsonObject) => JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(isObject(items) ? items : {}).map(([name, item]) => [name, isObject(item) ? change(item) : item]),
  );

const without = (item: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([key, value]) => !INTERNAL.has(key) && !isUsual(key, value)));

/** An empty text or list can be a default. */
const isUsual = (key: string, value: JsonValue): boolean =>
  value === null ||
  value === USUAL[key] ||
  (key !== 'default' && (value === '' || (Array.isArray(value) && value.length === 0)));

function waysOfWriting({ preconditions, operations }: RecordType): JsonObject {
  return preconditions === 'required' && (operations.has('update') || operations.has('delete'))
    ? { note: 'Updates and deletions need the etag of get_record.' }
    : {};
}

// The entity tags that agents see. A tag is about one view of a record, so the tag for an agent names the view as well: it
// can be sent back without repeating the `fields` and `include` of the read.

/** The view of a write, and the tag that the record must have in it. */
interface Tagged {
  readonly view: JsonObject;
  /** As `If-Match` has it; undefined if the write is unconditional. */
  readonly tag: string | undefined;
}

const VIEW_OPTIONS = ['fields', 'include', 'variant'] as const;
const OPAQUE = /^(?:W\/)?"?([\w+/=-]+)"?$/;

/** Empty where the type goes without tags. */
export function tagFor(tag: string | undefined, view: JsonObject): JsonObject {
  return tag === undefined ? {} : { etag: [tag.replaceAll('"', ''), ...viewParts(view)].join('?') };
}

function viewParts(view: JsonObject): readonly string[] {
  const pairs = VIEW_OPTIONS.flatMap((name): [string, string][] => {
    const value = view[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  return pairs.length === 0 ? [] : [new URLSearchParams(pairs).toString()];
}

/** The arguments of a write, taken apart. A view in the arguments goes before that of the tag. */
export function viewIn({ etag, ...view }: JsonObject): Tagged {
  if (etag === undefined) return { view, tag: undefined };
  const [opaque = '', search] = typeof etag === 'string' ? etag.split('?', 2) : [];
  const [, tag] = OPAQUE.exec(opaque.trim()) ?? [];
  if (tag === undefined) throw notATag();
  const isGiven = VIEW_OPTIONS.some((name) => view[name] !== undefined);
  return { view: isGiven || search === undefined ? view : { ...view, ...viewOf(search) }, tag: `"${tag}"` };
}

/** The options of a call in process. */
export const optionsOf = ({ view, tag }: Tagged): Readonly<Record<string, unknown>> =>
  tag === undefined ? view : { ...view, ifMatch: tag };

function viewOf(search: string): JsonObject {
  const parameters = new URLSearchParams(search);
  return Object.fromEntries(
    VIEW_OPTIONS.flatMap((name): [string, JsonValue][] => {
      const value = parameters.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}

function notATag(): never {
  const message = '"etag" must be the text that get_record returned as etag';
  throw faultyRequest('invalid-header', [{ parameter: 'etag', code: 'invalid-value', message }]);
}
