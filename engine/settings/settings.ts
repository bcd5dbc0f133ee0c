/** The settings of the service: a table of names, defaults and accepted values. */
import { isIP } from 'node:net';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { isOneEditAway, nearest } from '../names.ts';
import { StartError } from '../problem.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const DIALECT_NAMES = ['json-server', 'simple-rest'] as const;
export type HttpDialectName = (typeof DIALECT_NAMES)[number];

const setting = <T>(name: string, fallback: string, value: SettingValue<T>) => ({ ...value, name, default: fallback });
type Setting<T> = ReturnType<typeof setting<T>>;

const MIN_MEMORY = 16 * 1024 ** 2;
const MAX_MEMORY = 1024 ** 4;
/** Seconds: with 0, no request could succeed. */
const MIN_PATIENCE = 0.1;

/** Represent `auto` until host and pool size are known. */
export const AUTO_RATE = -1;
export const AUTO_WORKERS = 0;

export const settingsTable = {
  host: setting(
    'HOST',
    '127.0.0.1',
    matching(/^(?:[\w.-]+|[\da-f]*:[\da-f]*:[\w.:%-]*)$/i, 'a host name or an IP address'),
  ),
  port: setting('PORT', '3000', wholeNumber(0, 65_535)),
  workers: setting('WORKERS', '1', or('auto', AUTO_WORKERS, wholeNumber(1, 256))),
  databaseUrl: setting('DATABASE_URL', 'sqlite:data/records.db', {
    ...matching(
      /^(sqlite:(?!:memory:|\/\/|file:|\w+:\/\/|\s|~\/|["'])[^?\n]*[^?\s/]|postgres(ql)?:\/\/.+)$/,
      'sqlite: and the path of a file, like sqlite:data/records.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    ),
    meant: pathMeant,
  }),
  migrate: setting('MIGRATE', 'on', onOrOff()),
  readUrl: setting(
    'READ_URL',
    'none',
    or('none', '', matching(/^postgres(ql)?:\/\/.+$/, 'postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE')),
  ),
  schemaDirectory: setting('SCHEMA_DIR', 'schema', matching(/^/, 'the path of a folder')),
  title: setting('TITLE', 'Records', matching(/^[^]{0,100}$/, 'a name of at most 100 characters')),
  studio: setting('STUDIO', 'on', onOrOff()),
  imageOrigins: setting(
    'IMAGE_ORIGINS',
    'none',
    listOf('none', (origin) => origin === originIn(origin), 'origins like https://images.example.com', originIn),
  ),
  bodyLimit: setting('BODY_LIMIT', '1048576', wholeNumber(1, 256 * 1024 * 1024)),
  rateLimit: setting('RATE_LIMIT', 'auto', {
    ...or('auto', AUTO_RATE, or('off', Infinity, wholeNumber(1, 1_000_000))),
    expected: 'auto, off, or an integer from 1 to 1000000',
  }),
  requestTimeout: setting('REQUEST_TIMEOUT', '60', seconds(MIN_PATIENCE)),
  statementTimeout: setting('STATEMENT_TIMEOUT', '30', seconds(MIN_PATIENCE)),
  tokens: setting('TOKENS', 'none', {
    ...or('none', '', matching(/^/, 'lines as "records token" prints them, separated by semicolons')),
    secret: true,
  }),
  tokensFile: setting('TOKENS_FILE', 'none', or('none', '', matching(/^/, 'the path of a file'))),
  accessDirectory: setting('ACCESS_DIR', 'access', matching(/./, 'the path of a folder')),
  // An empty list is `auto`, resolved once the tokens are known.
  allowedHosts: setting(
    'ALLOWED_HOSTS',
    'auto',
    listOf(
      'auto',
      (name) => name === '*' || name.toLowerCase() === hostIn(name),
      '*, or host names like records.example.com, without ports',
      hostIn,
    ),
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    'none',
    listOf('none', isNetwork, 'addresses and networks like 127.0.0.1,10.0.0.0/8'),
  ),
  publicUrl: setting(
    'PUBLIC_URL',
    'none',
    or('none', '', {
      expected: 'an address like https://shop.example.com/records, without query and credentials',
      parse: publicUrlOf,
    }),
  ),
  dialects: setting('DIALECTS', 'all', someOf(DIALECT_NAMES)),
  corsOrigins: setting(
    'CORS_ORIGINS',
    'none',
    listOf(
      'none',
      (origin) => origin === '*' || origin === namedOriginIn(origin),
      '*, or origins like https://shop.example.com',
      namedOriginIn,
    ),
  ),
  mcp: setting('MCP', 'on', onOrOff()),
  idempotencyHours: setting('IDEMPOTENCY_HOURS', '24', wholeNumber(1, 8760)),
  historyDays: setting('HISTORY_DAYS', '400', wholeNumber(1, 36_500)),
  logLevel: setting('LOG_LEVEL', 'info', {
    expected: `one of ${LOG_LEVELS.join(', ')}`,
    parse: (text) => LOG_LEVELS.find((level) => level === text),
    meant: (text) => nearest(text, LOG_LEVELS),
  }),
  accessLog: setting('ACCESS_LOG', 'off', onOrOff()),
  slowStatement: setting('SLOW_STATEMENT_MS', 'off', or('off', Infinity, wholeNumber(1, 60_000))),
  metrics: setting('METRICS', 'off', onOrOff()),
  drainDelay: setting('DRAIN_DELAY', '0', seconds()),
  memoryLimit: setting('MEMORY_LIMIT', 'auto', {
    expected: `auto, or bytes from ${MIN_MEMORY} to ${MAX_MEMORY}`,
    parse: (text) => (text === 'auto' ? automaticLimit() : wholeNumber(MIN_MEMORY, MAX_MEMORY).parse(text)),
  }),
} satisfies Record<string, Setting<unknown>>;

/** Fixed limits; only tests override them, with `createEngine`. */
export const LIMITS = {
  bodyKeys: 20_000,
  bodyDepth: 64,
  bodyItems: 10_000,
  batchLimit: 1000,
  writeRows: 10_000,
  urlLimit: 16_000,
  headerLimit: 32_768,
  maxFilters: 50,
  maxIncludes: 100,
  /** Whole lists read at once; default: 64 on SQLite, `pool` on PostgreSQL. */
  maxStreams: undefined as number | undefined,
  slowReaderTimeout: 30_000,
  // Milliseconds after DRAIN_DELAY, which is 3 seconds in the image: "docker stop" kills after 10 seconds.
  shutdownTimeout: 6000,
};

export type Limits = Readonly<typeof LIMITS>;

type SettingsTable = typeof settingsTable;

export type Settings = Limits & {
  readonly [K in keyof SettingsTable]: SettingsTable[K] extends Setting<infer T> ? T : never;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Ignores empty variables. Throws a StartError that names every faulty setting. */
export function readSettings(environment: Environment): Settings {
  const entries = Object.entries<Setting<unknown>>(settingsTable);
  const values = Object.fromEntries(
    entries.map(([key, { name, default: fallback, parse }]) => [key, parse(environment[name] || fallback)] as const),
  );
  const faulty = entries.filter(([key]) => values[key] === undefined);
  if (faulty.length > 0) throw new StartError(faulty.map(([, entry]) => fault(entry, environment)).join('\n'));
  return { ...LIMITS, ...values } as Settings;
}

/** Warnings about misspelled variables and empty secrets. */
export function warningsAbout(environment: Environment): readonly string[] {
  const names = Object.values<Setting<unknown>>(settingsTable).map(({ name }) => name);
  const known = new Set(names);
  const misspelled = Object.keys(environment).flatMap((variable) => {
    const near = known.has(variable) ? undefined : names.find((name) => isOneEditAway(variable, name));
    return near === undefined ? [] : [`${variable} is set, and is no setting; did you mean ${near}?`];
  });
  const { tokens, tokensFile } = settingsTable;
  const empty = [tokens.name, tokensFile.name].filter((name) => environment[name] === '');
  return [...misspelled, ...empty.map((name) => `${name} is set, but empty: it counts as not set`)];
}

const fault = ({ name, secret, ...value }: Setting<unknown>, environment: Environment): string =>
  secret
    ? `${name} is not valid; expected ${value.expected}`
    : `${name} is "${withoutPassword(environment[name] ?? '')}"; expected ${expectedFor(value, environment[name])}`;

/** What a setting expects, and what the text probably means. */
export function expectedFor({ expected, meant }: Omit<SettingValue<unknown>, 'parse'>, text = ''): string {
  const hint = meant?.(text);
  return hint === undefined ? expected : `${expected}; did you mean ${hint}?`;
}

/** A path, addresses, or hosts with ports, in which no part can be a password that a mistake has put there. */
const PLAIN =
  /^(?:[^:=@%]|:(?=\d*(?:[,/\\]|$))|\[[\da-f:.]*\]|(?<![^\s,])(?:[\da-f]*:){2,}[\da-f.]*(?:%[a-z]\w*)?(?=[\s,/]|$)|%(?!(?:25)*(?:40|3[adf]))[\da-f]{2})*$/i;

export const isPlainPlace = (text: string): boolean => PLAIN.test(text);

/** Leaves out whatever may be a password. */
export function withoutPassword(text: string): string {
  const [, scheme = '', slashes = '', user = '', place = '', query = ''] =
    /^((?:sqlite:)?file:|sqlite:|[a-z][a-z\d+.-]*:(?=\/\/))?(\/*)([^?#]*(?:@|%40))?([^?#]*)(.*)$/is.exec(text) ?? [];
  if (!isPlainPlace(place) || /@|%40/i.test(query)) return `${scheme}…`;
  return scheme + slashes + (user && '…@') + place + (query && '?…');
}

/** A quarter of the heap or of half the memory: buffers are outside the heap, and garbage needs room. */
export function automaticLimit(processes = 1): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity) / processes;
  return Math.max(MIN_MEMORY, Math.floor(Math.min(getHeapStatistics().heap_size_limit, memory / 2) / 4));
}

interface SettingValue<T> {
  readonly expected: string;
  readonly secret?: boolean;
  parse(text: string): T | undefined;
  /** The accepted value that a refused one seems to mean. */
  readonly meant?: (text: string) => string | undefined;
}

function matching(pattern: RegExp, expected: string): SettingValue<string> {
  return { expected, parse: (text) => (pattern.test(text) ? text : undefined) };
}

function or<T, W>(word: string, meaning: W, value: SettingValue<T>): SettingValue<T | W> {
  const { expected, parse } = value;
  return { ...value, expected: `${word}, or ${expected}`, parse: (text) => (text === word ? meaning : parse(text)) };
}

/** The word `empty` stands for no items. */
function listOf(
  empty: string,
  fits: (item: string) => boolean,
  expected: string,
  meant: (item: string) => string | undefined = () => undefined,
): SettingValue<readonly string[]> {
  return or(empty, [], {
    expected: `${expected}, separated by commas`,
    parse: (text) => {
      const items = text.split(',').map((item) => item.trim());
      return items.every(fits) ? items : undefined;
    },
    meant: (text) => {
      const items = text.match(/[^\s,;"']+/g)?.map((item) => (fits(item) ? item : meant(item))) ?? [undefined];
      return items.includes(undefined) ? undefined : items.join(',');
    },
  });
}

/** Labels as in DNS, of which `*` may be one. URLs take other characters too, such as separators of other lists. */
const HOST = /^(?:\[.+\]|(?:[\w*-]+\.)*[\w*-]+\.?)$/;

/** The origin as browsers send it: in lower case and Punycode, without a default port. */
function originIn(text: string): string | undefined {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url && HOST.test(url.hostname) ? url.origin : undefined;
}

/** No pattern: it would be compared as a whole with what a client sends. */
function namedOriginIn(text: string): string | undefined {
  return text.includes('*') ? undefined : originIn(text);
}

/** The host without a final dot. Words of other settings are no hosts. */
function hostIn(text: string): string | undefined {
  const isWord = /^(?:auto|none|all|off)$/.test(text);
  const host = isIP(text) === 6 ? `[${text}]` : text;
  const origin = isWord ? undefined : namedOriginIn(host.replace(/^(?:https?:\/\/)?/i, 'http://'));
  return origin && new URL(origin).hostname.replace(/\.$/, '');
}

function someOf<T extends string>(words: readonly T[]): SettingValue<readonly T[]> {
  const isWord = (item: string): boolean => words.some((word) => word === item);
  const some = listOf('none', isWord, `some of ${words.join(', ')}`, (item) => nearest(item, words));
  return {
    ...some,
    expected: `all, ${some.expected}`,
    parse: (text) => {
      const chosen = text === 'all' ? words : some.parse(text);
      return chosen && words.filter((word) => chosen.includes(word));
    },
  };
}

export function onOrOff(): SettingValue<boolean> {
  return { expected: 'on or off', parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined) };
}

export function wholeNumber(minimum: number, maximum: number): SettingValue<number> {
  return numeric('an integer', /^\d+$/, minimum, maximum);
}

function seconds(minimum = 0): SettingValue<number> {
  return numeric('seconds', /^\d+(\.\d+)?$/, minimum, 86_400, 1000);
}

function numeric(what: string, pattern: RegExp, minimum: number, maximum: number, unit = 1): SettingValue<number> {
  return {
    expected: `${what} from ${minimum} to ${maximum}`,
    parse: (text) => {
      const value = Number(text);
      return pattern.test(text) && value >= minimum && value <= maximum ? value * unit : undefined;
    },
  };
}

/** An SQLite file takes no URL: neither slashes for a host, nor a query. */
function pathMeant(text: string): string | undefined {
  const [, slashes = '', path] = /^(?:sqlite:|(?=file:))(?:file:)?\s*(\/*)(?![~"'])([^?]*[^?\s/])/i.exec(text) ?? [];
  if (path === undefined || !isPlainPlace(path)) return undefined;
  return slashes.length > 1 ? `sqlite:${path} or sqlite:/${path}` : `sqlite:${slashes}${path}`;
}

/** Only characters that need no escaping in headers and pages. */
const PUBLIC_URL = /^https?:\/\/[^\s/?#@*]+(?:\/[\w.~!$&'()*+,;=:@%-]+)*\/?$/i;

function publicUrlOf(text: string): string | undefined {
  const origin = PUBLIC_URL.test(text) ? originIn(text)?.replace(/\.(?=:|$)/, '') : undefined;
  return origin && origin + new URL(text).pathname.replace(/\/$/, '');
}

function isNetwork(text: string): boolean {
  const [address = '', length = '0', ...more] = text.split('/');
  const most = isIP(address) === 6 ? 128 : 32;
  return isIP(address) > 0 && more.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= most;
}
