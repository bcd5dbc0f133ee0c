/** Which client sends a request, and how many requests each may send in a minute. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { Problem } from '../problem.ts';
import { workerNumber } from '../process.ts';

export type AddressOf = (request: IncomingMessage) => string;

/** The peer of the connection; behind trusted proxies, the last forwarded address that is not one of them. */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  const peerOf: AddressOf = ({ socket }) => plain(socket.remoteAddress ?? '');
  if (trustedProxies.length === 0) return peerOf;
  const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = '', length] = network.split('/');
    if (length === undefined) trusted.addAddress(address, familyOf(address));
    else trusted.addSubnet(address, Number(length), familyOf(address));
  }
  return (request) => {
    let client = peerOf(request);
    // Each proxy appends the address that it was asked from.
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
    while (isIP(client) > 0 && trusted.check(client, familyOf(client))) {
      const before = addressIn(forwarded.pop() ?? '');
      // Nothing more is known, or the proxy passed on what is no address.
      if (before === undefined) break;
      client = before;
    }
    return client;
  };
}

/** Some proxies add the port. */
function addressIn(text: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = plain(bracketed ?? dotted ?? text.trim());
  return isIP(address) > 0 ? address : undefined;
}

/** An address of version 4 has this form where the service listens on both versions. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** The key that a client is counted by: its IPv4 address, or the /64 network of its IPv6 address. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [before = [], after] = address
    .replace(/%.*$/, '')
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = after ? Array<string>(8 - before.length - after.length).fill('0') : [];
  const network = [...before, ...zeros, ...(after ?? [])].slice(0, 4);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

// The rate limit (draft-ietf-httpapi-ratelimit-headers).

/** Returns the headers that say how many requests are left. Throws a Problem, `rate-limited`. */
export type RateLimit = (request: IncomingMessage) => Promise<Readonly<Record<string, string>>>;

const SECONDS = 60;
/** Clients that are counted at the same time: each takes about a kibibyte. */
const MAX_CLIENTS = 20_000;
/** Milliseconds for the process that started the workers to answer. */
const COUNT_TIMEOUT = 5000;

/** `clientOf` names the client. Beyond `mostClients`, the one that has been silent longest is forgotten. */
export async function createRateLimit(
  perMinute: number,
  clientOf: (request: IncomingMessage) => string,
  mostClients = MAX_CLIENTS,
): Promise<RateLimit> {
  // Loaded only if it is needed: a start without it takes less time.
  const { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible');
  const options = { points: perMinute, duration: SECONDS };
  const limiter =
    workerNumber === undefined
      ? new RateLimiterMemory(options)
      : new RateLimiterCluster({ ...options, keyPrefix: 'records', timeoutMs: COUNT_TIMEOUT });
  /** In the order of their last requests. */
  const known = new Set<string>();
  return async (request) => {
    const client = clientOf(request);
    known.delete(client);
    known.add(client);
    if (known.size > mostClients) {
      const [longest = ''] = known;
      known.delete(longest);
      void limiter.delete(longest).catch(() => undefined);
    }
    const result = await limiter.consume(client).catch((refused: unknown) => refused);
    if (!(result instanceof RateLimiterRes)) {
      const message = 'The requests of this client could not be counted; try again in a second';
      throw new Problem('overloaded', message, { cause: result });
    }
    const { consumedPoints, remainingPoints, msBeforeNext } = result;
    const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
    const headers = {
      'RateLimit-Policy': `"minute";q=${perMinute};w=${SECONDS}`,
      RateLimit: `"minute";r=${Math.max(0, remainingPoints)};t=${seconds}`,
    };
    if (consumedPoints <= perMinute) return headers;
    const message = `More than ${perMinute} requests in a minute; try again in ${seconds} seconds`;
    throw new Problem('rate-limited', message, { headers, retryAfter: seconds });
  };
}
