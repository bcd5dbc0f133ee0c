/**
 * Requests that must not reach the service, whatever they ask for: those for another host, and, without tokens, those that
 * a web page of another site causes. Such a page could read and write as if it were a person at this machine.
 */
import type { IncomingMessage } from 'node:http';
import { shortened } from '../names.ts';
import { Problem } from '../problem.ts';

/** Throws a Problem. */
export type Admit = (request: IncomingMessage) => void;

interface AdmissionOptions {
  /** Whether requests need a token. */
  readonly guarded: boolean;
  /** Names of the service; `*` among them allows every name. Empty: the host application decides. */
  readonly allowedHosts: readonly string[];
  /** The empty string if there is none. */
  readonly publicUrl: string;
  /** Whether the settings allow pages of this origin. */
  readonly cors: { allows(origin: string): boolean };
}

export function createAdmission({ guarded, allowedHosts, publicUrl, cors }: AdmissionOptions): Admit {
  return (request) => {
    if (allowedHosts.length > 0) refuseOtherHosts(request, allowedHosts, publicUrl);
    if (!guarded) refuseOtherSites(request, cors, publicUrl);
  };
}

/** For agents: even in a host application, a page can reach them under a name of its own (DNS rebinding). */
export function createAgentAdmission({ guarded, allowedHosts, publicUrl, cors }: AdmissionOptions): Admit {
  return (request) => {
    if (!guarded || allowedHosts.length > 0) refuseOtherHosts(request, allowedHosts, publicUrl);
    const { origin } = request.headers;
    if (origin === undefined || cors.allows(origin) || isOwn(origin, request, publicUrl)) return;
    throw otherSite('Origin', origin);
  };
}

/** Addresses and names of this machine: no name server decides where they lead. */
const FIXED = /^(?:\[[^\]]+\]|\d{1,3}(?:\.\d{1,3}){3}|(?:.+\.)?localhost)$/;

function refuseOtherHosts({ headers }: IncomingMessage, names: readonly string[], publicUrl: string): void {
  // Browsers always send a host.
  if (headers.host === undefined || names.includes('*')) return;
  const name = headers.host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  if (FIXED.test(name) || names.some((known) => known.toLowerCase() === name)) return;
  if (publicUrl !== '' && new URL(publicUrl).hostname === name) return;
  throw new Problem(
    'misdirected-request',
    `This service is not called "${shortened(name)}"; the setting ALLOWED_HOSTS can add the name, and PUBLIC_URL the address behind a proxy`,
  );
}

/** Refuses by Fetch Metadata, which browsers send to https and to this machine, else by Origin or Referer. */
function refuseOtherSites(request: IncomingMessage, cors: AdmissionOptions['cors'], publicUrl: string): void {
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

/** A link to a page for people, whose content no other site can read. */
const isNavigation = (request: IncomingMessage): boolean =>
  request.method === 'GET' &&
  request.headers['sec-fetch-mode'] === 'navigate' &&
  request.headers['sec-fetch-dest'] === 'document' &&
  /^\/(?:$|\?|(?:docs|studio)(?:[/?]|$))/.test(request.url ?? '');

/** The scheme is not known behind a proxy that ends TLS. */
function isOwn(origin: string, { headers: { host = '' } }: IncomingMessage, publicUrl: string): boolean {
  if (publicUrl !== '' && new URL(publicUrl).origin === origin) return true;
  const urls = ['http', 'https'].map((scheme) => `${scheme}://${host}`);
  return host !== '' && urls.some((url) => URL.canParse(url) && new URL(url).origin === origin);
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
