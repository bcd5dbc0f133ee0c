/** Plan -> the report of a dry run: which records are created, changed, linked, unlinked and deleted. */
import type { JoinTable, RecordType, Reference } from '../../model/model.ts';
import { canFollow, relationsFor, type Rights } from '../../model/rights.ts';
import type { EffectKind, WriteEffect } from '../store.ts';
import { changedBy, changesOf, type WritePlan } from './plan.ts';
import type { JoinPair, Node } from './session.ts';

/** The most identifiers that one effect names. */
const MOST_NAMED = 1000;

/** One kind of effect on records of one type, through one of its relations. */
interface Noted {
  readonly kind: EffectKind;
  readonly type: RecordType;
  /** The name of the relation that leads to a linked or unlinked record. */
  readonly relation?: string | undefined;
  readonly identifiers: readonly number[];
  readonly keys?: readonly string[];
}

export function effectsOf(rights: Rights, plan: WritePlan): readonly WriteEffect[] {
  const { cascade, unlinks, steps, pairs, unpairs } = plan;
  const noted = [
    ...(cascade?.trees ?? []).flatMap(({ levels }) => levels.map((level): Noted => ({ kind: 'deleted', ...level }))),
    ...(cascade?.pairs ?? []).map(({ table, column, pairs: lost }): Noted => {
      const identifiers = lost.map(([left, right]) => (column === table.left.column ? right : left));
      return { kind: 'unlinked', ...otherSide(rights, table, column), identifiers };
    }),
    ...unlinks.map(({ type, reference, identifiers }): Noted => {
      return { kind: 'unlinked', type, relation: relationOf(rights, reference), identifiers };
    }),
    ...steps.flatMap((step): Noted[] =>
      step.kind === 'insert'
        ? [{ kind: 'created', type: step.node.type, identifiers: [step.node.identifier ?? 0] }]
        : [],
    ),
    ...changedBy(plan).flatMap((node) => changesNoted(rights, node)),
    ...unpairs.flatMap((pair) => pairNoted(rights, 'unlinked', pair)),
    ...pairs.flatMap((pair) => pairNoted(rights, 'linked', pair)),
  ];
  const groups = Map.groupBy(noted, ({ kind, type, relation = '' }) => `${kind} ${type.table} ${relation}`);
  const whole = (kind: EffectKind): ReadonlySet<string> =>
    new Set(noted.flatMap((one) => (one.kind === kind ? one.identifiers.map((id) => `${one.type.table} ${id}`) : [])));
  const [created, deleted] = [whole('created'), whole('deleted')];
  return [...groups.values()].flatMap((group): WriteEffect[] => {
    const [first] = group;
    if (!first) return [];
    const { kind, type, relation } = first;
    // Of a record that is made, or deleted, nothing else matters.
    const isWhole = (id: number): boolean =>
      (kind !== 'created' && created.has(`${type.table} ${id}`)) ||
      (kind !== 'deleted' && deleted.has(`${type.table} ${id}`));
    const found = [...new Set(group.flatMap(({ identifiers }) => identifiers))].filter((id) => !isWhole(id));
    const keys = [...new Set(group.flatMap((one) => one.keys ?? []))].toSorted();
    const identifiers = found.toSorted((a, b) => a - b).slice(0, MOST_NAMED);
    return found.length === 0 ? [] : [{ kind, type: type.name, relation, keys, count: found.length, identifiers }];
  });
}

/** The name of a link; undefined if it has none, or the client may not know it. */
const relationOf = (rights: Rights, { relation }: Reference): string | undefined =>
  relation && canFollow(rights, relation) ? relation.name : undefined;

/** The side of a join table that is not in this column, and its own name for the links. */
function otherSide(rights: Rights, { name, left, right }: JoinTable, column: string): Pick<Noted, 'type' | 'relation'> {
  const other = column === left.column ? right : left;
  const found = [...relationsFor(rights, other.type).values()].find(
    ({ link }) => link.at === 'join' && link.table.name === name && link.sourceColumn === other.column,
  );
  return { type: other.type, relation: found?.name };
}

const changesNoted = (rights: Rights, node: Node): readonly Noted[] =>
  changesOf(node).flatMap(([name, value]): Noted[] => {
    const { type, identifier = 0, table } = node;
    const identifiers = [identifier];
    const { field, reference } = table.columns.find((column) => column.name === name) ?? {};
    // Stamps go with every change.
    if (field?.generated !== undefined) return [];
    if (reference)
      return [
        { kind: value === null ? 'unlinked' : 'linked', type, relation: relationOf(rights, reference), identifiers },
      ];
    return [{ kind: 'changed', type, identifiers, keys: field ? [field.name] : changedKeys(node) }];
  });

const changedKeys = ({ openKeys, storedOpenKeys }: Node): readonly string[] =>
  [...openKeys].flatMap(([key, { member, isWritten }]) =>
    isWritten && member?.text !== storedOpenKeys?.get(key)?.text ? key : [],
  );

/** Both records get one link more, or have one less. */
const pairNoted = (rights: Rights, kind: 'linked' | 'unlinked', { table, left, right }: JoinPair): readonly Noted[] =>
  (
    [
      [table.left.column, right],
      [table.right.column, left],
    ] as const
  ).map(([column, other]) => {
    const identifier = typeof other === 'number' ? other : (other.identifier ?? 0);
    return { kind, ...otherSide(rights, table, column), identifiers: [identifier] };
  });
