/** Changes of tables on a connection of their own: foreign keys are off before the transaction begins, and checked in it. */
import { Problem } from '../../problem.ts';
import { reasonOf, StartError } from '../../start-error.ts';
import type { Migration } from '../migration.ts';
import { backUp } from './backup.ts';
import { type Connection, connect } from './connection.ts';

/** Another process may write this long before the migration is given up, in milliseconds. */
const BUSY_TIMEOUT = 10_000;
const MAX_SHOWN = 10;

export async function migrate(file: string, migration: Migration): Promise<string | undefined> {
  const connection = connect(file, false);
  try {
    connection.execute(
      `pragma busy_timeout = ${BUSY_TIMEOUT}; pragma journal_mode = wal; pragma synchronous = full; pragma trusted_schema = off; pragma foreign_keys = off; begin immediate`,
    );
    const copy = await carryOut(connection, file, migration);
    connection.execute('commit');
    return copy;
  } catch (error) {
    // Busy, or full: said as it is.
    throw error instanceof Problem ? new StartError(`${error.message}. Nothing was changed.`, { cause: error }) : error;
  } finally {
    // Closing takes back what was not committed.
    connection.close();
  }
}

async function carryOut(connection: Connection, file: string, migration: Migration): Promise<string | undefined> {
  await migration.before(connection);
  const copy = migration.backup ? await backup(file) : undefined;
  for (const [index, statements] of migration.statements.entries()) {
    for (const sql of statements) make(connection, sql);
    await migration.made(index);
  }
  await migration.after(connection);
  refuseBroken(connection);
  return copy;
}

/** What somebody else added to the file, a view for instance, may be in the way. */
function make(connection: Connection, sql: string): void {
  try {
    connection.execute(sql);
  } catch (error) {
    if (error instanceof Problem) throw error;
    const reason = reasonOf(error);
    throw new StartError(`SQLite refused "${sql}": ${reason}. Nothing was changed.`, { cause: error });
  }
}

function refuseBroken({ all }: Connection): void {
  const rows = all({ sql: 'select "table", rowid, parent from pragma_foreign_key_check' }, []);
  const broken = rows as readonly (readonly (string | number | null)[])[];
  if (broken.length === 0) return;
  const shown = broken.slice(0, MAX_SHOWN).map(([table, row, parent]) => `row ${row} of ${table} to ${parent}`);
  throw new StartError(`${broken.length} foreign keys would lead nowhere: ${shown.join(', ')}. Nothing was changed.`);
}

/** While the migration's connection holds the write lock, another one reads the state that it found. */
async function backup(file: string): Promise<string> {
  const name = `${file}.backup-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
  await backUp(file, name);
  return name;
}
