/** Admits requests by host, sending site, client address and rate. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { shortened } from '../names.ts';
import { faultyRequest, Problem } from '../problem.ts';
import { workerNumber } from '../process.ts';

// Hosts and sites. Without tokens, a page of another site could read and write like a local user.

interface AdmissionOptions {
  readonly guarded: boolean;
  /** `*` for all; empty if the host application decides. */
  readonly allowedHosts: readonly string[];
  readonly publicUrl: string;
  readonly cors: { allows(origin: string): boolean };
}

/** Checks the host and site of a request; for agents also in host applications, which DNS rebinding could reach. */
export const createAdmission =
  (options: AdmissionOptions, isForAgents = false) =>
  (request: IncomingMessage): void => {
    const { guarded, allowedHosts } = options;
    if (allowedHosts.length > 0 || (isForAgents && !guarded)) refuseOtherHosts(request, options);
    if (isForAgents || !guarded) refuseOtherSites(request, options);
  };

/** Hosts that need no DNS, so that no site can point them here (DNS rebinding). */
const FIXED = /^(?:\[[^\]]+\]|\d{1,3}(?:\.\d{1,3}){3}|(?:.+\.)?localhost)$/;

function refuseOtherHosts({ headers }: IncomingMessage, { allowedHosts, publicUrl }: AdmissionOptions): void {
  // Browsers always send a host.
  if (headers.host === undefined || allowedHosts.includes('*')) return;
  const name = headers.host.toLowerCase().replace(/\.?(?::\d*)?$/, '');
  if (FIXED.test(name) || allowedHosts.some((known) => known.toLowerCase() === name)) return;
  if (publicUrl !== '' && new URL(publicUrl).hostname === name) return;
  throw new Problem(
    'misdirected-request',
    `This service is not called "${shortened(name)}"; the setting ALLOWED_HOSTS can add the name, and PUBLIC_URL the address behind a proxy`,
  );
}

/** Uses Fetch Metadata, which browsers send to https and localhost, else Origin or Referer. */
function refuseOtherSites(request: IncomingMessage, { cors, publicUrl }: AdmissionOptions): void {
  const { origin, referer = '', 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined && cors.allows(origin)) return;
  if (site !== undefined) {
    if (site === 'same-origin' || site === 'none' || isNavigation(request)) return;
    throw otherSite('Sec-Fetch-Site', origin);
  }
  const from = origin ?? (URL.canParse(referer) ? new URL(referer).origin : undefined);
  if (from !== undefined && !isOwn(from, request, publicUrl))
    throw otherSite(origin === undefined ? 'Referer' : 'Origin', from);
}

/** A browser navigation: other sites cannot read the response. */
const isNavigation = (request: IncomingMessage): boolean =>
  request.method === 'GET' &&
  request.headers['sec-fetch-mode'] === 'navigate' &&
  request.headers['sec-fetch-dest'] === 'document' &&
  /^\/(?:$|\?|(?:docs|studio)(?:[/?]|$))/.test(request.url ?? '');

/** Accepts both schemes of the host, since a proxy that ends TLS hides the scheme. */
function isOwn(origin: string, { headers: { host = '' } }: IncomingMessage, publicUrl: string): boolean {
  if (publicUrl !== '' && new URL(publicUrl).origin === origin) return true;
  const urls = ['http', 'https'].map((scheme) => `${scheme}://${host}`);
  return urls.some((url) => URL.canParse(url) && new URL(url).origin === origin);
}

function otherSite(header: string, from?: string): Problem {
  const site = from === undefined ? 'another site' : `"${shortened(from)}"`;
  const message = `Pages of ${site} may not use this service; the setting CORS_ORIGINS can allow their origin`;
  return faultyRequest('origin-not-allowed', [{ header, code: 'origin-not-allowed', message }]);
}

export type AddressOf = (request: IncomingMessage) => string;

/** The peer; behind trusted proxies, the last forwarded address that is not one of them. */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  const peerOf: AddressOf = ({ socket }) => plain(socket.remoteAddress ?? '');
  if (trustedProxies.length === 0) return peerOf;
  const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = '', length = isIP(address) === 6 ? 128 : 32] = network.split('/');
    trusted.addSubnet(address, Number(length), familyOf(address));
  }
  return (request) => {
    let client = peerOf(request);
    // Each proxy appends its peer's address.
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
    while (isIP(client) > 0 && trusted.check(client, familyOf(client))) {
      const before = addressIn(forwarded.pop() ?? '');
      if (before === undefined) break;
      client = before;
    }
    return client;
  };
}

function addressIn(text: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = plain(bracketed ?? dotted ?? text.trim());
  return isIP(address) > 0 ? address : undefined;
}

/** Dual-stack sockets report IPv4 addresses in IPv6 notation. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** The IPv4 address, or the /64 network of an IPv6 address. */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [before = [], after] = address
    .replace(/%.*$/, '')
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = after ? Array<string>(8 - before.length - after.length).fill('0') : [];
  const network = [...before, ...zeros, ...(after ?? [])].slice(0, 4);
  return `${network.join(':')}::/64`;
}

// The rate limit (draft-ietf-httpapi-ratelimit-headers).

/** Returns the RateLimit headers; throws `rate-limited`. */
export type RateLimit = (request: IncomingMessage) => Promise<Readonly<Record<string, string>>>;

const SECONDS = 60;
const MAX_CLIENTS = 20_000;
const COUNT_TIMEOUT = 5000;

/** Counts the requests of each token, or address. `nameOf`: the name of a request's token. */
export async function createRateLimit(
  perMinute: number,
  nameOf: (request: IncomingMessage) => string | undefined,
  addressOf: AddressOf,
): Promise<RateLimit> {
  const { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible');
  const options = { points: perMinute, duration: SECONDS };
  const limiter =
    workerNumber === undefined
      ? new RateLimiterMemory(options)
      : new RateLimiterCluster({ ...options, keyPrefix: 'records', timeoutMs: COUNT_TIMEOUT });
  const known = new Set<string>();
  return async (request) => {
    const name = nameOf(request);
    const client = name === undefined ? networkOf(addressOf(request)) : `token ${name}`;
    known.delete(client);
    known.add(client);
    if (known.size > MAX_CLIENTS) {
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
