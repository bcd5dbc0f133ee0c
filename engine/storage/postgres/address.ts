/** Parses database URLs and removes the engine's own parameters. */
import { didYouMean } from '../../names.ts';
import { isPlainPlace, onOrOff, wholeNumber } from '../../settings/settings.ts';
import { StartError } from '../../problem.ts';
import { LOCK_TIMEOUT_MS, POOL_SIZE } from './tuning.ts';

export interface PostgresAddress {
  readonly url: string;
  readonly pool: number;
  /** Must be off behind a pooler in transaction mode. */
  readonly prepared: boolean;
  /** Milliseconds that a write waits for a row. */
  readonly lockTimeout: number;
  /** Host, port and database, for messages. */
  readonly shown: string;
}

const PARAMETERS = { pool: wholeNumber(1, 1000), prepared: onOrOff(), lock_timeout: wholeNumber(1, 3_600_000) };

const CLIENT_PARAMETERS =
  'user password host port application_name options ssl sslmode sslcert sslkey sslrootcert sslnegotiation uselibpqcompat';
const KNOWN_PARAMETERS: ReadonlySet<string> = new Set([...Object.keys(PARAMETERS), ...CLIENT_PARAMETERS.split(' ')]);

/** The driver would take any other value for a wish for TLS, or for none. */
const VALUES: ReadonlyMap<string, readonly string[]> = new Map([
  ['sslmode', ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']],
  ['sslnegotiation', ['postgres', 'direct']],
]);

const ALTERNATIVES: ReadonlyMap<string, string> = new Map([
  ['answer_timeout', '; use the setting STATEMENT_TIMEOUT, in seconds'],
  ['statement_timeout', '; use the setting STATEMENT_TIMEOUT, in seconds'],
  ['search_path', '; use options=-c search_path=NAME, with %20 for the space and %3D for the second ='],
  ['target_session_attrs', '; use the address of a proxy or a DNS name that leads to the primary'],
]);

export function parseAddress(text: string): PostgresAddress {
  const addresses = parseAddresses(text, 'DATABASE_URL');
  const [address] = addresses;
  const listed = new URL(address?.url ?? text).searchParams.get('host')?.split(',') ?? [];
  const servers = listed.length > 1 ? listed : addresses.map(({ shown }) => shown);
  if (address === undefined || servers.length > 1)
    throw new StartError(
      `DATABASE_URL names ${servers.length} servers (${servers.join(', ')}); expected one: the address of a proxy that leads to the primary (HAProxy, the endpoint of Patroni), or one DNS name`,
    );
  return address;
}

/** Returns an address for each host, in the order of the URL. `setting`: its name. */
export function parseAddresses(text: string, setting: string): readonly PostgresAddress[] {
  return urlsIn(text, setting).map((url) => addressOf(url, setting));
}

function addressOf(url: URL, setting: string): PostgresAddress {
  const { searchParams } = url;
  for (const [name, value] of searchParams)
    if (!KNOWN_PARAMETERS.has(name) && (value === '' || searchParams.has('password')))
      throw new StartError(
        `${setting} has a parameter that is not known; in a password, & is written %26, and ? is written %3F`,
      );
    else if (!KNOWN_PARAMETERS.has(name))
      throw new StartError(
        `${setting} has ${name}${ALTERNATIVES.get(name) ?? `, which is not a known parameter${didYouMean(name, KNOWN_PARAMETERS)}`}`,
      );
  for (const [name, known] of VALUES)
    for (const value of searchParams.getAll(name))
      if (!known.includes(value))
        throw new StartError(
          `${setting} has ${name}=${value}; expected ${known.join(', ')}${didYouMean(value, known)}`,
        );
  const take = <T>(
    name: string,
    { parse, expected }: { readonly parse: (text: string) => T | undefined; readonly expected: string },
    fallback: string,
  ): T => {
    const given = searchParams.get(name) ?? fallback;
    const value = parse(given);
    if (value === undefined) throw new StartError(`${setting} has ${name}=${given}; expected ${expected}`);
    searchParams.delete(name);
    return value;
  };
  const pool = take('pool', PARAMETERS.pool, String(POOL_SIZE));
  const prepared = take('prepared', PARAMETERS.prepared, 'on');
  const lockTimeout = take('lock_timeout', PARAMETERS.lock_timeout, String(LOCK_TIMEOUT_MS));
  return { url: url.href, pool, prepared, lockTimeout, shown: `${url.host}${url.pathname}` };
}

/** Returns the URL with its pool divided among the processes. */
export function shareOf(text: string, setting: string, processes: number): string {
  const [address = '', query] = text.split(/\?(.*)/s);
  const shared = new URLSearchParams(query);
  const [{ pool } = { pool: 1 }] = parseAddresses(text, setting);
  shared.set('pool', String(Math.max(1, Math.floor(pool / processes))));
  return `${address}?${shared}`;
}

/** Splits `//USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE` into a URL per host. */
function urlsIn(text: string, setting: string): readonly URL[] {
  const [, head = '', hosts = '', rest = ''] = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  const urls = hosts.split(',').map((host) => URL.parse(head + host + rest));
  const known = urls.filter((url) => url !== null);
  if (known.length === urls.length && !known.some(isMisread)) return known;
  // The error of the URL class quotes the URL.
  throw new StartError(
    `${setting} is not a URL; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with @, :, /, ? and # in a password percent-encoded`,
  );
}

/** Whether a password seems to stand where messages show it. */
const isMisread = ({ host, pathname, hash, searchParams }: URL): boolean =>
  hash !== '' || ![host, pathname, ...searchParams.getAll('host'), ...searchParams.keys()].every(isPlainPlace);
