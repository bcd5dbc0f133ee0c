/** Changes of tables, all in one transaction. */
import { SEPARATOR } from '../define.ts';
import type { Awaitable, Writer } from '../driver.ts';
import type { Migration } from '../migration.ts';
import type { Connections } from './pool.ts';
import { writeIn } from './transaction.ts';

/** Other instances may hold a table this long before a migration is given up; whoever comes after it waits as long. */
const BEGIN = `begin; set local lock_timeout = '10s'`;
const EXISTS = { sql: 'select to_regclass(?) is not null' };

/** There is no copy of a database that is no file. */
export async function migrate(connections: Connections, migration: Migration): Promise<undefined> {
  await writeIn(connections, BEGIN, async (writer) => {
    await migration.before(writer);
    const ddl = createDdl(writer);
    for (const [index, statements] of migration.statements.entries()) {
      for (const sql of statements) await ddl.run(sql);
      await migration.made(index);
    }
    await ddl.finish();
    await migration.after(writer);
  });
}

export async function define(
  connections: Connections,
  statements: readonly string[],
  work: (writer: Writer) => Awaitable<void>,
): Promise<void> {
  await writeIn(connections, BEGIN, async (writer) => {
    const ddl = createDdl(writer);
    for (const sql of statements) await ddl.run(sql);
    await ddl.finish();
    await work(writer);
  });
}

interface Ddl {
  run(definition: string): Promise<void>;
  /** What had to wait for other tables. */
  finish(): Promise<void>;
}

/** Tables may lead to each other in circles: a foreign key waits until the table that it leads to is there. */
function createDdl(writer: Writer): Ddl {
  const waiting: string[] = [];

  async function runOne(sql: string): Promise<void> {
    const [, target] = /^alter table .* foreign key .* references ("(?:[^"]|"")+")/.exec(sql) ?? [];
    if (target !== undefined && (await writer.value(EXISTS, [target])) === 'f') waiting.push(sql);
    else await writer.run({ sql: isDrop(sql) ? `${sql} cascade` : withoutName(sql) }, []);
  }

  return {
    run: async (definition) => {
      for (const sql of definition.split(SEPARATOR)) await runOne(sql);
    },
    finish: async () => {
      for (const sql of waiting) await writer.run({ sql }, []);
    },
  };
}

/** The name of a primary key may be taken by a table that has another name now: PostgreSQL finds one that is free. */
const withoutName = (sql: string): string => sql.replace(/, constraint "(?:[^"]|"")+" (primary key \()/, ', $1');

/** With the foreign keys of others that lead to it; their columns are steps of their own. */
const isDrop = (sql: string): boolean => /^drop table "(?:[^"]|"")+"$/.test(sql);
