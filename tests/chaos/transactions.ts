/** A history as transactions: which states each of them read and wrote. */
import { isMissing } from './clients.ts';
import { GONE, type Op, outcomeOf, type Seen, type SetSeen, type State, type Violation } from './history.ts';
import type { Writings } from './judge.ts';

export interface Access {
  readonly object: string;
  readonly state: State;
}

export interface Transaction {
  readonly ops: readonly Op[];
  readonly from: number;
  readonly to: number;
  readonly reads: Access[];
  readonly writes: readonly Access[];
  /** States that its writes follow at once: no other write came between. */
  readonly follows: readonly Access[];
  /** Objects that it did not see because they were not made yet. */
  readonly unborn: string[];
}

interface Draft extends Transaction {
  readonly sets: readonly SetSeen[];
}

export interface Transactions {
  readonly transactions: readonly Transaction[];
  readonly violation: Violation | undefined;
}

const NOTHING: Seen = { sightings: [], sets: [], torn: [] };

export function transactionsOf(ops: readonly Op[], writings: Writings): Transactions {
  const created = createdObjects(ops, writings);
  const seenStates = new Set(
    ops.flatMap(({ seen }) => (seen?.sightings ?? []).map(({ object, state }) => `${object} ${state}`)),
  );
  const drafts = [
    ...ops.filter(({ write }) => write === undefined).flatMap(reading),
    ...[...writings.values()].flatMap(({ write, ops: tries }): readonly Draft[] => {
      if (write.kind === 'delete') return tries.flatMap(reading);
      const object = created.get(write.stamp);
      const objects = write.kind === 'create' ? (object === undefined ? [] : [object]) : write.objects;
      const happened =
        tries.some((op) => outcomeOf(op) === 'done') || objects.some((one) => seenStates.has(`${one} ${write.stamp}`));
      return happened
        ? [writing(write.stamp, tries, objects, write.fields), ...tries.flatMap(missed)]
        : tries.flatMap(missed);
    }),
  ];
  const deleted = deletions(writings);
  const all = [...drafts, ...deleted.drafts];
  resolveSets(all, created, ops);
  return { transactions: all, violation: deleted.violation ?? vanished(all) };
}

/** The path of each created record, as somebody has seen it. */
function createdObjects(ops: readonly Op[], writings: Writings): ReadonlyMap<string, string> {
  const created = new Map<string, string>();
  for (const { object, state } of ops.flatMap(({ seen }) => seen?.sightings ?? [])) {
    const write = writings.get(state ?? '')?.write;
    if (write?.kind === 'create' && !object.includes('#') && object.startsWith(`${write.type}/`))
      created.set(write.stamp, object);
  }
  return created;
}

const pathOf = ({ title }: Op): string => title.split('/api/')[1]?.split('?')[0] ?? '';

function draft(ops: readonly Op[], seen: Seen, rest: Partial<Draft>): Draft {
  const [first] = ops;
  return {
    ops,
    from: first?.from ?? 0,
    to: Math.min(...ops.map(({ to }) => to)),
    reads: [...seen.sightings],
    sets: seen.sets,
    writes: [],
    follows: [],
    unborn: [],
    ...rest,
  };
}

function reading(op: Op): readonly Draft[] {
  if (op.write === undefined && op.seen) return [draft([op], op.seen, {})];
  return missed(op);
}

const missed = (op: Op): readonly Draft[] =>
  isMissing(op) ? [draft([op], NOTHING, { reads: [{ object: pathOf(op), state: GONE }] })] : [];

function writing(
  stamp: string,
  tries: readonly Op[],
  objects: readonly string[],
  fields: Readonly<Record<string, State>>,
): Draft {
  const done = tries.filter((op) => outcomeOf(op) === 'done');
  const [first] = tries;
  const [object = ''] = objects;
  const ofFields = Object.entries(fields).map(([field, state]) => ({ object: `${object}#${field}`, state }));
  const writes = [...objects.map((one) => ({ object: one, state: stamp })), ...ofFields];
  const basis = first?.write?.basis ?? NOTHING;
  const written = new Set(writes.map((one) => one.object));
  // Of what a write shows, only its own row is sure to be of the moment of its commit.
  const own = first?.write?.kind === 'update' ? (done[0]?.seen?.sightings ?? []) : [];
  const reads = own.filter((one) => one.object.startsWith(`${object}#`) && !written.has(one.object));
  return draft(tries, basis, {
    to: Math.min(Infinity, ...done.map(({ to }) => to)),
    reads: [...basis.sightings, ...reads],
    writes,
    follows: basis.sightings.filter((one) => written.has(one.object)),
  });
}

interface Deleted {
  readonly drafts: readonly Draft[];
  readonly violation: Violation | undefined;
}

/** A record is deleted once, by the request that was told so, or else by one that got no answer. */
function deletions(writings: Writings): Deleted {
  const tries = Map.groupBy(
    [...writings.values()].filter(({ write }) => write.kind === 'delete').flatMap((one) => one.ops),
    pathOf,
  );
  const drafts: Draft[] = [];
  for (const [object, all] of tries) {
    const done = all.filter((op) => outcomeOf(op) === 'done');
    if (done.length > 1) return { drafts, violation: { rule: `${object} was deleted twice`, ops: done } };
    const unknown = all.filter((op) => outcomeOf(op) === 'unknown');
    const writes = [{ object, state: GONE }];
    const [op] = done;
    if (op) {
      const own = (op.seen?.sightings ?? []).filter((one) => one.object === object);
      const basis = op.write?.basis ?? NOTHING;
      drafts.push(draft([op], basis, { reads: [...basis.sightings, ...own], writes, follows: own }));
    } else if (unknown.length > 0)
      drafts.push(
        draft(unknown, NOTHING, { from: Math.min(...unknown.map(({ from }) => from)), to: Infinity, writes }),
      );
  }
  return { drafts, violation: undefined };
}

/** A set without an object that was there: it is gone; without one that was never deleted: it was not there yet. */
function resolveSets(all: readonly Draft[], created: ReadonlyMap<string, string>, ops: readonly Op[]): void {
  const born = new Map<string, number>();
  const dying = new Map<string, number>();
  for (const { to, from, reads, writes } of all) {
    for (const { object, state } of [...reads, ...writes]) {
      if (object.includes('#')) continue;
      if (state === GONE) dying.set(object, Math.min(dying.get(object) ?? Infinity, from));
      else born.set(object, Math.min(born.get(object) ?? Infinity, to));
    }
  }
  for (const op of ops)
    if (op.write?.kind === 'delete' && outcomeOf(op) === 'unknown')
      dying.set(pathOf(op), Math.min(dying.get(pathOf(op)) ?? Infinity, op.from));
  const owners = ownersOf(ops, created);
  const byType = Map.groupBy(born.keys(), (object) => object.split('/')[0] ?? '');
  const byOwner = Map.groupBy(owners.keys(), (ledger) => owners.get(ledger) ?? '');
  for (const { sets, reads, unborn, from, to } of all)
    for (const { of, members } of sets) {
      const there = new Set(members);
      for (const object of (byType.get(of) ?? byOwner.get(of) ?? []).filter((one) => !there.has(one))) {
        if ((born.get(object) ?? Infinity) < from) reads.push({ object, state: GONE });
        else if ((dying.get(object) ?? Infinity) > to) unborn.push(object);
      }
    }
}

/** The account of each ledger, which never changes. */
function ownersOf(ops: readonly Op[], created: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const { write, body, seen } of ops) {
    const ledger = created.get(write?.stamp ?? '');
    if (write?.type === 'ledgers' && ledger !== undefined && body !== undefined && 'account' in body)
      owners.set(ledger, `accounts/${(body.account as { readonly id: number }).id}`);
    for (const { of, members } of seen?.sets ?? [])
      if (of.startsWith('accounts/')) for (const member of members) owners.set(member, of);
  }
  return owners;
}

/** A record that is gone though nobody deleted it. */
function vanished(all: readonly Transaction[]): Violation | undefined {
  const deleted = new Set(
    all.flatMap(({ writes }) => writes.filter(({ state }) => state === GONE).map(({ object }) => object)),
  );
  for (const { ops, reads } of all) {
    const lost = reads.find(({ object, state }) => state === GONE && !deleted.has(object));
    if (lost === undefined) continue;
    const before = all.filter(({ writes, to }) => to < Infinity && writes.some(({ object }) => object === lost.object));
    return {
      rule: `${lost.object} is gone, and nobody deleted it`,
      ops: [...(before.at(-1)?.ops ?? []), ...ops],
    };
  }
  return undefined;
}
