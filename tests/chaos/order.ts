/**
 * Whether transactions can have happened one after the other. The graph has an edge wherever one must have come before
 * another; a cycle is a violation. Every version of an object has one writer and any number of readers:
 *
 * - a writer comes before the readers of what it wrote,
 * - one that ended before another began comes before it,
 * - if anyone who saw version A ended before someone who saw version B began, A is older than B: whoever saw A comes
 *   before the writer of B,
 * - whoever saw a version comes before a write that followed on that version at once, and before the deletion.
 */
import { GONE, type Op, type Violation } from './history.ts';
import type { Access, Transaction } from './transactions.ts';

interface Edge {
  readonly to: number;
  readonly why: string;
}

interface Version {
  readonly writer: number | undefined;
  /** Writer and readers. */
  readonly users: readonly number[];
  /** The first moment at which somebody who saw it had ended, and the last at which somebody who saw it began. */
  readonly over: number;
  readonly last: number;
}

export function isInCycle(transactions: readonly Transaction[]): Violation | undefined {
  const graph = new Graph(transactions);
  const twice = graph.follow();
  if (twice) return twice;
  graph.inTime();
  graph.versions();
  const cycle = graph.cycle();
  return cycle && explain(cycle, transactions);
}

class Graph {
  readonly #all: readonly Transaction[];
  readonly #edges: Edge[][];
  readonly #objects = new Map<string, Map<string, number[]>>();
  readonly #writers = new Map<string, number>();

  constructor(all: readonly Transaction[]) {
    this.#all = all;
    this.#edges = all.map(() => []);
    for (const [index, { reads, writes }] of all.entries()) {
      for (const access of writes) this.#writers.set(keyOf(access), index);
      for (const access of [...writes, ...reads]) this.#use(access, index);
    }
  }

  #use({ object, state }: Access, index: number): void {
    const versions = this.#objects.get(object) ?? new Map<string, number[]>();
    this.#objects.set(object, versions);
    const users = versions.get(String(state)) ?? [];
    versions.set(String(state), users);
    users.push(index);
  }

  #edge(from: number, to: number | undefined, why: string): void {
    if (to !== undefined && from !== to) this.#edges[from]?.push({ to, why });
  }

  /** A node that is no transaction, which spares as many edges as there are pairs. */
  #node(): number {
    return this.#edges.push([]) - 1;
  }

  follow(): Violation | undefined {
    const followers = new Map<string, number>();
    for (const [index, { follows, ops }] of this.#all.entries())
      for (const access of follows) {
        const key = keyOf(access);
        const other = followers.get(key);
        if (other !== undefined)
          return {
            rule: `Two writes followed on the same state of ${key}: the second one did not see the first`,
            ops: [...(this.#all[this.#writers.get(key) ?? -1]?.ops ?? []), ...(this.#all[other]?.ops ?? []), ...ops],
          };
        followers.set(key, index);
        for (const user of this.#objects.get(access.object)?.get(String(access.state)) ?? [])
          this.#edge(user, index, `saw ${key}, which was replaced by`);
      }
    return undefined;
  }

  /** One ended before another began. */
  inTime(): void {
    const ends = [...new Set(this.#all.map(({ to }) => to))]
      .filter(Number.isFinite)
      .toSorted((one, other) => one - other);
    const nodes = ends.map(() => this.#node());
    for (const [at, node] of nodes.entries()) this.#edge(node, nodes[at + 1], '');
    for (const [index, { from, to }] of this.#all.entries()) {
      const own = nodes[placeOf(ends, to)];
      if (own !== undefined && to < Infinity) this.#edge(index, own, 'ended before the beginning of');
      const before = nodes[placeOf(ends, from) - 1];
      if (before !== undefined) this.#edge(before, index, '');
    }
  }

  versions(): void {
    for (const [object, versions] of this.#objects) {
      const all = [...versions].map(([state, users]) => this.#version(`${object}=${state}`, users));
      this.#ofOneObject(object, all);
      const gone = this.#writers.get(`${object}=${GONE}`);
      for (const { users, writer } of all)
        if (writer !== gone) for (const user of users) this.#edge(user, gone, `saw ${object}, which was deleted by`);
    }
    for (const [index, { unborn }] of this.#all.entries())
      for (const object of unborn) this.#edge(index, this.#creator(object), `did not see ${object}, which was made by`);
  }

  #creator(object: string): number | undefined {
    const states = this.#objects.get(object) ?? new Map<string, number[]>();
    return [...states.keys()]
      .map((state) => this.#writers.get(`${object}=${state}`))
      .find((writer) => writer !== undefined && this.#all[writer]?.ops[0]?.write?.kind === 'create');
  }

  #version(key: string, users: readonly number[]): Version {
    const writer = this.#writers.get(key);
    for (const user of users) if (writer !== undefined) this.#edge(writer, user, `wrote ${key}, which was seen by`);
    const times = users.map((user) => this.#all[user]);
    return {
      writer,
      users,
      over: Math.min(...times.map((one) => one?.to ?? Infinity)),
      last: Math.max(...times.map((one) => one?.from ?? 0)),
    };
  }

  #ofOneObject(object: string, all: readonly Version[]): void {
    const sorted = all.toSorted((one, other) => one.last - other.last);
    const lasts = sorted.map(({ last }) => last);
    const nodes = sorted.map(() => this.#node());
    for (const [at, node] of nodes.entries()) {
      this.#edge(node, sorted[at]?.writer, '');
      this.#edge(node, nodes[at + 1], '');
    }
    for (const version of sorted) {
      // Its own place lies behind its end, too, if it was seen twice: that says nothing.
      const own = sorted.indexOf(version);
      const why = `saw a state of ${object} that is older than that of`;
      const first = placeOf(lasts, version.over + 1);
      for (const user of version.users) {
        const later = (from: number, to: number): void => {
          for (const { writer } of sorted.slice(from, to)) this.#edge(user, writer, why);
        };
        // The nodes would lead back to a transaction that replaced what it saw.
        const replaced = sorted.some(({ writer }) => writer === user && writer !== version.writer);
        later(first, Math.max(first, own));
        if (replaced) later(Math.max(first, own + 1), sorted.length);
        else this.#edge(user, nodes[Math.max(first, own + 1)], why);
      }
    }
  }

  /** The shortest one that begins at one of the transactions in a cycle. */
  cycle(): readonly (readonly [transaction: number, why: string])[] | undefined {
    const knot = components(this.#edges).find(({ length }) => length > 1);
    if (knot === undefined) return undefined;
    const within = new Set(knot);
    const cycles = knot
      .filter((node) => node < this.#all.length)
      .slice(0, 200)
      .map((start) => this.#shortest(start, within))
      .toSorted((one, other) => one.length - other.length);
    return cycles[0];
  }

  #shortest(start: number, within: ReadonlySet<number>): readonly (readonly [number, string])[] {
    const from = new Map<number, readonly [number, string]>();
    let front = [start];
    while (front.length > 0 && !from.has(start)) {
      const next: number[] = [];
      for (const node of front)
        for (const { to, why } of this.#edges[node] ?? [])
          if (within.has(to) && !from.has(to)) {
            from.set(to, [node, why]);
            next.push(to);
          }
      front = next;
    }
    const path: (readonly [number, string])[] = [];
    for (let node = start; path.length === 0 || node !== start;) {
      const [before, why] = from.get(node) ?? [start, ''];
      path.unshift([before, why]);
      node = before;
    }
    return path.filter(([node]) => node < this.#all.length);
  }
}

const keyOf = ({ object, state }: Access): string => `${object}=${state}`;

/** The first place whose value is not below. */
function placeOf(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Strongly connected components (Tarjan), without recursion. */
function components(edges: readonly (readonly Edge[])[]): readonly (readonly number[])[] {
  const order = new Map<number, number>();
  const low: number[] = [];
  const stack: number[] = [];
  const onStack = new Set<number>();
  const found: number[][] = [];
  for (let root = 0; root < edges.length; root += 1) {
    const work: { node: number; next: number }[] = order.has(root) ? [] : [{ node: root, next: 0 }];
    while (work.length > 0) {
      const top = work.at(-1) as { node: number; next: number };
      const { node } = top;
      if (top.next === 0) {
        low[node] = order.size;
        order.set(node, order.size);
        stack.push(node);
        onStack.add(node);
      }
      const edge = edges[node]?.[top.next];
      top.next += 1;
      if (edge !== undefined) {
        if (!order.has(edge.to)) work.push({ node: edge.to, next: 0 });
        else if (onStack.has(edge.to)) low[node] = Math.min(low[node] ?? 0, order.get(edge.to) ?? 0);
        continue;
      }
      work.pop();
      const parent = work.at(-1)?.node;
      if (parent !== undefined) low[parent] = Math.min(low[parent] ?? 0, low[node] ?? 0);
      if (low[node] === order.get(node)) {
        const component = stack.splice(stack.indexOf(node));
        for (const one of component) onStack.delete(one);
        found.push(component);
      }
    }
  }
  return found;
}

function explain(cycle: readonly (readonly [number, string])[], all: readonly Transaction[]): Violation {
  const name = (index: number | undefined): string => `#${all[index ?? -1]?.ops[0]?.number}`;
  const lines = cycle.map(([node, why], at) => `  ${name(node)} ${why} ${name(cycle[(at + 1) % cycle.length]?.[0])}`);
  const ops: readonly Op[] = cycle.flatMap(([node]) => all[node]?.ops ?? []);
  return { rule: `These requests cannot have happened one after the other:\n${lines.join('\n')}`, ops };
}
