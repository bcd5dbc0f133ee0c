/** What a write does to which records, gathered for a dry run. */
import type { JoinTable, RecordType, Reference, Relation } from '../../model/model.ts';
import type { WriteEffect, EffectKind } from '../store.ts';
import type { ColumnValue } from './update.ts';
import type { JoinPair, Node, WriteSession } from './session.ts';

/** The most identifiers that one effect names. */
const MOST_NAMED = 1000;

/** What happens to records of one type, through one of its relations. */
interface Noted {
  readonly kind: EffectKind;
  readonly type: RecordType;
  /** The name of the relation that leads to a linked or unlinked record. */
  readonly relation?: string | undefined;
  readonly identifiers: readonly number[];
  readonly keys?: readonly string[];
}

export interface Effects {
  note(noted: Noted): void;
  all(): readonly WriteEffect[];
}

interface Gathering extends Noted {
  readonly found: Set<number>;
  readonly names: Set<string>;
}

export function createEffects(): Effects {
  const gathered = new Map<string, Gathering>();

  function note(noted: Noted): void {
    const { kind, type, relation = '', identifiers, keys = [] } = noted;
    if (identifiers.length === 0) return;
    // Not by the type: a token has one of its own for each table.
    const key = `${kind} ${type.table} ${relation}`;
    const known = gathered.get(key) ?? { ...noted, found: new Set(), names: new Set() };
    gathered.set(key, known);
    for (const identifier of identifiers) known.found.add(identifier);
    for (const name of keys) known.names.add(name);
  }

  /** Of a record that is made, or deleted, nothing else matters. */
  function all(): readonly WriteEffect[] {
    const whole = Map.groupBy(
      [...gathered.values()].filter(({ kind }) => kind === 'created' || kind === 'deleted'),
      ({ type }) => type.table,
    );
    return [...gathered.values()].flatMap((one) => {
      const others = whole.get(one.type.table)?.filter((other) => other !== one) ?? [];
      const left = new Set([...one.found].filter((identifier) => !others.some(({ found }) => found.has(identifier))));
      return left.size === 0 ? [] : [effectOf({ ...one, found: left })];
    });
  }

  return { note, all };
}

const effectOf = ({ kind, type, relation, found, names }: Gathering): WriteEffect => ({
  kind,
  type: type.name,
  relation,
  keys: [...names].toSorted(),
  count: found.size,
  identifiers: [...found].toSorted((a, b) => a - b).slice(0, MOST_NAMED),
});

/** What the records of a type call the link that they hold; undefined if they have no name for it, or the token may not know it. */
export const relationOf = ({ relations }: RecordType, { relation }: Reference): string | undefined =>
  relation && relations.has(relation.name) ? relation.name : undefined;

/** The side of a join table that is not in this column, and its own name for the links. */
export function otherSide(
  { name, left, right }: JoinTable,
  column: string,
): { readonly type: RecordType; readonly relation: string | undefined } {
  const other = column === left.column ? right : left;
  const found = [...other.type.relations.values()].find(
    ({ link }) => link.at === 'join' && link.table.name === name && link.sourceColumn === other.column,
  );
  return { type: other.type, relation: found?.name };
}

type WithEffects = Pick<WriteSession, 'effects' | 'made' | 'paired'>;

export function noteUnlinked(effects: Effects, { target, link }: Relation, identifiers: readonly number[]): void {
  const relation = link.at === 'target' ? relationOf(target, link.reference) : undefined;
  effects.note({ kind: 'unlinked', type: target, relation, identifiers });
}

/** Called once all is written. What is deleted, and unlinked with it, was noted when it was counted. */
export function noteWritten(
  { effects, made, paired }: WithEffects,
  changed: readonly (readonly [Node, readonly ColumnValue[]])[],
  unpaired: readonly JoinPair[],
): void {
  if (!effects) return;
  for (const { type, identifier = 0 } of made) effects.note({ kind: 'created', type, identifiers: [identifier] });
  for (const [node, changes] of changed) noteChanges(effects, node, changes);
  for (const pair of unpaired) notePair(effects, 'unlinked', pair);
  for (const pair of paired.values()) notePair(effects, 'linked', pair);
}

function noteChanges(effects: Effects, node: Node, changes: readonly ColumnValue[]): void {
  const { type, identifier = 0, table } = node;
  const identifiers = [identifier];
  for (const [name, value] of changes) {
    const { field, reference } = table.columns.find((column) => column.name === name) ?? {};
    // Stamps go with every change.
    if (field?.generated !== undefined) continue;
    if (reference) {
      const kind = value === null ? 'unlinked' : 'linked';
      effects.note({ kind, type, relation: relationOf(type, reference), identifiers });
    } else effects.note({ kind: 'changed', type, identifiers, keys: field ? [field.name] : changedKeys(node) });
  }
}

const changedKeys = ({ openKeys, storedOpenKeys }: Node): readonly string[] =>
  [...(openKeys ?? [])].flatMap(([key, { member }]) => (member?.text === storedOpenKeys?.get(key)?.text ? [] : [key]));

/** Both records get one link more, or have one less. */
function notePair(effects: Effects, kind: 'linked' | 'unlinked', { table, left, right }: JoinPair): void {
  const sides = [
    [table.left.column, right],
    [table.right.column, left],
  ] as const;
  for (const [column, other] of sides) {
    const identifier = typeof other === 'number' ? other : (other.identifier ?? 0);
    effects.note({ kind, ...otherSide(table, column), identifiers: [identifier] });
  }
}

/** By table: the identifiers that a walk through the records below others has met. */
export type MetRecords = Map<string, Set<number>>;

/** Those that the walk has not met before, and meets now: circles end here. */
export function newlyMet(met: MetRecords, { table }: RecordType, found: readonly unknown[]): readonly number[] {
  const known = met.get(table) ?? new Set<number>();
  met.set(table, known);
  const fresh = found.map(Number).filter((identifier) => !known.has(identifier));
  for (const identifier of fresh) known.add(identifier);
  return fresh;
}

/** Of a dry run: what the answer says besides. */
export const toldOf = (effects: Effects | undefined): { readonly effects?: readonly WriteEffect[] } =>
  effects ? { effects: effects.all() } : {};
