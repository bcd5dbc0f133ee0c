/** Where the databases differ: tests of what only SQLite has, such as a file. Those of PostgreSQL use `onServer`. */
import { databaseKind } from './databases.ts';

export const onSqlite = databaseKind === 'sqlite' ? test : test.skip;
