/** `apply --rename-columns`: tables and columns that have former names get those that the descriptors give them. */
import { ENGINE_PREFIX, type Index, type Model, type RecordType } from '../../model/model.ts';
import type { Dialect } from '../dialect.ts';
import {
  type AppliedModel,
  appliedModel,
  columnsIn,
  type Move,
  nameKey,
  rememberedAs,
  type TableDefinition,
} from './applied.ts';
import { keptModel } from './keep.ts';
import { moved, namesLeft } from './moves.ts';
import { placedModel } from './place.ts';
import { createStep, type MigrationStep, type Plan } from './steps.ts';
import type { Task } from './tasks.ts';

/** Something that has another name than the descriptors give it. */
interface Renaming {
  /** The type that people know it by. */
  readonly type: string;
  readonly from: string;
  readonly to: string;
}

interface TableRenamings {
  readonly table: string;
  readonly columns: readonly Renaming[];
}

const NONE: ReadonlySet<string> = new Set();

/** What comes after a plan that has nothing left to do. `model`: with the names of the descriptors. */
export function renamePlan<P extends Plan>(plan: P, model: Model, dialect: Dialect): P {
  const { applied, model: placed } = plan;
  const tables = keptModel(applied, placed, dialect, NONE);
  const inTables = tableRenamings(applied, placed, model);
  const inColumns = columnRenamings(applied, placed, model);
  const columnMoves = inColumns.flatMap(({ table, columns }) =>
    columns.map(({ from, to }): Move => ({ table, column: from, to })),
  );
  const tableMoves = inTables.map(({ from, to }): Move => ({ table: from, to }));
  const moves = [...columnMoves, ...tableMoves];
  if (moves.length === 0) return { ...plan, steps: [], kept: [] };
  const wanted = appliedAfter(plan, moves, tables, model, dialect);
  const { quote } = dialect;
  const steps = [
    ...inColumns.flatMap(({ table, columns }) =>
      columns.map((one) => {
        const words = `rename column ${quote(one.from)} to ${quote(one.to)}`;
        return renameStep('rename-column', one, { kind: 'rename', table, sql: `alter table ${quote(table)} ${words}` });
      }),
    ),
    ...inTables.map((one) => {
      const sql = `alter table ${quote(one.from)} rename to ${quote(one.to)}`;
      return renameStep('rename-table', one, { kind: 'renameTable', table: one.from, sql });
    }),
  ];
  const indexes = indexTasks(appliedModel(tables, dialect), wanted, dialect);
  const last = steps.length - 1;
  return {
    ...plan,
    steps: steps.map((step, at) => (at === last ? { ...step, tasks: [...step.tasks, ...indexes] } : step)),
    kept: [],
    wanted,
  };
}

const renameStep = (
  code: 'rename-column' | 'rename-table',
  { type, from, to }: Renaming,
  task: Task & { readonly table: string },
): MigrationStep =>
  createStep(code, type, {
    name: to,
    was: from,
    now: to,
    detail: task.table,
    tasks: [task],
    rowsIn: task.table,
    creates: code === 'rename-table' ? [to] : [],
  });

// Which names differ. Models are placed part by part: the parts of both are in the same order.

function tableRenamings(applied: AppliedModel, placed: Model, model: Model): readonly Renaming[] {
  const types = zipped(placed.types.values(), model.types.values());
  const joins = zipped(placed.joinTables, model.joinTables);
  const all = [
    ...types.map(([{ name, table }, to]) => ({ type: name, from: table, to: to.table })),
    ...joins.map(([{ name, left }, to]) => ({ type: left.type.name, from: name, to: to.name })),
  ];
  const names = [...Object.values(applied.types), ...applied.joins].map(({ table }) => table);
  return possible(all, names, namesLeft(applied));
}

function columnRenamings(applied: AppliedModel, placed: Model, model: Model): readonly TableRenamings[] {
  const left = (table: string): ReadonlyMap<string, string> => namesLeft(applied, table);
  const types = zipped(placed.types.values(), model.types.values()).map(([from, to]) => {
    const before = Object.values(applied.types).find(({ table }) => table === from.table);
    return {
      table: from.table,
      columns: possible(columnsBoth(from, to), before ? columnsIn(before) : [], left(from.table)),
    };
  });
  const joins = zipped(placed.joinTables, model.joinTables).map(([from, to]) => {
    const type = from.left.type.name;
    const sides = [
      { type, from: from.left.column, to: to.left.column },
      { type, from: from.right.column, to: to.right.column },
    ];
    return { table: from.name, columns: possible(sides, [from.left.column, from.right.column], left(from.name)) };
  });
  return [...types, ...joins].filter(({ columns }) => columns.length > 0);
}

const columnsBoth = (from: RecordType, to: RecordType): readonly Renaming[] =>
  [
    [from.identifier, to.identifier] as const,
    ...zipped(from.fields.values(), to.fields.values()),
    ...zipped(foldedIn(from), foldedIn(to)),
    ...zipped(from.references, to.references),
  ].map(([one, other]) => ({ type: from.name, from: one.column, to: other.column }));

/** Of the same fields in both: what the tables keep besides is not part of either. */
const foldedIn = ({ fields }: RecordType): readonly { readonly column: string }[] =>
  [...fields.values()].flatMap(({ folded }) => (folded === undefined ? [] : [{ column: folded }]));

const zipped = <T>(one: Iterable<T>, other: Iterable<T>): readonly (readonly [T, T])[] => {
  const others = [...other];
  return [...one].flatMap((part, at) => {
    const same = others[at];
    return same === undefined ? [] : [[part, same] as const];
  });
};

/** Without those whose name something else has, or had. */
function possible(
  all: readonly Renaming[],
  names: readonly string[],
  left: ReadonlyMap<string, string>,
): readonly Renaming[] {
  return all.filter(({ from, to }) => {
    const others = names.filter((name) => name !== from).map(nameKey);
    return from !== to && !others.includes(nameKey(to)) && (left.get(nameKey(to)) ?? from) === from;
  });
}

// What it leads to.

function appliedAfter(
  { applied }: Plan,
  moves: readonly Move[],
  tables: Model,
  model: Model,
  dialect: Dialect,
): AppliedModel {
  const after = moved(applied, moves);
  const target = placedModel(model, withoutOwnIndexes(after, tables, model));
  const named = keptModel(after, target, dialect, NONE);
  const { kept = [] } = applied;
  return rememberedAs(
    { ...appliedModel(named, dialect), ...(kept.length > 0 ? { kept } : {}) },
    { ...applied, moves: [...(applied.moves ?? []), ...moves] },
    false,
  );
}

/** So that those that the descriptors name get their names anew, beside those that stay. */
function withoutOwnIndexes(applied: AppliedModel, tables: Model, { types }: Model): AppliedModel {
  const remaining = Object.entries(applied.types).map(([name, type]) => {
    const own = types.get(name)?.indexes.length ?? 0;
    const others = new Set((tables.types.get(name)?.indexes ?? []).slice(own).map((index: Index) => index.name));
    const only = <T>(all: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
      Object.fromEntries(Object.entries(all).filter(([index]) => others.has(index)));
    const definition = { ...type.definition, indexes: only(type.definition.indexes) };
    return [name, { ...type, indexes: only(type.indexes), definition }] as const;
  });
  const joins = applied.joins.map((join) => ({ ...join, definition: { ...join.definition, indexes: {} } }));
  return { ...applied, types: Object.fromEntries(remaining), joins };
}

// The statements.

/** Both models have the same indexes in the same order. Where writes need no locks, an index is made anew under its name. */
function indexTasks(before: AppliedModel, after: AppliedModel, { quote, locks }: Dialect): readonly Task[] {
  const pairs = zipped(definitionsOf(before), definitionsOf(after)).flatMap(([one, other]) =>
    zipped(Object.entries(one.indexes), Object.entries(other.indexes)).map(([[from], [to, sql]]) => ({
      from,
      to,
      sql,
    })),
  );
  const different = pairs
    .filter(({ from, to }) => from !== to)
    .map((pair, at) => ({ ...pair, passing: `${ENGINE_PREFIX}passing_${at}` }));
  const rename = (from: string, to: string): string => `alter index ${quote(from)} rename to ${quote(to)}`;
  const statements = [
    ...different.map(({ from, passing }) => (locks ? rename(from, passing) : `drop index ${quote(from)}`)),
    ...different.map(({ passing, to, sql }) => (locks ? rename(passing, to) : sql)),
  ];
  return statements.map((sql) => ({ kind: 'renameIndex', table: undefined, sql }));
}

const definitionsOf = ({ types, joins }: AppliedModel): readonly TableDefinition[] =>
  [...Object.values(types), ...joins].map(({ definition }) => definition);
