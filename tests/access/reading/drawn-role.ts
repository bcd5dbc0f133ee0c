/** A random role over random types, and by plain loops the records and members that it shows. */
import type { JsonObject, JsonValue } from '../../../engine/json/json.ts';
import type { Model, RecordType, Relation } from '../../../engine/model/model.ts';
import type { Draw } from '../../oracle/random-operations.ts';
import { drawConditions } from '../../oracle/random-queries.ts';
import { type ConditionRequest, listed } from '../../oracle/reads.ts';
import { type Id, type RecordRow, rowsOf, type World } from '../../oracle/world.ts';

/** What a role reads of one type. */
export interface Seen {
  readonly ids: ReadonlySet<Id>;
  /** Names of fields and relations. */
  readonly hidden: ReadonlySet<string>;
}

export interface DrawnRole {
  /** As `access/reader.yaml` has it. */
  readonly descriptor: JsonObject;
  readonly claims: JsonObject;
  /** The types that exist for the role. */
  readonly seen: ReadonlyMap<RecordType, Seen>;
}

interface Entry {
  readonly conditions: readonly ConditionRequest[];
  readonly hidden: ReadonlySet<string>;
}

/** Longer conditions, with filters beside them, take the databases too long, or nest too deep for them. */
const MAX_CHARS = 500;

/** Operands become claims now and then. */
type Claiming = (value: JsonValue) => JsonValue;

/** Adds a condition to an object that has none of its names with the same word; false if it has. */
function added(into: Record<string, JsonValue>, condition: JsonObject): boolean {
  const entries = Object.entries(condition);
  const isTaken = entries.some(([key, value]) => {
    const known = into[key];
    return (
      known !== undefined &&
      (key.startsWith('$') || Object.keys(value as JsonObject).some((word) => Object.hasOwn(known as JsonObject, word)))
    );
  });
  if (isTaken) return false;
  for (const [key, value] of entries)
    into[key] = Array.isArray(value) ? value : { ...(into[key] as JsonObject), ...(value as JsonObject) };
  return true;
}

function yamlOfCondition(condition: ConditionRequest, claiming: Claiming): JsonObject {
  const inside = (item: readonly ConditionRequest[]): JsonObject => allOf(item, claiming);
  if ('group' in condition) return { [condition.group]: condition.items.map(inside) };
  if ('quantifier' in condition) return { [condition.path]: { [condition.quantifier]: inside(condition.conditions) } };
  if ('counted' in condition) return { [condition.path]: { $count: { [condition.counted]: condition.value } } };
  const { path, operator, ids, value = null } = condition;
  const numbers = ids?.map(Number);
  const operand = numbers === undefined ? value : operator === 'in' ? numbers : (numbers[0] ?? null);
  return { [path]: { [operator]: operator === 'null' ? operand : claiming(operand) } };
}

/** Conditions that share a name and a word stand in objects of their own. */
function allOf(conditions: readonly ConditionRequest[], claiming: Claiming): JsonObject {
  const objects: Record<string, JsonValue>[] = [];
  for (const condition of conditions) {
    const yaml = yamlOfCondition(condition, claiming);
    if (!objects.some((one) => added(one, yaml))) objects.push({ ...yaml });
  }
  return objects.length === 1 ? (objects[0] ?? {}) : { $all: objects };
}

const ownersOf = (model: Model, type: RecordType): readonly Relation[] =>
  [...model.types.values()].flatMap((owner) =>
    [...owner.relations.values()].filter(({ owned, target }) => owned && target === type),
  );

/** Both sides of a relation, or none. Owned sets stay. */
function drawHidden(model: Model, draw: Draw, entries: ReadonlyMap<RecordType, unknown>): Map<RecordType, Set<string>> {
  const hidden = new Map([...model.types.values()].map((type) => [type, new Set<string>()]));
  for (const type of entries.keys()) {
    for (const name of type.fields.keys()) if (draw(4) === 0) hidden.get(type)?.add(name);
    for (const { name, owned, inverse } of type.relations.values()) {
      if (owned || inverse?.owned || draw(5) > 0) continue;
      if (inverse && !entries.has(inverse.source)) continue;
      hidden.get(type)?.add(name);
      if (inverse) hidden.get(inverse.source)?.add(inverse.name);
    }
  }
  return hidden;
}

export function drawRole(model: Model, world: World, draw: Draw): DrawnRole {
  const types = [...model.types.values()];
  const named = types.filter(() => draw(6) > 0);
  const shown = new Map(named.filter(() => draw(8) > 0).map((type) => [type, true]));
  const hidden = drawHidden(model, draw, shown);
  const claims: Record<string, JsonValue> = {};
  const claiming: Claiming = (value) => {
    if (draw(3) > 0) return value;
    const name = `c${Object.keys(claims).length}`;
    claims[name] = value;
    return { claim: name };
  };
  const entries = new Map<RecordType, Entry | undefined>();
  const read: Record<string, JsonValue> = {};
  for (const type of named) {
    const names = hidden.get(type) ?? new Set();
    const drawn = draw(4) === 0 ? [] : drawConditions(world, draw, type);
    const conditions = JSON.stringify(drawn).length > MAX_CHARS ? [] : drawn;
    entries.set(type, shown.has(type) ? { conditions, hidden: names } : undefined);
    read[type.name] = !shown.has(type)
      ? false
      : conditions.length + names.size === 0
        ? true
        : {
            ...(conditions.length > 0 ? { where: allOf(conditions, claiming) } : {}),
            ...(names.size > 0 ? { except: [...names] } : {}),
          };
  }
  return { descriptor: { role: 'reader', read }, claims, seen: seenBy(model, world, entries) };
}

function seenBy(
  model: Model,
  world: World,
  entries: ReadonlyMap<RecordType, Entry | undefined>,
): ReadonlyMap<RecordType, Seen> {
  const exists = (type: RecordType, above: readonly RecordType[] = []): boolean =>
    entries.has(type)
      ? entries.get(type) !== undefined
      : ownersOf(model, type).some(({ source }) => !above.includes(source) && exists(source, [...above, type]));
  const meets = new Map(
    [...model.types.values()].map((type) => {
      const filters = entries.get(type)?.conditions ?? [];
      return [type, new Set(listed(world, type, { filters }).rows.map(({ id }) => id))];
    }),
  );
  /** A part is seen if its own entry allows it, and its owner is seen. One without an owner needs an entry. */
  const isSeen = (type: RecordType, row: RecordRow): boolean => {
    if (!exists(type) || !meets.get(type)?.has(row.id)) return false;
    const owners = ownersOf(model, type);
    if (owners.length === 0) return true;
    const links = owners.flatMap(({ link, source }) => {
      const id = link.at === 'target' ? row.links.get(link.reference) : undefined;
      const owner = id === undefined ? undefined : rowsOf(world, source).get(id);
      return owner ? [{ source, owner }] : [];
    });
    return (links.length > 0 || entries.has(type)) && links.every(({ source, owner }) => isSeen(source, owner));
  };
  return new Map(
    [...model.types.values()]
      .filter((type) => exists(type))
      .map((type) => {
        const rows = [...rowsOf(world, type).values()].filter((row) => isSeen(type, row));
        return [type, { ids: new Set(rows.map(({ id }) => id)), hidden: entries.get(type)?.hidden ?? new Set() }];
      }),
  );
}
