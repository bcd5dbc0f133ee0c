/** The settings: one table, read from the environment and checked at start. The README lists them; a test compares both ways. */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { LOG_LEVELS, type LogLevel } from './log-levels.ts';
import { StartError } from './start-error.ts';

interface Setting<T> {
  /** The environment variable. */
  readonly name: string;
  /** As the environment would say it. */
  readonly default: string;
  readonly description: string;
  /** Its value is not shown where it is wrong. */
  readonly secret?: boolean;
  /** The end of "expected …". */
  readonly expected: string;
  /** undefined where the text is no such value. */
  parse(text: string): T | undefined;
}

const setting = <T>(properties: Setting<T>): Setting<T> => properties;

const MAX_SECONDS = 86_400;
const MIN_MEMORY = 16 * 1024 ** 2;
const MAX_MEMORY = 1024 ** 4;
/** Of those times that clients need: with none, nobody could be served. */
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
    description: 'Port to listen on; 0 takes a free one.',
    ...wholeNumber(0, 65_535),
  }),
  databaseUrl: setting<string>({
    name: 'DATABASE_URL',
    default: 'sqlite:data/records.db',
    description: 'The database: sqlite:FILE, made where it is missing, or postgres://USER:PASSWORD@HOST:PORT/DATABASE.',
    expected:
      'sqlite: and the path of a file, like sqlite:data/records.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    parse: (text) => (/^(sqlite:(?!:memory:)|postgres(ql)?:\/\/).+$/.test(text) ? text : undefined),
  }),
  schemaDirectory: setting<string>({
    name: 'SCHEMA_DIR',
    default: 'schema',
    description: 'Folder of the descriptors, from the working directory.',
    expected: 'the path of a folder',
    parse: (text) => text,
  }),
  title: setting<string>({
    name: 'TITLE',
    default: 'Records',
    description: 'What the service is called on its pages and in its OpenAPI document.',
    expected: 'a name of at most 100 characters',
    parse: (text) => (text.length <= 100 ? text : undefined),
  }),
  bodyLimit: setting({
    name: 'BODY_LIMIT',
    default: '1048576',
    description: 'Bytes that a request body may have.',
    ...wholeNumber(1, 256 * 1024 * 1024),
  }),
  bodyKeys: setting({
    name: 'BODY_KEYS',
    default: '20000',
    description: 'Keys that a request body may have, at all levels.',
    ...wholeNumber(1, 10_000_000),
  }),
  bodyDepth: setting({
    name: 'BODY_DEPTH',
    default: '64',
    description: 'Levels of objects and arrays that a request body may have.',
    ...wholeNumber(1, 1000),
  }),
  bodyItems: setting({
    name: 'BODY_ITEMS',
    default: '10000',
    description: 'Items that an array in a request body may have.',
    ...wholeNumber(1, 10_000_000),
  }),
  writeRows: setting({
    name: 'WRITE_ROWS',
    default: '10000',
    description: 'Rows that one write may touch, with all that it deletes or unlinks.',
    ...wholeNumber(1, 10_000_000),
  }),
  urlLimit: setting({
    name: 'URL_LIMIT',
    default: '8000',
    description: 'Characters that a URL may have.',
    ...wholeNumber(100, 16_000),
  }),
  headerLimit: setting({
    name: 'HEADER_LIMIT',
    default: '16384',
    description: 'Bytes that the head of a request may have, its URL included.',
    ...wholeNumber(2048, 1024 * 1024),
  }),
  maxFilters: setting({
    name: 'MAX_FILTERS',
    default: '50',
    description: 'Filters that a list request may have.',
    ...wholeNumber(1, 200),
  }),
  maxIncludes: setting({
    name: 'MAX_INCLUDES',
    default: '100',
    description: 'Relations that a request may show, at all levels.',
    ...wholeNumber(1, 200),
  }),
  rateLimit: setting<number>({
    name: 'RATE_LIMIT',
    default: 'auto',
    description: 'Requests a minute for each token, or address, /health aside; auto: off on loopback, else 1200.',
    expected: 'auto, off, or an integer from 1 to 1000000',
    parse: (text) => RATES.get(text) ?? wholeNumber(1, 1_000_000).parse(text),
  }),
  maxStreams: setting({
    name: 'MAX_STREAMS',
    default: '64',
    description: 'Whole lists that are read at the same time; more are answered 503.',
    ...wholeNumber(1, 100_000),
  }),
  requestTimeout: setting({
    name: 'REQUEST_TIMEOUT',
    default: '60',
    description: 'Seconds that a request may take to arrive, its body included; the head has a third of it.',
    ...seconds(MIN_PATIENCE),
  }),
  statementTimeout: setting({
    name: 'STATEMENT_TIMEOUT',
    default: '30',
    description: 'Seconds that the database may take for a statement of a request, before 503.',
    ...seconds(MIN_PATIENCE),
  }),
  tokens: setting<string>({
    name: 'TOKENS',
    default: 'none',
    description: 'Who may read and write: lines of `records token`, separated by semicolons.',
    secret: true,
    expected: 'lines as "records token" prints them, separated by semicolons',
    parse: (text) => (text === 'none' ? '' : text),
  }),
  tokensFile: setting<string>({
    name: 'TOKENS_FILE',
    default: 'none',
    description: 'A file of such lines. Changes count within two seconds, without a restart; no file, no access.',
    expected: 'the path of a file',
    parse: (text) => (text === 'none' ? '' : text),
  }),
  allowedHosts: setting<readonly string[]>({
    name: 'ALLOWED_HOSTS',
    default: 'auto',
    description: 'Names that requests may be for, separated by commas; auto: with tokens any, without them localhost.',
    expected: 'auto, *, or host names like records.example.com, separated by commas, without ports',
    parse: hostsOf,
  }),
  corsOrigins: setting<readonly string[]>({
    name: 'CORS_ORIGINS',
    default: 'none',
    description: 'Origins whose web pages may use the service, separated by commas; * for every one.',
    expected: 'none, *, or origins like https://shop.example.com, separated by commas',
    parse: originsOf,
  }),
  idempotencyHours: setting({
    name: 'IDEMPOTENCY_HOURS',
    default: '24',
    description: 'Hours that the answer to a POST with an Idempotency-Key is kept for its retries.',
    ...wholeNumber(1, 8760),
  }),
  logLevel: setting<LogLevel>({
    name: 'LOG_LEVEL',
    default: 'info',
    description: 'What is logged at least, as JSON lines on standard error: debug, info, warn, error, silent.',
    ...oneOf(LOG_LEVELS),
  }),
  accessLog: setting<boolean>({
    name: 'ACCESS_LOG',
    default: 'off',
    description: 'on: a line for each request that is over, at level info.',
    ...onOrOff(),
  }),
  slowStatement: setting<number>({
    name: 'SLOW_STATEMENT_MS',
    default: 'off',
    description: 'Statements that take at least so many milliseconds are logged, at level warn.',
    expected: 'off, or milliseconds from 1 to 60000',
    parse: (text) => (text === 'off' ? Infinity : wholeNumber(1, 60_000).parse(text)),
  }),
  metrics: setting<boolean>({
    name: 'METRICS',
    default: 'off',
    description: 'on: figures for Prometheus at /metrics.',
    ...onOrOff(),
  }),
  drainDelay: setting({
    name: 'DRAIN_DELAY',
    default: '0',
    description: 'Seconds between SIGTERM, when /health/ready begins to say 503, and the end of listening.',
    ...seconds(),
  }),
  slowReaderTimeout: setting({
    name: 'SLOW_READER_TIMEOUT',
    default: '30',
    description: 'Seconds that a client may leave an answer unread; to read it, it has one more for each 32 KiB.',
    ...seconds(MIN_PATIENCE),
  }),
  memoryLimit: setting<number>({
    name: 'MEMORY_LIMIT',
    default: 'auto',
    description: 'Bytes of bodies, pages and waiting answers, together; auto: from the heap and the machine.',
    expected: `auto, or bytes from ${MIN_MEMORY} to ${MAX_MEMORY}`,
    parse: (text) => (text === 'auto' ? automaticLimit() : wholeNumber(MIN_MEMORY, MAX_MEMORY).parse(text)),
  }),
  shutdownTimeout: setting({
    name: 'SHUTDOWN_TIMEOUT',
    default: '10',
    description: 'Seconds after SIGTERM, and DRAIN_DELAY, in which the process ends; open requests are cut off before.',
    ...seconds(),
  }),
} satisfies Record<string, Setting<unknown>>;

type Table = typeof settingsTable;

/** Times are in milliseconds. */
export type Settings = { readonly [K in keyof Table]: Table[K] extends Setting<infer T> ? T : never };

type Environment = Readonly<Record<string, string | undefined>>;

/** Empty is the same as not set. Throws a StartError that names every setting that is wrong. */
export function readSettings(environment: Environment): Settings {
  const entries = Object.entries<Setting<unknown>>(settingsTable);
  const values = Object.fromEntries(
    entries.map(([key, { name, default: fallback, parse }]) => [key, parse(environment[name] || fallback)] as const),
  );
  const faulty = entries.filter(([key]) => values[key] === undefined);
  if (faulty.length > 0) throw new StartError(faulty.map(([, entry]) => fault(entry, environment)).join('\n'));
  // Each value comes from the entry whose type it has.
  return values as Settings;
}

const fault = ({ name, expected, secret }: Setting<unknown>, environment: Environment): string =>
  `${name} is ${secret ? 'not valid' : `"${withoutPassword(environment[name] ?? '')}"`}; expected ${expected}`;

/** What stands in a URL before its host. */
export const withoutPassword = (text: string): string => text.replace(/\/\/.*@/, '//…@');

/** Strings live in the heap, buffers beside it; garbage that is not collected yet needs as much again. */
export function automaticLimit(
  heap = getHeapStatistics().heap_size_limit,
  memory = Math.min(totalmem(), process.constrainedMemory() || Infinity),
): number {
  return Math.max(MIN_MEMORY, Math.floor(Math.min(heap, memory / 2) / 4));
}

/** `auto` is found out once the host is known. */
export const AUTO_RATE = -1;
const RATES: ReadonlyMap<string, number> = new Map([
  ['auto', AUTO_RATE],
  ['off', Infinity],
]);

const HOST_NAME = /^(\*|[\p{L}\p{N}_.-]+)$/u;

/** None is `auto`, which is found out once it is known whether there are tokens. */
function hostsOf(text: string): readonly string[] | undefined {
  if (text === 'auto') return [];
  const hosts = text.split(',').map((host) => host.trim());
  return hosts.every((host) => HOST_NAME.test(host)) ? hosts : undefined;
}

const ORIGIN = /^https?:\/\/[^\s/,*]+$/;

function originsOf(text: string): readonly string[] | undefined {
  if (text === 'none') return [];
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => origin === '*' || ORIGIN.test(origin)) ? origins : undefined;
}

function oneOf<T extends string>(words: readonly T[]): Pick<Setting<T>, 'expected' | 'parse'> {
  return {
    expected: `one of ${words.join(', ')}`,
    parse: (text) => words.find((word) => word === text),
  };
}

function onOrOff(): Pick<Setting<boolean>, 'expected' | 'parse'> {
  const values: ReadonlyMap<string, boolean> = new Map([
    ['on', true],
    ['off', false],
  ]);
  return { expected: 'on or off', parse: (text) => values.get(text) };
}

function wholeNumber(minimum: number, maximum: number): Pick<Setting<number>, 'expected' | 'parse'> {
  return {
    expected: `an integer from ${minimum} to ${maximum}`,
    parse: (text) => {
      const value = Number(text);
      return /^\d+$/.test(text) && value >= minimum && value <= maximum ? value : undefined;
    },
  };
}

function seconds(minimum = 0): Pick<Setting<number>, 'expected' | 'parse'> {
  return {
    expected: `seconds from ${minimum} to ${MAX_SECONDS}`,
    parse: (text) => {
      const value = Number(text);
      return /^\d+(\.\d+)?$/.test(text) && value >= minimum && value <= MAX_SECONDS ? value * 1000 : undefined;
    },
  };
}
