/** Updates of records: only columns whose values change are written. */
import { andThen, type Awaitable, orElse } from '../../awaitable.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { OPEN_COLUMN } from '../../model/model.ts';
import { ConstraintError, type Values } from '../driver.ts';
import { explained, gone, openColumn } from './insert.ts';
import { isReplaced, plain } from './members.ts';
import { type Node, storedValue, type WriteSession } from './session.ts';
import { withFolded } from '../columns.ts';
import type { WriteTable } from './tables.ts';

export type ColumnValue = readonly [column: string, value: SqlValue | Node];

export function isChanged(node: Node): boolean {
  for (const column of node.assigned.keys()) if (isReplaced(node, column)) return true;
  return changedText(node) !== undefined;
}

/** The text of the open keys, if it becomes another one. */
function changedText(node: Node): string | undefined {
  const openKeys = openColumn(node);
  return openKeys === storedValue(node, OPEN_COLUMN) ? undefined : openKeys;
}

/** `again`: columns that were changed meanwhile. */
export function changesOf(node: Node, again: readonly string[] = []): readonly ColumnValue[] {
  const changes: ColumnValue[] = [];
  for (const [column, { value }] of node.assigned)
    if (isReplaced(node, column) || again.includes(column)) changes.push([column, value]);
  const openKeys = changedText(node);
  if (openKeys !== undefined) changes.push([OPEN_COLUMN, openKeys]);
  return changes;
}

export function update(session: WriteSession, node: Node, changes: readonly ColumnValue[]): Awaitable<void> {
  if (changes.length === 0 || node.identifier === undefined) return undefined;
  const { columns, values } = writtenBy(node, changes);
  const statement = node.table.update(columns);
  return andThen(
    explained(session, node, () => session.writer.run(statement, values)),
    ({ changes: rows }) => {
      if (rows === 0) throw gone(node);
    },
  );
}

/** What is bound: the identifier comes last. */
function writtenBy(
  { table, identifier }: Node,
  changes: readonly ColumnValue[],
): { readonly columns: readonly string[]; readonly values: Values } {
  const written = withFolded(
    table,
    changes.map(([column, value]) => [column, plain(value) ?? null]),
  );
  const values = written.map(([, value]) => value);
  values.push(identifier ?? null);
  return { columns: written.map(([column]) => column), values };
}

/** Records of one run: those that change the same columns, one after the other, up to this many. */
const MOST_IN_RUN = 100;

interface UpdateRun {
  readonly table: WriteTable;
  readonly columns: readonly string[];
  readonly nodes: Node[];
  readonly all: Values[];
}

/** Updates that are gathered, and run in their order. */
interface Updates {
  /** The result, if there is one, is to be waited for. */
  add(node: Node): Awaitable<void>;
  end(): Awaitable<void>;
}

/** `onDone` is called for each record. */
export function gatherUpdates(session: WriteSession, onDone: (node: Node) => void): Updates {
  let run: UpdateRun | undefined;

  function end(): Awaitable<void> {
    if (!run) return undefined;
    const { nodes } = run;
    const updated = updateRun(session, run);
    run = undefined;
    return andThen(updated, () => nodes.forEach(onDone));
  }

  function add(node: Node): Awaitable<void> {
    const { table } = node;
    const { columns, values } = writtenBy(node, changesOf(node));
    const fits = run && run.nodes.length < MOST_IN_RUN && run.table === table && isSame(run.columns, columns);
    const ended = fits ? undefined : end();
    if (fits) {
      run?.nodes.push(node);
      run?.all.push(values);
    } else run = { table, columns, nodes: [node], all: [values] };
    return ended;
  }

  return { add, end };
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one, index) => one === others[index]);

/** A record that is not there, or breaks a constraint, is found by updating them again, one by one. */
function updateRun(session: WriteSession, { table, columns, nodes, all }: UpdateRun): Awaitable<void> {
  const updated = orElse(
    () => session.writer.runEach?.(table.update(columns), all) ?? 0,
    (error) => {
      if (error instanceof ConstraintError) return 0;
      throw error;
    },
  );
  return andThen(updated, (rows) => (rows < nodes.length ? updateAlone(session, nodes) : undefined));
}

async function updateAlone(session: WriteSession, nodes: readonly Node[]): Promise<void> {
  for (const node of nodes) await update(session, node, changesOf(node));
}
