/** Reads the log of one record with its parts, and the records of a type that were deleted. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import { memoized } from '../../memo.ts';
import { type Identifier, identifierSql } from '../../model/identifier.ts';
import { type RecordType, type Relation, wholeOf } from '../../model/model.ts';
import { entryOf, hasHistory, hasWholeHistory, namesRecords, relationsFor, type Rights } from '../../model/rights.ts';
import type { LogQuery, View } from '../../query/list-query.ts';
import { type Dialect, literal, type Statement } from '../dialect.ts';
import type { BoundStatement, Driver, Reader } from '../driver.ts';
import { charging, type Reads } from '../read/reads.ts';
import type { LogPage, Store } from '../store.ts';
import { createEntryReader, deletionJson, type Entry, ENTRY_COLUMNS, entryJson, identifierIn } from './entries.ts';
import { cursorOf, positionIn } from './feed.ts';
import { CONTEXT_TABLE, LOG_TABLE } from './recording.ts';

const LOG_NUMBER: Statement = { sql: `select cast(log as text) from ${CONTEXT_TABLE}` };

/** How many entries the log has at most. */
const EXTENT: Statement = {
  sql: `select (select max(position) from ${LOG_TABLE}) - (select min(position) from ${LOG_TABLE})`,
};

const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** On SQLite, a search process looks through a longer log. */
const MAX_QUICK_ENTRIES = 5000;
/** Rows that one statement reads for a page. Reading more would hold up other requests. */
const MAX_ROWS = 5000;

/** The parts of a record whose log is read with its own: they are visible if it is. */
export function partsFor(rights: Rights, type: RecordType): readonly Relation[] {
  return [...relationsFor(rights, type).values()].filter(({ owned, link, target }) => {
    const isVisible = entryOf(rights, target.name, 'read')?.isPart === true || namesRecords(rights, target);
    return owned && link.at === 'target' && isVisible && hasHistory(rights, target);
  });
}

const joinTablesOf = (rights: Rights, type: RecordType): readonly string[] =>
  [...relationsFor(rights, type).values()].flatMap(({ link }) => (link.at === 'join' ? link.table.name : []));

function createStatements(dialect: Dialect) {
  const { quote, oneOf, limit, name, log } = dialect;
  const page = `order by position desc ${limit}`;
  const from = `select ${ENTRY_COLUMNS} from ${LOG_TABLE}`;
  const positions = `select position from ${LOG_TABLE}`;
  return {
    /** Bound: pairs of source and record, owners, position, limit, 0. */
    history: {
      // PostgreSQL would search the whole log backwards, expecting many entries; SQLite would do so for a bare column.
      sql: `with found$ as materialized (${positions} where ${log.own} union all ${positions} where ${log.owned}) ${from} where position in (select position from found$ where +position < ? ${page}) order by position desc`,
    } satisfies Statement,
    /** The identifiers of present and former parts. Bound: identifiers of owners, their names in the log. */
    parts: memoized(({ link, source, target }: Relation): Statement => {
      if (link.at !== 'target') throw new Error('Parts have the column of their owner');
      const { table, identifier } = target;
      const column = oneOf(quote(link.reference.column), identifierSql(source.identifier, name));
      const present = `select cast(${quote(identifier.column)} as text) from ${quote(table)} where ${column}`;
      const former = `select record from ${LOG_TABLE} where source = ${literal(table)} and ${log.owned}`;
      return { sql: `${present} union ${former}`, reads: [table] };
    }),
    /** Bound: position, limit, 0. */
    deleted: memoized(({ table, identifier }: RecordType): Statement => {
      const isDeletion = `source = ${literal(table)} and operation = 'delete'`;
      const later = `select 1 from ${LOG_TABLE} as later where later.source = ${LOG_TABLE}.source and later.record = ${LOG_TABLE}.record and later.operation = 'delete' and later.position > ${LOG_TABLE}.position`;
      const there = `select 1 from ${quote(table)} where ${quote(identifier.column)} = cast(${LOG_TABLE}.record as ${identifierSql(identifier, name)})`;
      const conditions = [isDeletion, '"old" is not null', `not exists (${later})`, `not exists (${there})`];
      return { sql: `${from} where ${conditions.join(' and ')} and position < ? ${page}`, reads: [table] };
    }),
  };
}

export function createLogReads(driver: Driver, { record }: Reads): Pick<Store, 'history' | 'deleted'> {
  const statements = createStatements(driver.dialect);
  const readerOf = memoized(({ type, rights }: View) => {
    const types = new Set([wholeOf(type)]);
    for (const one of types) for (const { target } of partsFor(rights, one)) types.add(target);
    return createEntryReader(types, rights);
  });

  async function reading<T>(work: (reader: Reader) => Promise<T>, caller: Caller): Promise<T> {
    const isSqlite = driver.mostCounted < Infinity;
    const extent = isSqlite ? await driver.read((reader) => reader.value(EXTENT, []), caller) : Infinity;
    return Number(extent) < MAX_QUICK_ENTRIES ? driver.read(work, caller) : driver.scan(work, caller);
  }

  /** The sources and records of a record's own entries, and the owners of those of its parts. */
  async function placesOf(reader: Reader, view: View, identifier: Identifier, caller: Caller) {
    const { rights } = view;
    const whole = wholeOf(view.type);
    const charge = charging(caller);
    const pairs: (readonly string[])[] = [[whole.table, String(identifier)]];
    const owners = new Set<string>();
    const found = [{ type: whole, records: [String(identifier)] }];
    for (const { type, records } of found) {
      for (const table of joinTablesOf(rights, type)) for (const one of records) pairs.push([table, one]);
      const parts = partsFor(rights, type);
      const places = parts.length === 0 ? [] : records.map((one) => `${type.table}/${one}`);
      for (const place of places) owners.add(place);
      for (const part of parts) {
        const { target } = part;
        if (partsFor(rights, target).length === 0 && joinTablesOf(rights, target).length === 0) continue;
        const bound = [records.map((one) => identifierIn(type, one)), places].map((one) => JSON.stringify(one));
        const below = (await reader.column(statements.parts(part), bound, charge)).map(String);
        const fresh = below.filter((one) => !owners.has(`${target.table}/${one}`));
        if (fresh.length > 0) found.push({ type: target, records: fresh });
      }
    }
    return [pairs, [...owners]];
  }

  async function pageOf(
    reader: Reader,
    { view, limit, after }: LogQuery,
    { statement, values }: BoundStatement,
    caller: Caller,
    textOf: (entry: Entry, cursor: string) => string,
  ): Promise<LogPage> {
    const log = String(await reader.value(LOG_NUMBER, []));
    const { entryOf: read } = readerOf(view);
    const entries: Entry[] = [];
    let before = after === undefined ? UNLIMITED : positionIn(after, log);
    // Rows of which the client sees nothing are passed over, also behind the page.
    for (let size = limit + 1, isEnd = false; entries.length <= limit && !isEnd; size = Math.min(2 * size, MAX_ROWS)) {
      const charge = charging(caller);
      const rows = await reader.all(statement, [...values, before, size, 0], (row) => row.forEach(charge));
      entries.push(...rows.flatMap((row) => read(row) ?? []));
      before = Number(rows.at(-1)?.[0]);
      isEnd = rows.length < size || caller.signal.aborted;
      await nextTurn();
    }
    const page = entries.slice(0, limit);
    const next = entries.length > limit ? page.at(-1) : undefined;
    return {
      entries: page.map((entry) => textOf(entry, cursorOf(log, entry.position))),
      next: next && cursorOf(log, next.position),
    };
  }

  return {
    history: (query, identifier, caller = NO_CLIENT) => {
      const { view, after } = query;
      return reading(async (reader) => {
        const isThere = (await record(reader, view, identifier, caller)) !== undefined;
        if (!isThere && !hasWholeHistory(view.rights, wholeOf(view.type))) return undefined;
        const places = await placesOf(reader, view, identifier, caller);
        const bound = { statement: statements.history, values: places.map((one) => JSON.stringify(one)) };
        const page = await pageOf(reader, query, bound, caller, (...one) => entryJson(...one, { values: true }));
        return isThere || after !== undefined || page.entries.length > 0 ? page : undefined;
      }, caller);
    },
    deleted: (query, caller = NO_CLIENT) => {
      const bound = { statement: statements.deleted(wholeOf(query.view.type)), values: [] };
      return reading((reader) => pageOf(reader, query, bound, caller, deletionJson), caller);
    },
  };
}
