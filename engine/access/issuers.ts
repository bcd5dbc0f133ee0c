/** Identities from JWT (RFC 7519) of the issuers in `access/issuers.yaml`, verified by their published keys (RFC 7517). */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as jose from 'jose';
import { diagnosed, type Finding, finding, quoted } from '../descriptor/report.ts';
import { isObject } from '../json/json.ts';
import type { Log } from '../log.ts';
import { didYouMean } from '../names.ts';
import { attempted, type Problem, reasonOf } from '../problem.ts';
import { type Identity, invalidToken, type Issuers } from './access.ts';
import { claimAt } from './conditions.ts';
import grammar from './issuers.schema.json';
import { ISSUERS_FILE, readChecked } from './roles.ts';

const USUAL = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const SKEW_S = 30;
const RENEW_MS = 600_000;
const DEMAND_MS = 60_000;
const TIMEOUT_MS = 2000;
const MOST_REMEMBERED = 10_000;

export interface IssuerDescriptor {
  readonly issuer: string;
  readonly audience: string;
  /** An address, or a file beside this one. */
  readonly jwks: string;
  readonly role: { readonly claim: string | readonly string[]; readonly map?: Readonly<Record<string, string>> };
  readonly groups: readonly string[];
  readonly name?: string;
  readonly algorithms?: readonly string[];
}

export function loadIssuers(directory: string, roles: ReadonlySet<string>) {
  const location = join(directory, ISSUERS_FILE);
  if (!existsSync(location)) return { issuers: [], diagnostics: [] };
  const { source, value, diagnostics } = readChecked(location, grammar);
  if (!source || !isObject(value)) return { issuers: [], diagnostics };
  const { issuers: written } = value as unknown as { readonly issuers: readonly Omit<IssuerDescriptor, 'groups'>[] };
  const issuers = written.map((one, at) => ({ ...one, groups: source.keysOf(['issuers', at, 'role', 'map']) }));
  const faults = [...issuerFaults(issuers, directory, roles)].map((one) => diagnosed(source, one));
  return { issuers, diagnostics: [...diagnostics, ...faults] };
}

function* issuerFaults(
  issuers: readonly IssuerDescriptor[],
  directory: string,
  roles: ReadonlySet<string>,
): Generator<Finding, void> {
  for (const [index, { issuer, jwks, name, role }] of issuers.entries()) {
    const path = ['issuers', index];
    if (issuers.findIndex((one) => one.issuer === issuer) < index)
      yield finding('repeated-item', [...path, 'issuer'], `${quoted(issuer)} is in this file twice`);
    if (name !== undefined && issuers.findIndex((one) => one.name === name) < index)
      yield finding('repeated-item', [...path, 'name'], `another issuer is called ${quoted(name)}`);
    if (name === undefined && issuers.length > 1)
      yield finding('missing-key', path, 'where there are several issuers, each needs a "name"', 'key');
    const message = keysFault(jwks, directory);
    if (message !== undefined) yield finding('bad-value', [...path, 'jwks'], message);
    for (const [value, target] of Object.entries(role.map ?? {}))
      if (!roles.has(target)) {
        const unknown = `there is no role ${quoted(target)}${didYouMean(target, roles)}`;
        yield finding('unknown-role', [...path, 'role', 'map', value], unknown);
      }
  }
}

function keysFault(jwks: string, directory: string): string | undefined {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(jwks)) {
    if (existsSync(join(directory, jwks))) return undefined;
    return `there is no file ${quoted(jwks)} beside this one; expected an address that begins with https://, or a file`;
  }
  const { protocol, hostname } = URL.canParse(jwks) ? new URL(jwks) : { protocol: '', hostname: '' };
  const isHere = protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (protocol === 'https:' || isHere) return undefined;
  return 'keys come from an address with https, or of this machine: others could be put in their place';
}

/** Loaded where there are issuers. It is an ES module, which older versions of Node import, but do not require. */
type Jose = typeof jose;

/** Fetches keys without delaying the start. */
export async function openIssuers(
  descriptors: readonly IssuerDescriptor[],
  directory: string,
  log: Log,
): Promise<Issuers> {
  const library = await import('jose');
  const issuers = new Map(descriptors.map((one) => [one.issuer, openIssuer(one, directory, log, library)]));
  return {
    identityOf: (token) => {
      const issuer = issuers.get(attempted(() => library.decodeJwt(token).iss) ?? '');
      return issuer?.identityOf(token) ?? invalidToken('The token is unknown, or of an issuer that is');
    },
    close: () => {
      for (const issuer of issuers.values()) issuer.close();
    },
  };
}

function openIssuer(descriptor: IssuerDescriptor, directory: string, log: Log, library: Jose): Issuers {
  const { issuer, audience, jwks, name, algorithms = USUAL } = descriptor;
  const { jwtVerify, errors } = library;
  const keys = keySet(new URL(jwks, pathToFileURL(`${directory}/`)), library);
  const remembered = new Map<string, { readonly identity: Identity; readonly until: number }>();
  let demanded = -Infinity;
  const renew = (): Promise<void> =>
    keys.reload().then(
      // Tokens of keys that were withdrawn must not stay valid.
      () => remembered.clear(),
      (error: unknown) => log.error({ issuer, jwks, cause: reasonOf(error) }, 'the keys of an issuer cannot be read'),
    );
  const required = { issuer, audience, algorithms: [...algorithms], requiredClaims: ['exp'] };
  // The tokens of an issuer with several keys must name theirs (OpenID Connect Core, 10.1).
  const verify = (token: string) => jwtVerify(token, keys, { ...required, clockTolerance: SKEW_S });
  /** A key that is unknown may be new. */
  const verified = (token: string) =>
    verify(token).catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey) || performance.now() - demanded < DEMAND_MS) throw error;
      demanded = performance.now();
      await renew();
      return verify(token);
    });
  const identify = async (token: string, key: string): Promise<Identity | Problem> => {
    try {
      const { payload: claims } = await verified(token);
      const { sub, exp = 0 } = claims;
      if (typeof sub !== 'string' || sub === '') return invalidToken('The token names nobody: it has no "sub"');
      const by = { name: name === undefined ? sub : `${name}/${sub}`, key: `${issuer} ${sub}` };
      const identity: Identity = { ...by, role: roleIn(claims, descriptor), claims };
      if (remembered.size >= MOST_REMEMBERED) remembered.clear();
      remembered.set(key, { identity, until: (exp + SKEW_S) * 1000 });
      return identity;
    } catch (error) {
      if (error instanceof errors.JOSEError) return invalidToken(`The token is not valid: ${error.message}`);
      throw error;
    }
  };
  const timer = setInterval(() => void renew(), RENEW_MS).unref();
  void renew();
  return {
    identityOf: (token) => {
      const key = hash('sha256', token);
      const known = remembered.get(key);
      return known && known.until > Date.now() ? known.identity : identify(token, key);
    },
    close: () => clearInterval(timer),
  };
}

/** Keys that are read where `reload` is called, and else stay. They are none at first. */
const keySet = (address: URL, { createRemoteJWKSet, customFetch, jwksCache }: Jose) =>
  createRemoteJWKSet(address, {
    timeoutDuration: TIMEOUT_MS,
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
    [jwksCache]: { uat: Date.now(), jwks: { keys: [] } },
    ...(address.protocol === 'file:' && { [customFetch]: async () => new Response(await readFile(address)) }),
  });

/** The role of a claim; of a list with a map, that of the first entry of the map. */
function roleIn(payload: jose.JWTPayload, { role: { claim, map }, groups }: IssuerDescriptor): string | undefined {
  const values = [claimAt(payload, [claim].flat())].flat();
  if (!map) return values.length === 1 && typeof values[0] === 'string' ? values[0] : undefined;
  const named = new Set(values.flatMap((one) => (typeof one === 'string' || typeof one === 'number' ? `${one}` : [])));
  const group = groups.find((one) => named.has(one));
  return group === undefined ? undefined : map[group];
}
