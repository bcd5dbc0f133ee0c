/** Which lists cost so much that they would hold up other requests. */
import type Database from 'better-sqlite3';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Driver, ListWork, Row, Statement, TextWork, Values } from '../driver.ts';
import { isScan, isSort, ownSteps } from './dialect.ts';
import type { TurnReader } from './turn-reader.ts';

/** Rows that one request may read, sort and skip, or count along an index: a millisecond or two. */
const MAX_SCANNED = 20_000;
const MAX_COUNTED = 100_000;
/** Rows that are counted before a list is streamed, which other lists of the same process wait for. */
const MAX_STREAMED = 5_000_000;
/** Nanoseconds that the filters and orders of a smaller table may take, and that one filter takes for each row. */
const MAX_MATCHING = 5_000_000;
const PER_FILTER = 50;
/** Bytes of a table that one request may read, whatever it shows of them, and rows of sets that it may show. */
const MAX_READ = 8 * 1024 * 1024;
const MAX_SHOWN = 5000;
/** Milliseconds for which the size of a table is remembered: it cannot grow much in a second. */
const REMEMBERED = 1000;

export function createListCost(reader: TurnReader, database: Database.Database): Pick<Driver, 'isHeavy' | 'isLarge'> {
  const plans = new WeakMap<Statement, readonly string[]>();
  const sizes = new WeakMap<Statement, { readonly bytes: number; readonly until: number }>();

  function planOf(statement: Statement, values: Values): readonly string[] {
    const known = plans.get(statement) ?? explain(database, statement, values);
    plans.set(statement, known);
    return known;
  }

  function bytesOf(statement: Statement): number {
    const known = sizes.get(statement);
    if (known && performance.now() < known.until) return known.bytes;
    const bytes = Number(reader.value(statement, []));
    sizes.set(statement, { bytes, until: performance.now() + REMEMBERED });
    return bytes;
  }

  const isLarge = (tables: readonly Statement[]): boolean =>
    tables.some((newest) => reader.count(newest, []) > MAX_SCANNED);

  const showsMuch = ({ sets, values }: ListWork): boolean =>
    sets.some(
      ({ size, shown }) => reader.count(size, []) > MAX_SHOWN && Number(reader.value(shown, values)) > MAX_SHOWN,
    );

  function isSearched({ rows, values, filters, continued }: ListWork): boolean {
    const plan = planOf(rows, values);
    const sorted = plan.some(isSort);
    // Without an index, a filter is tested row by row until the page is full.
    const scans = plan.some(isScan);
    return sorted || filters > 1 || (scans && (filters === 1 || continued));
  }

  function isLongMatch({ filters, texts }: ListWork, size: number): boolean {
    const most = ({ longest, perByte }: TextWork): number => size * longest * perByte;
    // SQLite knows the length of a text without reading it.
    const exact = ({ total, perByte }: TextWork): number => (total ? reader.count(total, []) : Infinity) * perByte;
    const nanoseconds = texts.reduce(
      (sum, text) => sum + (most(text) > MAX_MATCHING ? exact(text) : most(text)),
      size * filters * PER_FILTER,
    );
    return nanoseconds > MAX_MATCHING;
  }

  function isLong(list: ListWork): boolean {
    const { newest, filters, offset, whole, counted, bytes, found } = list;
    // Identifiers are never reused: there cannot be more rows than the greatest identifier.
    const size = Number(reader.count(newest, []));
    const few = found && reader.count(found.rows.statement, found.rows.values);
    if (found && few !== undefined && few <= MAX_SCANNED)
      return isLongMatch(list, few) || reader.count(found.bytes.statement, found.bytes.values) > MAX_READ;
    if (size <= MAX_SCANNED) return isLongMatch(list, size) || (isSearched(list) && bytesOf(bytes) > MAX_READ);
    if (offset > MAX_SCANNED || isSearched(list)) return true;
    const countable = filters > 0 ? MAX_SCANNED : whole ? MAX_STREAMED : MAX_COUNTED;
    return counted !== undefined && size > countable && !reader.isCounted(counted.statement, counted.values);
  }

  return { isLarge, isHeavy: (list) => isLong(list) || isLarge(list.deep) || showsMuch(list) };
}

const explain = (database: Database.Database, { sql }: Statement, values: Values): readonly string[] =>
  ownSteps(
    database
      .prepare<SqlValue[], Row>(`explain query plan ${sql}`)
      .raw()
      .all(...values),
  );
