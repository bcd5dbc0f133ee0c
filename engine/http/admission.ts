/**
 * Requests that must not reach the service, whatever they ask for: those for another host, and, without tokens, those that
 * a web page of another site causes. Such a page could read and write as if it were a person at this machine.
 */
import type { IncomingMessage } from 'node:http';
import { shortened } from '../names.ts';
import { Problem } from '../problem.ts';
import { targetOf } from './request.ts';
import type { Cors } from './send.ts';

/** Throws a Problem. */
export type Admit = (request: IncomingMessage) => void;

interface AdmissionOptions {
  /** Whether requests need a token. */
  readonly guarded: boolean;
  /** Names of the service; `*` among them allows every name. */
  readonly allowedHosts: readonly string[];
  /** The empty string if there is none. */
  readonly publicUrl: string;
  readonly cors: Cors;
}

/** For every request. Without names, the host application decides which hosts it answers to. */
export function createAdmission({ guarded, allowedHosts, publicUrl, cors }: AdmissionOptions): Admit {
  const refuseHost = allowedHosts.length === 0 ? () => undefined : hostCheck(allowedHosts, publicUrl);
  return (request) => {
    refuseHost(request);
    if (!guarded) refuseOtherSites(request, cors, publicUrl);
  };
}

/** For agents, which a page can send requests to under a name of its own (DNS rebinding), also in a host application. */
export function createAgentAdmission({ guarded, allowedHosts, publicUrl, cors }: AdmissionOptions): Admit {
  const refuseHost = guarded && allowedHosts.length === 0 ? () => undefined : hostCheck(allowedHosts, publicUrl);
  return (request) => {
    refuseHost(request);
    const { origin } = request.headers;
    if (origin === undefined || cors.allows(origin) || isOwn(origin, request, publicUrl)) return;
    throw otherSite('Origin', origin);
  };
}

// Names of the service.

/** An address, or this machine: no name server decides where these lead. */
const FIXED = /^(?:\[[^\]]+\]|\d{1,3}(?:\.\d{1,3}){3}|(?:.+\.)?localhost)$/;

function hostCheck(names: readonly string[], publicUrl: string): Admit {
  if (names.includes('*')) return () => undefined;
  const known = new Set(names.map((name) => name.toLowerCase()));
  if (publicUrl !== '') known.add(new URL(publicUrl).hostname);
  /** Clients repeat themselves. */
  let last: string | undefined;
  return ({ headers: { host } }) => {
    // Browsers always send one.
    if (host === undefined || host === last) return;
    const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    if (!FIXED.test(name) && !known.has(name)) throw misdirected(name);
    last = host;
  };
}

const misdirected = (name: string): Problem =>
  new Problem(
    'misdirected-request',
    `This service is not called "${shortened(name)}"; the setting ALLOWED_HOSTS can add the name, and PUBLIC_URL the address behind a proxy`,
  );

// Pages of other sites (Fetch Metadata). Browsers send Sec-Fetch-Site to https and to this machine.

function refuseOtherSites(request: IncomingMessage, cors: Cors, publicUrl: string): void {
  const { origin, referer, 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined && cors.allows(origin)) return;
  if (site !== undefined) {
    if (site === 'same-origin' || site === 'none' || isNavigation(request)) return;
    throw otherSite('Sec-Fetch-Site', origin ?? String(site));
  }
  if (origin !== undefined) {
    if (!isOwn(origin, request, publicUrl)) throw otherSite('Origin', origin);
  } else if (referer !== undefined && URL.canParse(referer)) {
    const from = new URL(referer).origin;
    if (!isOwn(from, request, publicUrl)) throw otherSite('Referer', from);
  }
}

/** A link to a page that people read, which shows no other site what is in it. */
const isNavigation = (request: IncomingMessage): boolean =>
  request.method === 'GET' &&
  request.headers['sec-fetch-mode'] === 'navigate' &&
  request.headers['sec-fetch-dest'] === 'document' &&
  /^\/(?:$|(?:docs|studio)(?:\/|$))/.test(targetOf(request).path);

/** The scheme is not known behind a proxy that ends TLS. */
function isOwn(origin: string, { headers: { host = '' } }: IncomingMessage, publicUrl: string): boolean {
  if (publicUrl !== '' && new URL(publicUrl).origin === origin) return true;
  return ['http', 'https'].some((scheme) => origin === originOf(scheme, host));
}

/** Without the port that the scheme implies. */
function originOf(scheme: string, host: string): string | undefined {
  const url = `${scheme}://${host}`;
  return host !== '' && URL.canParse(url) ? new URL(url).origin : undefined;
}

function otherSite(header: 'Origin' | 'Referer' | 'Sec-Fetch-Site', from: string): Problem {
  const shown = shortened(from);
  const message =
    header === 'Sec-Fetch-Site' && !shown.includes(':')
      ? `A page of another site (${shown}) sent this request`
      : `Pages of "${shown}" may not use this service`;
  return new Problem('origin-not-allowed', `${message}; the setting CORS_ORIGINS can allow their origin`, {
    errors: [{ header, code: 'origin-not-allowed', message }],
  });
}
