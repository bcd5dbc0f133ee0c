/** Filters as a tree: conditions, groups of them, and conditions on the records of a set. They are read from an address, and written into it. */
import type { Where } from './where.ts';

export type GroupMode = 'any' | 'all' | 'none';
export type Quantifier = 'some' | 'none' | 'every';

export type FilterNode =
  | { readonly kind: 'condition'; readonly path: string; readonly operator: string; readonly values: readonly string[] }
  | { readonly kind: 'count'; readonly path: string; readonly operator: string; readonly value: string }
  | { readonly kind: 'group'; readonly mode: GroupMode; readonly items: readonly FilterNode[] }
  | {
      readonly kind: 'set';
      readonly path: string;
      readonly quantifier: Quantifier;
      readonly items: readonly FilterNode[];
    }
  /** Written by hand in a way that the studio does not write. It stays as it is. */
  | { readonly kind: 'other'; readonly parameters: Where };

export const condition = (path: string, operator: string, ...values: readonly string[]): FilterNode => ({
  kind: 'condition',
  path,
  operator,
  values,
});

interface Part {
  readonly steps: readonly string[];
  readonly value: string;
}

class Unreadable extends Error {}

const MODES: ReadonlySet<string> = new Set(['any', 'all', 'none']);
const QUANTIFIERS: ReadonlySet<string> = new Set(['some', 'none', 'every']);

export function readTree(where: Where): readonly FilterNode[] {
  const groups = Map.groupBy(where, ([parameter]) => keyOf(stepsOf(parameter)));
  return [...groups.values()].flatMap((parameters): readonly FilterNode[] => {
    try {
      return readLevel(parameters.map(([parameter, value]) => ({ steps: stepsOf(parameter), value })));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return [{ kind: 'other', parameters }];
    }
  });
}

const stepsOf = (parameter: string): readonly string[] =>
  /^_cnd(?:\[[^[\]]*\])+$/.test(parameter)
    ? [...parameter.matchAll(/\[([^[\]]*)\]/g)].map(([, step = '']) => step)
    : [];

/** Conditions with the same name and operator or quantifier belong together. */
const keyOf = (steps: readonly string[]): string =>
  steps.slice(0, steps[0]?.startsWith('$') === true ? 1 : 2).join('][');

function readLevel(parts: readonly Part[]): readonly FilterNode[] {
  return [...Map.groupBy(parts, ({ steps }) => keyOf(steps)).values()].flatMap(readNodes);
}

function readNodes(parts: readonly Part[]): readonly FilterNode[] {
  const [name = '', word = 'eq', operator = 'eq'] = parts[0]?.steps ?? [];
  const [mode, quantifier] = [name, word].map((step) => (step.startsWith('$') ? step.slice(1) : ''));
  if (mode) {
    if (!MODES.has(mode)) throw new Unreadable();
    const items = readItems(parts, 1).map(together);
    return mode === 'all' ? items.flatMap(flat) : [{ kind: 'group', mode: mode as GroupMode, items }];
  }
  if (quantifier === 'count')
    return parts.map(({ steps, value }) => {
      if (steps.length > 3) throw new Unreadable();
      return { kind: 'count', path: name, operator: steps[2] ?? operator, value };
    });
  if (quantifier) {
    if (!QUANTIFIERS.has(quantifier)) throw new Unreadable();
    return readItems(parts, 2).map((items) => ({
      kind: 'set',
      path: name,
      quantifier: quantifier as Quantifier,
      items,
    }));
  }
  if (name === '' || parts.some(({ steps }) => steps.length > 2)) throw new Unreadable();
  return [{ kind: 'condition', path: name, operator: word, values: parts.map(({ value }) => value) }];
}

/** Each index is an item. */
function readItems(parts: readonly Part[], at: number): readonly (readonly FilterNode[])[] {
  if (parts.some(({ steps }) => !/^\d+$/.test(steps[at] ?? '') || steps.length === at + 1)) throw new Unreadable();
  return [...Map.groupBy(parts, ({ steps }) => steps[at]).values()].map((item) =>
    readLevel(item.map(({ steps, value }) => ({ steps: steps.slice(at + 1), value }))),
  );
}

const together = (items: readonly FilterNode[]): FilterNode =>
  items.length === 1 && items[0] ? items[0] : { kind: 'group', mode: 'all', items };

const flat = (node: FilterNode): readonly FilterNode[] =>
  node.kind === 'group' && node.mode === 'all' ? node.items.flatMap(flat) : [node];

/** Filters that say nothing are left out. */
export const writeTree = (nodes: readonly FilterNode[]): Where => [
  ...nodes.flatMap((node) => (node.kind === 'other' ? node.parameters : [])),
  ...writeLevel(nodes, '_cnd'),
];

function writeLevel(nodes: readonly FilterNode[], prefix: string): Where {
  const written: (readonly [string, string])[] = [];
  const counts = new Map<string, number>();
  const again: FilterNode[] = [];
  const next = (key: string): number => {
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return count;
  };
  const writeItem = (key: string, items: readonly FilterNode[]): void => {
    written.push(...writeLevel(items, `${prefix}${key}[${next(key)}]`));
  };
  for (const node of nodes.flatMap(flat)) {
    if (node.kind === 'other' || isEmpty(node)) continue;
    if (node.kind === 'set') writeItem(`[${node.path}][$${node.quantifier}]`, node.items);
    // A record matches none of two groups if it matches no item of either; with "any", each group counts by itself.
    else if (node.kind === 'group' && node.mode === 'none') for (const item of node.items) writeItem('[$none]', [item]);
    else if (node.kind === 'group')
      if (counts.has('[$any]')) again.push(node);
      else for (const item of node.items.filter((one) => !isEmpty(one))) writeItem('[$any]', [item]);
    else {
      const key =
        node.kind === 'count' ? `[${node.path}][$count][${node.operator}]` : `[${node.path}][${node.operator}]`;
      if (next(key) > 0) again.push(node);
      else for (const value of node.kind === 'count' ? [node.value] : node.values) written.push([prefix + key, value]);
    }
  }
  for (const node of again) writeItem('[$all]', [node]);
  return written;
}

const isEmpty = (node: FilterNode): boolean => {
  if (node.kind === 'condition') return node.values.length === 0;
  if (node.kind === 'group' || node.kind === 'set') return node.items.every(isEmpty);
  return node.kind === 'count' && node.value.trim() === '';
};
