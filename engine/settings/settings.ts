/** The settings of the service, and the values that they take. */
import { isIP } from 'node:net';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { TextLimits } from '../json/tokenizer.ts';
import { isOneEditAway } from '../names.ts';
import { StartError } from '../problem.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const DIALECT_NAMES = ['json-server', 'simple-rest'] as const;
export type HttpDialectName = (typeof DIALECT_NAMES)[number];

// The settings: one table, read from the environment and checked at start. The README lists them; a test compares both ways.

interface Setting<T> extends SettingValue<T> {
  readonly name: string;
  readonly default: string;
  readonly description: string;
}

const setting = <T>(name: string, byDefault: string, description: string, value: SettingValue<T>): Setting<T> => ({
  name,
  default: byDefault,
  description,
  ...value,
});

const MIN_MEMORY = 16 * 1024 ** 2;
const MAX_MEMORY = 1024 ** 4;
/** Minimum seconds for timeouts of clients: with 0, no request could succeed. */
const MIN_PATIENCE = 0.1;
const MAX_SECONDS = 86_400;

/** `auto` of RATE_LIMIT is resolved once the host is known, that of WORKERS once the size of the pool is. */
export const AUTO_RATE = -1;
export const AUTO_WORKERS = 0;

export const settingsTable = {
  host: setting('HOST', '127.0.0.1', 'Address to listen on.', matching(/^[\w.:%-]+$/, 'a host name or an IP address')),
  port: setting('PORT', '3000', 'Port to listen on; 0 picks a free port.', wholeNumber(0, 65_535)),
  workers: setting(
    'WORKERS',
    '1',
    'Processes that serve the port together, on PostgreSQL; auto: one for each core.',
    or('auto', AUTO_WORKERS, wholeNumber(1, 256)),
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    'sqlite:data/records.db',
    'Database: sqlite:FILE, created if missing, or postgres://USER:PASSWORD@HOST:PORT/DATABASE.',
    matching(
      /^(sqlite:(?!:memory:)|postgres(ql)?:\/\/).+$/,
      'sqlite: and the path of a file, like sqlite:data/records.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    ),
  ),
  migrate: setting(
    'MIGRATE',
    'on',
    'off: the start changes no tables, as with --no-migrate, and fails if they do not suit the descriptors.',
    onOrOff(),
  ),
  readUrl: setting(
    'READ_URL',
    'none',
    'Replicas of a PostgreSQL database that answer reads: postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE.',
    or('none', '', matching(/^postgres(ql)?:\/\/.+$/, 'postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE')),
  ),
  schemaDirectory: setting(
    'SCHEMA_DIR',
    'schema',
    'Folder of the descriptors, relative to the working directory.',
    matching(/^/, 'the path of a folder'),
  ),
  title: setting(
    'TITLE',
    'Records',
    'Name of the service on its pages and in its OpenAPI document.',
    matching(/^[^]{0,100}$/, 'a name of at most 100 characters'),
  ),
  studio: setting('STUDIO', 'on', 'off: no studio at /studio, in which people browse and edit the records.', onOrOff()),
  bodyLimit: setting(
    'BODY_LIMIT',
    '1048576',
    'Maximum size of a request body, in bytes.',
    wholeNumber(1, 256 * 1024 * 1024),
  ),
  rateLimit: setting(
    'RATE_LIMIT',
    'auto',
    'Requests per minute for each token or address, not counting /health; auto: off on loopback, otherwise 1200.',
    {
      ...or('auto', AUTO_RATE, or('off', Infinity, wholeNumber(1, 1_000_000))),
      expected: 'auto, off, or an integer from 1 to 1000000',
    },
  ),
  requestTimeout: setting(
    'REQUEST_TIMEOUT',
    '60',
    'Seconds for a request to arrive, body included; the headers get a third of that.',
    seconds(MIN_PATIENCE),
  ),
  statementTimeout: setting(
    'STATEMENT_TIMEOUT',
    '30',
    'Seconds that one database statement of a request may take before it is stopped with 503.',
    seconds(MIN_PATIENCE),
  ),
  tokens: setting('TOKENS', 'none', 'Access tokens: lines printed by `records token`, separated by semicolons.', {
    expected: 'lines as "records token" prints them, separated by semicolons',
    parse: (text) => (text === 'none' ? '' : text),
    secret: true,
  }),
  tokensFile: setting(
    'TOKENS_FILE',
    'none',
    'File of such lines. Changes take effect within two seconds; if the file is gone, nobody has access.',
    { expected: 'the path of a file', parse: (text) => (text === 'none' ? '' : text) },
  ),
  allowedHosts: setting(
    'ALLOWED_HOSTS',
    'auto',
    'Host names that requests may use, separated by commas; auto: any with tokens, only localhost without.',
    { expected: 'auto, *, or host names like records.example.com, separated by commas, without ports', parse: hostsOf },
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    'none',
    'Proxies whose X-Forwarded-For names the client, for the rate limit and the log: addresses or networks, separated by commas.',
    or('none', [], {
      expected: 'addresses and networks like 127.0.0.1,10.0.0.0/8, separated by commas',
      parse: networksOf,
    }),
  ),
  publicUrl: setting(
    'PUBLIC_URL',
    'none',
    'Where clients reach the service behind a proxy: its origin, and the path that the proxy takes off.',
    or('none', '', {
      expected: 'an address like https://shop.example.com/records, without query and credentials',
      parse: publicUrlOf,
    }),
  ),
  dialects: setting(
    'DIALECTS',
    'all',
    'Interfaces that other clients know, served below /json-server/ and /simple-rest/ besides /api.',
    someOf(DIALECT_NAMES),
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    'none',
    'Origins whose web pages may call the service, separated by commas; * for all.',
    { expected: 'none, *, or origins like https://shop.example.com, separated by commas', parse: originsOf },
  ),
  mcp: setting('MCP', 'on', 'on: serve agents at /mcp, by the Model Context Protocol.', onOrOff()),
  idempotencyHours: setting(
    'IDEMPOTENCY_HOURS',
    '24',
    'Hours to keep an Idempotency-Key, so that a retry is recognized.',
    wholeNumber(1, 8760),
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'info',
    'Lowest level to log, as JSON lines on standard error: debug, info, warn, error, silent.',
    oneOf(LOG_LEVELS),
  ),
  accessLog: setting('ACCESS_LOG', 'off', 'on: log each finished request, at level info.', onOrOff()),
  slowStatement: setting(
    'SLOW_STATEMENT_MS',
    'off',
    'Log database statements that take at least this many milliseconds, at level warn.',
    or('off', Infinity, { ...wholeNumber(1, 60_000), expected: 'milliseconds from 1 to 60000' }),
  ),
  metrics: setting('METRICS', 'off', 'on: serve Prometheus metrics at /metrics.', onOrOff()),
  drainDelay: setting(
    'DRAIN_DELAY',
    '0',
    'Seconds to keep serving after SIGTERM, while /health/ready already says 503.',
    seconds(),
  ),
  memoryLimit: setting(
    'MEMORY_LIMIT',
    'auto',
    'Bytes for bodies, pages and unsent responses together; auto: derived from the heap and the machine.',
    {
      expected: `auto, or bytes from ${MIN_MEMORY} to ${MAX_MEMORY}`,
      parse: (text) => (text === 'auto' ? automaticLimit() : wholeNumber(MIN_MEMORY, MAX_MEMORY).parse(text)),
    },
  ),
} satisfies Record<string, Setting<unknown>>;

/** The limits that protect the process, besides those that are settings. Only `createEngine` overrides them, for tests. */
export interface Limits extends TextLimits {
  readonly batchLimit: number;
  /** Rows that one write may touch, including those it deletes or unlinks. */
  readonly writeRows: number;
  readonly urlLimit: number;
  readonly headerLimit: number;
  readonly maxFilters: number;
  readonly maxIncludes: number;
  /** Whole lists read at the same time; the default is the driver's: 64 on SQLite, `pool` on PostgreSQL. */
  readonly maxStreams: number | undefined;
  /** Milliseconds that a client may leave a response unread, besides those to read it. */
  readonly slowReaderTimeout: number;
  /** Milliseconds for open requests to end after SIGTERM and DRAIN_DELAY. */
  readonly shutdownTimeout: number;
}

export const LIMITS: Limits = {
  bodyKeys: 20_000,
  bodyDepth: 64,
  bodyItems: 10_000,
  batchLimit: 1000,
  writeRows: 10_000,
  urlLimit: 16_000,
  headerLimit: 32_768,
  maxFilters: 50,
  maxIncludes: 100,
  maxStreams: undefined,
  slowReaderTimeout: 30_000,
  // "docker stop" kills after 10 seconds, and DRAIN_DELAY is 3 in the image.
  shutdownTimeout: 6000,
};

type SettingsTable = typeof settingsTable;

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

export const withoutPassword = (text: string): string => text.replace(/\/\/.*@/, '//…@');

/** A quarter of the heap or of half the memory: strings are in the heap, buffers beside it, and garbage needs room as well. */
export function automaticLimit(
  heap = getHeapStatistics().heap_size_limit,
  memory = Math.min(totalmem(), process.constrainedMemory() || Infinity),
): number {
  return Math.max(MIN_MEMORY, Math.floor(Math.min(heap, memory / 2) / 4));
}

// Values of settings, and of the parameters of database URLs.

interface SettingValue<T> {
  readonly expected: string;
  readonly secret?: boolean;
  /** Returns undefined if the text is not valid. */
  parse(text: string): T | undefined;
}

function matching(pattern: RegExp, expected: string): SettingValue<string> {
  return { expected, parse: (text) => (pattern.test(text) ? text : undefined) };
}

function or<T, W>(word: string, meaning: W, { expected, parse }: SettingValue<T>): SettingValue<T | W> {
  return { expected: `${word}, or ${expected}`, parse: (text) => (text === word ? meaning : parse(text)) };
}

export function oneOf<T extends string>(words: readonly T[]): SettingValue<T> {
  return {
    expected: `one of ${words.join(', ')}`,
    parse: (text) => words.find((word) => word === text),
  };
}

export function someOf<T extends string>(words: readonly T[]): SettingValue<readonly T[]> {
  return {
    expected: `all, none, or some of ${words.join(', ')}, separated by commas`,
    parse: (text) => {
      if (text === 'all') return words;
      const found = text === 'none' ? [] : text.split(',').map((one) => words.find((word) => word === one.trim()));
      return found.every((word) => word !== undefined) ? found : undefined;
    },
  };
}

export function onOrOff(): SettingValue<boolean> {
  const values: ReadonlyMap<string, boolean> = new Map([
    ['on', true],
    ['off', false],
  ]);
  return { expected: 'on or off', parse: (text) => values.get(text) };
}

export function wholeNumber(minimum: number, maximum: number): SettingValue<number> {
  return {
    expected: `an integer from ${minimum} to ${maximum}`,
    parse: (text) => {
      const value = Number(text);
      return /^\d+$/.test(text) && value >= minimum && value <= maximum ? value : undefined;
    },
  };
}

export function seconds(minimum = 0): SettingValue<number> {
  return {
    expected: `seconds from ${minimum} to ${MAX_SECONDS}`,
    parse: (text) => {
      const value = Number(text);
      return /^\d+(\.\d+)?$/.test(text) && value >= minimum && value <= MAX_SECONDS ? value * 1000 : undefined;
    },
  };
}

/** Only signs that stand in headers and pages as they are. */
const PUBLIC_URL = /^https?:\/\/[^\s/?#@]+(?:\/[\w.~!$&'()*+,;=:@%-]+)*\/?$/i;

export function publicUrlOf(text: string): string | undefined {
  const url = PUBLIC_URL.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url && url.origin + url.pathname.replace(/\/$/, '');
}

const HOST_NAME = /^(\*|[\p{L}\p{N}_.-]+)$/u;

/** An empty list means `auto`, which is resolved once it is known whether there are tokens. */
export function hostsOf(text: string): readonly string[] | undefined {
  if (text === 'auto') return [];
  const hosts = text.split(',').map((host) => host.trim());
  return hosts.every((host) => HOST_NAME.test(host)) ? hosts : undefined;
}

const ORIGIN = /^https?:\/\/[^\s/,*]+$/;

export function originsOf(text: string): readonly string[] | undefined {
  if (text === 'none') return [];
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => origin === '*' || ORIGIN.test(origin)) ? origins : undefined;
}

export function networksOf(text: string): readonly string[] | undefined {
  const networks = text.split(',').map((one) => one.trim());
  return networks.every(isNetwork) ? networks : undefined;
}

function isNetwork(text: string): boolean {
  const [address = '', length, ...more] = text.split('/');
  const most = isIP(address) === 6 ? 128 : 32;
  return (
    isIP(address) > 0 &&
    more.length === 0 &&
    (length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= most))
  );
}
