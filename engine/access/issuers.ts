/** Identities from JWT (RFC 7519) of the issuers in `access/issuers.yaml`, verified by their published keys (RFC 7517). */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as jose from 'jose';
import { checkGrammar } from '../descriptor/check-grammar.ts';
import { shownPath } from '../descriptor/load.ts';
import { type Finding, finding, quoted } from '../descriptor/report.ts';
import { diagnoseAt, rangeOf, readDescriptor } from '../descriptor/source.ts';
import { toJson } from '../descriptor/to-json.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { isObject, type JsonObject, parsedJson } from '../json/json.ts';
import type { Log } from '../log.ts';
import { didYouMean } from '../names.ts';
import { type Problem, reasonOf } from '../problem.ts';
import { type Identity, invalidToken, type Issuers } from './access.ts';
import { claimAt } from './conditions.ts';
import { diagnosed, ISSUERS_FILE } from './roles.ts';

/** Never a symmetric one: whoever can verify could make tokens. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const USUAL = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const SKEW_S = 30;
const RENEW_MS = 600_000;
const DEMAND_MS = 60_000;
const TIMEOUT_MS = 2000;
const MAX_KEYS_LENGTH = 1024 * 1024;
const MOST_REMEMBERED = 10_000;

const NAME: JsonObject = { type: 'string', minLength: 1 };
const CLAIM_PATH: JsonObject = { type: ['string', 'array'], minLength: 1, minItems: 1, items: NAME };

const GRAMMAR: JsonObject = {
  type: 'object',
  properties: {
    issuers: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: {
          issuer: NAME,
          audience: NAME,
          jwks: NAME,
          role: {
            type: 'object',
            properties: { claim: CLAIM_PATH, map: { type: 'object', minProperties: 1, additionalProperties: NAME } },
            required: ['claim'],
            additionalProperties: false,
          },
          name: { type: 'string', pattern: '^[\\w.@-]{1,64}$' },
          algorithms: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: ALGORITHMS } },
        },
        required: ['issuer', 'audience', 'jwks', 'role'],
        additionalProperties: false,
      },
    },
  },
  required: ['issuers'],
  additionalProperties: false,
};

export interface IssuerDescriptor {
  readonly issuer: string;
  readonly audience: string;
  /** An address, or a file beside this one. */
  readonly jwks: string;
  readonly role: {
    readonly claim: string | readonly string[];
    readonly map?: Readonly<Record<string, string>>;
  };
  readonly name?: string;
  readonly algorithms?: readonly string[];
}

interface LoadedIssuers {
  readonly issuers: readonly IssuerDescriptor[];
  readonly diagnostics: readonly Diagnostic[];
}

export function loadIssuers(directory: string, roles: ReadonlySet<string>): LoadedIssuers {
  const location = join(directory, ISSUERS_FILE);
  if (!existsSync(location)) return { issuers: [], diagnostics: [] };
  const { source, diagnostics } = readDescriptor(shownPath(location), location);
  if (!source || diagnostics.length > 0) return { issuers: [], diagnostics };
  const { value, faults } = toJson(source.document);
  const found = checkGrammar(value, GRAMMAR);
  const issuers = found.length > 0 ? [] : (value as unknown as { readonly issuers: IssuerDescriptor[] }).issuers;
  const all = [...found, ...issuerFaults(issuers, directory, roles)].map((one) => diagnosed(source, one));
  const ofYaml = faults.map(({ code, node, message }) => diagnoseAt(source, code, rangeOf(node), message));
  return { issuers, diagnostics: [...ofYaml, ...all] };
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
    const message = isAddress(jwks)
      ? addressFault(jwks)
      : existsSync(join(directory, jwks))
        ? undefined
        : `there is no file ${quoted(jwks)} beside this one; expected an address that begins with https://, or a file`;
    if (message !== undefined) yield finding('bad-value', [...path, 'jwks'], message);
    for (const [value, target] of Object.entries(role.map ?? {}))
      if (!roles.has(target)) {
        const unknown = `there is no role ${quoted(target)}${didYouMean(target, roles)}`;
        yield finding('unknown-role', [...path, 'role', 'map', value], unknown);
      }
  }
}

const isAddress = (text: string): boolean => /^[a-z][a-z\d+.-]*:\/\//i.test(text);

function addressFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:') return undefined;
  const isHere = url?.protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  return isHere
    ? undefined
    : 'keys come from an address with https, or of this machine: others could be put in their place';
}

interface Remembered {
  readonly identity: Identity;
  /** In milliseconds. */
  readonly until: number;
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
  const issuers = new Map(descriptors.map((one) => [one.issuer, new Issuer(one, directory, log, library)]));
  return {
    identityOf: (token) => {
      const issuer = issuers.get(issuerIn(token, library) ?? '');
      return issuer?.identityOf(token) ?? invalidToken('The token is unknown, or of an issuer that is');
    },
    close: () => {
      for (const issuer of issuers.values()) issuer.close();
    },
  };
}

function issuerIn(token: string, { decodeJwt }: Jose): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

class Issuer {
  readonly #descriptor: IssuerDescriptor;
  readonly #directory: string;
  readonly #log: Log;
  readonly #jose: Jose;
  readonly #timer: NodeJS.Timeout;
  readonly #remembered = new Map<string, Remembered>();
  #keys: ReturnType<Jose['createLocalJWKSet']>;
  #text = '';
  #fetching: Promise<void> | undefined;
  #demanded = -Infinity;

  constructor(descriptor: IssuerDescriptor, directory: string, log: Log, library: Jose) {
    this.#jose = library;
    this.#keys = library.createLocalJWKSet({ keys: [] });
    this.#descriptor = descriptor;
    this.#directory = directory;
    this.#log = log;
    this.#timer = setInterval(() => void this.#renew(), RENEW_MS).unref();
    void this.#renew();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  identityOf(token: string): Identity | Promise<Identity | Problem> {
    const key = hash('sha256', token);
    const known = this.#remembered.get(key);
    if (known && known.until > Date.now()) return known.identity;
    return this.#verified(token, key);
  }

  async #verified(token: string, key: string): Promise<Identity | Problem> {
    try {
      const payload = await this.#verify(token).catch(async (error: unknown) => {
        if (!(error instanceof this.#jose.errors.JWKSNoMatchingKey)) throw error;
        await this.#demand();
        return this.#verify(token);
      });
      const { sub, exp = 0 } = payload;
      if (typeof sub !== 'string' || sub === '') return invalidToken('The token names nobody: it has no "sub"');
      const { issuer, name, role } = this.#descriptor;
      const identity: Identity = {
        name: name === undefined ? sub : `${name}/${sub}`,
        key: `${issuer} ${sub}`,
        role: roleIn(payload, role),
        claims: payload,
      };
      if (this.#remembered.size >= MOST_REMEMBERED) this.#remembered.clear();
      this.#remembered.set(key, { identity, until: (exp + SKEW_S) * 1000 });
      return identity;
    } catch (error) {
      if (error instanceof this.#jose.errors.JOSEError) return invalidToken(`The token is not valid: ${error.message}`);
      throw error;
    }
  }

  async #verify(token: string): Promise<jose.JWTPayload> {
    const { jwtVerify, errors } = this.#jose;
    const { issuer, audience, algorithms = USUAL } = this.#descriptor;
    const options: jose.JWTVerifyOptions = {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance: SKEW_S,
      requiredClaims: ['exp'],
    };
    try {
      return (await jwtVerify(token, this.#keys, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const one of error) {
        const verified = await jwtVerify(token, one, options).catch((failure: unknown) => {
          if (failure instanceof errors.JWSSignatureVerificationFailed) return undefined;
          throw failure;
        });
        if (verified) return verified.payload;
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  /** For a key that is unknown, which may be new. */
  async #demand(): Promise<void> {
    if (this.#fetching) return this.#fetching;
    if (performance.now() - this.#demanded < DEMAND_MS) return;
    this.#demanded = performance.now();
    await this.#renew();
  }

  /** The last good keys stay. */
  #renew(): Promise<void> {
    this.#fetching ??= this.#read()
      .then((text) => this.#take(text))
      .catch((error: unknown) => {
        const { issuer, jwks } = this.#descriptor;
        this.#log.error({ issuer, jwks, cause: reasonOf(error) }, 'the keys of an issuer cannot be read');
      })
      .finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #read(): Promise<string> {
    const { jwks } = this.#descriptor;
    if (!isAddress(jwks)) return readFile(join(this.#directory, jwks), 'utf8');
    const answer = await fetch(jwks, {
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: 'application/jwk-set+json, application/json' },
    });
    if (answer.status !== 200) throw new Error(`the answer has status ${answer.status}`);
    if (Number(answer.headers.get('content-length') ?? 0) > MAX_KEYS_LENGTH) throw new Error('the answer is too long');
    return answer.text();
  }

  #take(text: string): void {
    if (text === this.#text) return;
    const keys = text.length > MAX_KEYS_LENGTH ? undefined : parsedJson(text);
    if (!isObject(keys) || !Array.isArray(keys['keys'])) throw new Error('the answer is no set of keys');
    this.#keys = this.#jose.createLocalJWKSet(keys as unknown as Parameters<Jose['createLocalJWKSet']>[0]);
    this.#text = text;
    // Tokens of keys that were withdrawn must not stay valid.
    this.#remembered.clear();
  }
}

/** The role of a claim; of a list with a map, that of the first entry of the map. */
function roleIn(payload: jose.JWTPayload, { claim, map }: IssuerDescriptor['role']): string | undefined {
  const found = claimAt(payload, [claim].flat());
  const values = (Array.isArray(found) ? found : [found]).map(String);
  if (map) return Object.entries(map).find(([value]) => values.includes(value))?.[1];
  return values.length === 1 && typeof (Array.isArray(found) ? found[0] : found) === 'string' ? values[0] : undefined;
}
