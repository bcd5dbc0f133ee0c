/** The effects of a plan, for dry runs: what becomes of which records, as far as the token may know. */
import { membersOf } from '../../json/raw.ts';
import { compareIdentifiers, type Identifier } from '../../model/identifier.ts';
import type { JoinTable, RecordType, Reference } from '../../model/model.ts';
import { canFollow, relationsFor, type Rights } from '../../model/rights.ts';
import type { EffectKind, WriteEffect } from '../store.ts';
import { boundTo, numberOf, type RowChange, type RowId, type WritePlan } from './plan.ts';
import type { WriteSession } from './session.ts';

const MOST_NAMED = 1000;

interface Affected {
  readonly type: RecordType;
  readonly relation?: string | undefined;
}

/** `made`: the identifiers of the new records. */
export function effectsOf(
  { rights, tables }: Pick<WriteSession, 'rights' | 'tables'>,
  plan: WritePlan,
  made: readonly Identifier[],
): readonly WriteEffect[] {
  type Effect = Affected & { readonly kind: EffectKind; readonly found: Set<Identifier>; readonly keys: Set<string> };
  const effects = new Map<string, Effect>();
  const note = (kind: EffectKind, { type, relation }: Affected, rows: readonly RowId[]): Effect => {
    const key = `${kind} ${type.table} ${relation ?? ''}`;
    const effect = effects.get(key) ?? { kind, type, relation, found: new Set<Identifier>(), keys: new Set<string>() };
    effects.set(key, effect);
    for (const row of rows) effect.found.add(numberOf(row, made));
    return effect;
  };
  const seen = plan.rows.filter(({ isHidden }) => !isHidden);
  for (const { kind, type, rows, set, before } of seen)
    if (kind === 'delete') note('deleted', { type }, rows);
    else if (kind === 'insert') note('created', { type }, rows);
    else if (!before) {
      const [link = ''] = set.keys();
      note('unlinked', { type, relation: relationOf(rights, tables.of(type).columnOf.get(link)?.reference) }, rows);
    }
  for (const { type, rows, before = [], set } of netUpdates(seen)) {
    const { columnOf, position } = tables.of(type);
    for (const [name, value] of set) {
      const { field, reference, folds } = columnOf.get(name) ?? {};
      const old = before[position.get(name) ?? -1] ?? null;
      const now = boundTo(value, made);
      if (now === old || folds) continue;
      if (reference)
        note(now === null ? 'unlinked' : 'linked', { type, relation: relationOf(rights, reference) }, rows);
      else if (field?.generated === undefined) {
        const { keys } = note('changed', { type }, rows);
        for (const key of field ? [field.name] : changedKeys(String(old), String(now))) keys.add(key);
      }
    }
  }
  // A pair links both of its records.
  for (const { kind, table, left, right, isHidden } of plan.pairs) {
    if (isHidden) continue;
    const effect = kind === 'add' ? 'linked' : 'unlinked';
    note(effect, otherSide(rights, table, table.left.column), [right]);
    note(effect, otherSide(rights, table, table.right.column), [left]);
  }
  const isOf = (kind: EffectKind, { table }: RecordType, identifier: Identifier): boolean =>
    effects.get(`${kind} ${table} `)?.found.has(identifier) === true;
  return [...effects.values()].flatMap(({ kind, type, relation, found, keys }): WriteEffect[] => {
    // A created or deleted record has no further effects.
    const identifiers = [...found].filter(
      (one) =>
        (kind === 'created' || !isOf('created', type, one)) && (kind === 'deleted' || !isOf('deleted', type, one)),
    );
    if (identifiers.length === 0) return [];
    const named = identifiers.toSorted(compareIdentifiers).slice(0, MOST_NAMED);
    const { length: count } = identifiers;
    return [{ kind, type: type.name, relation, keys: [...keys].toSorted(), count, identifiers: named }];
  });
}

/** Updates of rows that were read, one for each row: a link may be cut before it changes, and a unique value freed. */
export function netUpdates(rows: readonly RowChange[]): readonly RowChange[] {
  const updates = rows.filter(({ kind, before }) => kind === 'update' && before !== undefined);
  return [...Map.groupBy(updates, ({ type, rows: [row] }) => `${type.table} ${String(row)}`).values()].flatMap(
    ([first, ...others]) =>
      first ? { ...first, set: new Map([first, ...others].flatMap(({ set }) => [...set])) } : [],
  );
}

/** The name of a link; undefined if it has none, or the client must not see it. */
const relationOf = (rights: Rights, reference: Reference | undefined): string | undefined =>
  reference?.relation && canFollow(rights, reference.relation) ? reference.relation.name : undefined;

/** The other side of a join table, and the name of its relation. */
function otherSide(rights: Rights, { name, left, right }: JoinTable, column: string) {
  const other = column === left.column ? right : left;
  const found = [...relationsFor(rights, other.type).values()].find(
    ({ link }) => link.at === 'join' && link.table.name === name && link.sourceColumn === other.column,
  );
  return { type: other.type, relation: found?.name };
}

/** Keys of an open type whose JSON differs. */
function changedKeys(before: string, after: string): readonly string[] {
  const [old, now] = [membersOf(before), membersOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key)?.text !== now.get(key)?.text);
}
