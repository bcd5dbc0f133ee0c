import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { hostsOf, networksOf, onOrOff, oneOf, originsOf, publicUrlOf, seconds, someOf, wholeNumber } from './values.ts';
import { type Limits, LIMITS } from '../edge/limits.ts';
import { isOneEditAway } from '../names.ts';
import { StartError } from '../problem.ts';

/** Log levels, from most to least output. */
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** Query languages and headers of other interfaces, below roots of their own. */
const DIALECT_NAMES = ['json-server', 'simple-rest'] as const;
export type HttpDialectName = (typeof DIALECT_NAMES)[number];

// The settings: one table, read from the environment and checked at start. The README lists them; a test compares both ways.

interface Setting<T> {
  /** The environment variable. */
  readonly name: string;
  /** As written in the environment. */
  readonly default: string;
  readonly description: string;
  /** Whether messages must not quote the value. */
  readonly secret?: boolean;
  /** Completes "expected …". */
  readonly expected: string;
  /** Returns undefined if the text is not valid. */
  parse(text: string): T | undefined;
}

const setting = <T>(properties: Setting<T>): Setting<T> => properties;

const MIN_MEMORY = 16 * 1024 ** 2;
const MAX_MEMORY = 1024 ** 4;
/** Minimum seconds for timeouts of clients: with 0, no request could succeed. */
const MIN_PATIENCE = 0.1;

/** By the name that the engine uses. */
export const settingsTable = {
  host: setting<string>({
    name: 'HOST',
    default: '127.0.0.1',
    description: 'Address to listen on.',
    expected: 'a host name or an IP address',
    parse: (text) => (/^[\w.:%-]+$/.test(text) ? text : undefined),
  }),
  port: setting({
    name: 'PORT',
    default: '3000',
    description: 'Port to listen on; 0 picks a free port.',
    ...wholeNumber(0, 65_535),
  }),
  workers: setting<number>({
    name: 'WORKERS',
    default: '1',
    description: 'Processes that serve the port together, on PostgreSQL; auto: one for each core.',
    expected: 'auto, or an integer from 1 to 256',
    parse: (text) => (text === 'auto' ? AUTO_WORKERS : wholeNumber(1, 256).parse(text)),
  }),
  databaseUrl: setting<string>({
    name: 'DATABASE_URL',
    default: 'sqlite:data/records.db',
    description: 'Database: sqlite:FILE, created if missing, or postgres://USER:PASSWORD@HOST:PORT/DATABASE.',
    expected:
      'sqlite: and the path of a file, like sqlite:data/records.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    parse: (text) => (/^(sqlite:(?!:memory:)|postgres(ql)?:\/\/).+$/.test(text) ? text : undefined),
  }),
  migrate: setting<boolean>({
    name: 'MIGRATE',
    default: 'on',
    description:
      'off: the start changes no tables, as with --no-migrate, and fails if they do not suit the descriptors.',
    ...onOrOff(),
  }),
  readUrl: setting<string>({
    name: 'READ_URL',
    default: 'none',
    description:
      'Replicas of a PostgreSQL database that answer reads: postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE.',
    expected: 'none, or postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE',
    parse: (text) => (text === 'none' ? '' : /^postgres(ql)?:\/\/.+$/.test(text) ? text : undefined),
  }),
  schemaDirectory: setting<string>({
    name: 'SCHEMA_DIR',
    default: 'schema',
    description: 'Folder of the descriptors, relative to the working directory.',
    expected: 'the path of a folder',
    parse: (text) => text,
  }),
  title: setting<string>({
    name: 'TITLE',
    default: 'Records',
    description: 'Name of the service on its pages and in its OpenAPI document.',
    expected: 'a name of at most 100 characters',
    parse: (text) => (text.length <= 100 ? text : undefined),
  }),
  studio: setting<boolean>({
    name: 'STUDIO',
    default: 'on',
    description: 'off: no studio at /studio, in which people browse and edit the records.',
    ...onOrOff(),
  }),
  bodyLimit: setting({
    name: 'BODY_LIMIT',
    default: '1048576',
    description: 'Maximum size of a request body, in bytes.',
    ...wholeNumber(1, 256 * 1024 * 1024),
  }),
  rateLimit: setting<number>({
    name: 'RATE_LIMIT',
    default: 'auto',
    description:
      'Requests per minute for each token or address, not counting /health; auto: off on loopback, otherwise 1200.',
    expected: 'auto, off, or an integer from 1 to 1000000',
    parse: (text) => RATES.get(text) ?? wholeNumber(1, 1_000_000).parse(text),
  }),
  requestTimeout: setting({
    name: 'REQUEST_TIMEOUT',
    default: '60',
    description: 'Seconds for a request to arrive, body included; the headers get a third of that.',
    ...seconds(MIN_PATIENCE),
  }),
  statementTimeout: setting({
    name: 'STATEMENT_TIMEOUT',
    default: '30',
    description: 'Seconds that one database statement of a request may take before it is stopped with 503.',
    ...seconds(MIN_PATIENCE),
  }),
  tokens: setting<string>({
    name: 'TOKENS',
    default: 'none',
    description: 'Access tokens: lines printed by `records token`, separated by semicolons.',
    secret: true,
    expected: 'lines as "records token" prints them, separated by semicolons',
    parse: (text) => (text === 'none' ? '' : text),
  }),
  tokensFile: setting<string>({
    name: 'TOKENS_FILE',
    default: 'none',
    description: 'File of such lines. Changes take effect within two seconds; if the file is gone, nobody has access.',
    expected: 'the path of a file',
    parse: (text) => (text === 'none' ? '' : text),
  }),
  allowedHosts: setting<readonly string[]>({
    name: 'ALLOWED_HOSTS',
    default: 'auto',
    description:
      'Host names that requests may use, separated by commas; auto: any with tokens, only localhost without.',
    expected: 'auto, *, or host names like records.example.com, separated by commas, without ports',
    parse: hostsOf,
  }),
  trustedProxies: setting<readonly string[]>({
    name: 'TRUSTED_PROXIES',
    default: 'none',
    description:
      'Proxies whose X-Forwarded-For names the client, for the rate limit and the log: addresses or networks, separated by commas.',
    expected: 'none, or addresses and networks like 127.0.0.1,10.0.0.0/8, separated by commas',
    parse: (text) => (text === 'none' ? [] : networksOf(text)),
  }),
  publicUrl: setting<string>({
    name: 'PUBLIC_URL',
    default: 'none',
    description: 'Where clients reach the service behind a proxy: its origin, and the path that the proxy takes off.',
    expected: 'none, or an address like https://shop.example.com/records, without query and credentials',
    parse: (text) => (text === 'none' ? '' : publicUrlOf(text)),
  }),
  dialects: setting<readonly HttpDialectName[]>({
    name: 'DIALECTS',
    default: 'all',
    description: 'Interfaces that other clients know, served below /json-server/ and /simple-rest/ besides /api.',
    ...someOf(DIALECT_NAMES),
  }),
  corsOrigins: setting<readonly string[]>({
    name: 'CORS_ORIGINS',
    default: 'none',
    description: 'Origins whose web pages may call the service, separated by commas; * for all.',
    expected: 'none, *, or origins like https://shop.example.com, separated by commas',
    parse: originsOf,
  }),
  mcp: setting<boolean>({
    name: 'MCP',
    default: 'on',
    description: 'on: serve agents at /mcp, by the Model Context Protocol.',
    ...onOrOff(),
  }),
  idempotencyHours: setting({
    name: 'IDEMPOTENCY_HOURS',
    default: '24',
    description: 'Hours to keep an Idempotency-Key, so that a retry is recognized.',
    ...wholeNumber(1, 8760),
  }),
  logLevel: setting<LogLevel>({
    name: 'LOG_LEVEL',
    default: 'info',
    description: 'Lowest level to log, as JSON lines on standard error: debug, info, warn, error, silent.',
    ...oneOf(LOG_LEVELS),
  }),
  accessLog: setting<boolean>({
    name: 'ACCESS_LOG',
    default: 'off',
    description: 'on: log each finished request, at level info.',
    ...onOrOff(),
  }),
  slowStatement: setting<number>({
    name: 'SLOW_STATEMENT_MS',
    default: 'off',
    description: 'Log database statements that take at least this many milliseconds, at level warn.',
    expected: 'off, or milliseconds from 1 to 60000',
    parse: (text) => (text === 'off' ? Infinity : wholeNumber(1, 60_000).parse(text)),
  }),
  metrics: setting<boolean>({
    name: 'METRICS',
    default: 'off',
    description: 'on: serve Prometheus metrics at /metrics.',
    ...onOrOff(),
  }),
  drainDelay: setting({
    name: 'DRAIN_DELAY',
    default: '0',
    description: 'Seconds to keep serving after SIGTERM, while /health/ready already says 503.',
    ...seconds(),
  }),
  memoryLimit: setting<number>({
    name: 'MEMORY_LIMIT',
    default: 'auto',
    description: 'Bytes for bodies, pages and unsent responses together; auto: derived from the heap and the machine.',
    expected: `auto, or bytes from ${MIN_MEMORY} to ${MAX_MEMORY}`,
    parse: (text) => (text === 'auto' ? automaticLimit() : wholeNumber(MIN_MEMORY, MAX_MEMORY).parse(text)),
  }),
} satisfies Record<string, Setting<unknown>>;

type SettingsTable = typeof settingsTable;

/** Times are in milliseconds. */
export type Settings = Limits & {
  readonly [K in keyof SettingsTable]: SettingsTable[K] extends Setting<infer T> ? T : never;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as not set. Throws a StartError that names every invalid setting. */
export function readSettings(environment: Environment): Settings {
  const entries = Object.entries<Setting<unknown>>(settingsTable);
  const values = Object.fromEntries(
    entries.map(([key, { name, default: fallback, parse }]) => [key, parse(environment[name] || fallback)] as const),
  );
  const faulty = entries.filter(([key]) => values[key] === undefined);
  if (faulty.length > 0) throw new StartError(faulty.map(([, entry]) => fault(entry, environment)).join('\n'));
  // Each value was parsed by the entry of its key.
  return { ...LIMITS, ...values } as Settings;
}

/**
 * What an operator should know of the environment: variables that are almost the name of a setting, and secrets that are
 * set to nothing, which counts as not set.
 */
export function doubtsAbout(environment: Environment): readonly string[] {
  const names = Object.values<Setting<unknown>>(settingsTable).map(({ name }) => name);
  const known = new Set(names);
  const misspelled = Object.keys(environment).flatMap((variable) => {
    const near = known.has(variable) ? undefined : names.find((name) => isOneEditAway(variable, name));
    return near === undefined ? [] : [`${variable} is set, and is no setting; did you mean ${near}?`];
  });
  const { tokens, tokensFile } = settingsTable;
  const empty = [tokens.name, tokensFile.name].filter((name) => environment[name]?.trim() === '');
  return [...misspelled, ...empty.map((name) => `${name} is set, but empty: it counts as not set`)];
}

const fault = ({ name, expected, secret }: Setting<unknown>, environment: Environment): string =>
  `${name} is ${secret ? 'not valid' : `"${withoutPassword(environment[name] ?? '')}"`}; expected ${expected}`;

/** The URL with its user and password hidden. */
export const withoutPassword = (text: string): string => text.replace(/\/\/.*@/, '//…@');

/** A quarter of the heap or of half the memory: strings are in the heap, buffers beside it, and garbage needs room as well. */
export function automaticLimit(
  heap = getHeapStatistics().heap_size_limit,
  memory = Math.min(totalmem(), process.constrainedMemory() || Infinity),
): number {
  return Math.max(MIN_MEMORY, Math.floor(Math.min(heap, memory / 2) / 4));
}

/** `auto` is resolved once the host is known. */
export const AUTO_RATE = -1;
const RATES: ReadonlyMap<string, number> = new Map([
  ['auto', AUTO_RATE],
  ['off', Infinity],
]);

/** `auto` is resolved once the size of the pool is known. */
export const AUTO_WORKERS = 0;
