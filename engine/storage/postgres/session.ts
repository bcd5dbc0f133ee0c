/** The settings of a session that the engine's SQL relies on, whatever server, database and role say. */
import { StartError } from '../../problem.ts';
import type { Row, Statement } from '../driver.ts';
import { literal } from '../dialect.ts';

interface SessionSetting {
  readonly value: string;
  /** Other values that do as well; missing where any value does that the server may have. */
  readonly accepted?: RegExp;
}

/** Once per second, the server checks whether the client of a running statement is still there; PostgreSQL 14 and later, on Linux. */
const CHECK_CLIENT = 'client_connection_check_interval';

const SETTINGS: Readonly<Record<string, SessionSetting>> = {
  // With less, numbers are printed with 15 digits.
  extra_float_digits: { value: '3', accepted: /^[123]$/ },
  DateStyle: { value: 'ISO, YMD', accepted: /^ISO\b/i },
  TimeZone: { value: 'UTC' },
  standard_conforming_strings: { value: 'on', accepted: /^on$/ },
  transform_null_equals: { value: 'off', accepted: /^off$/ },
  quote_all_identifiers: { value: 'off' },
  row_security: { value: 'on' },
  exit_on_error: { value: 'off', accepted: /^off$/ },
  // Each statement has a deadline of its own.
  transaction_timeout: { value: '0' },
  [CHECK_CLIENT]: { value: '1000' },
};

/** Those that this version of the server does not know are left out. */
export const APPLY_SETTINGS = `select set_config(name, value, false) from (values ${Object.entries(SETTINGS)
  .map(([name, { value }]) => `(${literal(name)}, ${literal(value)})`)
  .join(', ')}) as wanted (name, value) where current_setting(name, true) <> value`;

/** The same for one transaction, which must not take long to begin. */
export const CHECK_CLIENT_LOCALLY = `select set_config('${CHECK_CLIENT}', '1000', true) where current_setting('${CHECK_CLIENT}', true) is not null`;

/** Other schemas stay in the path: triggers of others may need them. */
export const useSchema = (schema: string): string =>
  `select set_config('search_path', quote_ident(${literal(schema)}) || ', ' || current_setting('search_path'), false)`;

/** Only a superuser's role or database can set it. With another value, the server checks no references. */
const ROLE = 'session_replication_role';

const required = Object.entries(SETTINGS).flatMap(([name, { accepted }]) => (accepted ? [{ name, accepted }] : []));

/** A row for each setting: its name and value, the role, and the database. */
export const READ_SETTINGS: Statement = {
  sql: `select name, current_setting(name, true), quote_ident(session_user), quote_ident(current_database())
    from (values ${[...required.map(({ name }) => name), ROLE].map((name) => `(${literal(name)})`).join(', ')}) as wanted (name)`,
};

/** `applied`: connections set what they rely on, as far as they may. */
export function requireSettings(rows: readonly Row[], shown: string, applied: boolean): void {
  for (const [setting, value, role, database] of rows) {
    const name = String(setting);
    const accepted = name === ROLE ? /^(origin|local)$/ : required.find((one) => one.name === name)?.accepted;
    if (value === null || accepted?.test(String(value)) !== false || (applied && name !== ROLE)) continue;
    const wanted = SETTINGS[name]?.value ?? 'origin';
    const why = name === ROLE ? '' : '; behind a pooler (prepared=off), connections cannot set it themselves';
    throw new StartError(
      `The database at ${shown} has ${name} = ${String(value)}, which the service cannot work with${why}. Run: alter role ${String(role)} in database ${String(database)} set ${name} = ${literal(wanted)}`,
    );
  }
}

/** The schema in which tables are made, the first one in the path that has the engine's tables, and the path and the role. */
export const schemasIn = (table: string): Statement => ({
  sql: `select current_setting('server_encoding'), current_schema(), (select name from unnest(current_schemas(false)) with ordinality as path (name, place)
    join pg_namespace on nspname = name join pg_class on relnamespace = pg_namespace.oid and relname = ${literal(table)} order by place limit 1),
    quote_ident(session_user), quote_ident(current_database())`,
});

/** A schema that came before the one with the records would make the service begin anew. */
export function requireSchema([, first, used, role, database]: Row, shown: string): void {
  if (used === null || used === undefined || used === first) return;
  const [before, there] = [first, used].map((name) => `"${String(name).replaceAll('"', '""')}"`);
  throw new StartError(
    `The database at ${shown} has the tables of the service in the schema ${there}, but its search_path leads to ${before} first, which has none. To go on with these, run: alter role ${String(role)} in database ${String(database)} set search_path = ${there}; to begin anew in ${before}, leave ${there} out of the search_path`,
  );
}
