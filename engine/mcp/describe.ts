/** Descriptions of types for agents. */
import { describeType } from '../describe/describe.ts';
import { typeOf } from '../embed/calls.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import type { Model } from '../model/model.ts';
import { namedUniques } from '../model/rights.ts';

/** Types that one answer names. */
const MAX_LISTED = 200;

export function listTypes({ types }: Model, search = ''): JsonObject {
  const wanted = search.toLowerCase();
  const found = [...types.values()].filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(wanted),
  );
  // Types that can be asked for come first.
  const ordered = found.toSorted((a, b) => Number(a.operations.size === 0) - Number(b.operations.size === 0));
  const more = found.length - MAX_LISTED;
  return {
    types: ordered
      .slice(0, MAX_LISTED)
      .map(({ name, description, operations }) => ({ type: name, description, operations: [...operations] })),
    ...(more > 0 ? { more: `${more} more types; narrow them down with "search"` } : {}),
    note: 'A type without operations is read and written inside the records of others.',
  };
}

/** Keys of the descriptor that concern only the database, maintainers, and people who look at forms. */
const INTERNAL = /^(?:table|column|through|index|indexes|renamedFrom|seed|path|unique|title|label|multiline)$/;

/** Keys that are false unless a description says otherwise. */
const OFF = /^(?:required|nullable|readOnly|sensitive|caseless|owned|acyclic|open)$/;

export function describeFor(model: Model, name: string): JsonObject {
  const type = typeOf(model, name);
  const { operations, identifier, fields, relations, checks, ...rest } = describeType(type);
  const uniques = namedUniques(type).map(({ members }) => members.map((member) => member.name));
  const needsTag =
    type.preconditions === 'required' && (type.operations.has('update') || type.operations.has('delete'));
  return {
    ...withoutUsual(rest),
    operations: operations ?? [],
    identifier: withoutUsual(identifier),
    fields: eachWithoutUsual(fields),
    relations: eachWithoutUsual(relations),
    ...(uniques.length > 0 ? { unique: uniques } : {}),
    ...(Array.isArray(checks) && checks.length > 0 ? { checks } : {}),
    ...(needsTag ? { note: 'Updates and deletions need the etag of get_record.' } : {}),
  };
}

const entriesOf = (item: JsonValue | undefined): readonly [string, JsonValue][] =>
  isObject(item) ? Object.entries(item) : [];

const eachWithoutUsual = (items: JsonValue | undefined): JsonObject =>
  Object.fromEntries(entriesOf(items).map(([name, item]) => [name, withoutUsual(item)]));

const withoutUsual = (item: JsonValue | undefined): JsonObject =>
  Object.fromEntries(entriesOf(item).filter(([key, value]) => !INTERNAL.test(key) && !isUsual(key, value)));

function isUsual(key: string, value: JsonValue): boolean {
  if (value === null || (value === false && OFF.test(key)) || (value === true && key === 'shown')) return true;
  // An empty text or list can be a default.
  return key !== 'default' && (value === '' || (Array.isArray(value) && value.length === 0));
}
