/** Creates tokens, and parses lines of token hashes with their rights. */
import * as crypto from 'node:crypto';
import type { Granted, TypeNames } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { Claims } from './conditions.ts';

interface Holder {
  /** For logs; the token is secret. */
  readonly name: string;
  /** SHA-256: a token of 256 random bits needs no slow hash. */
  readonly hash: string;
}

interface RoleGrant {
  readonly role: string;
  readonly claims: Claims;
}

/** The rights in the text of a token line; claims as `NAME=VALUE`. */
export type WrittenRights = Granted | { readonly role: string; readonly claims: readonly string[] };

export type Grant = Holder & (Granted | RoleGrant);

export const isOfRole = (grant: Grant): grant is Holder & RoleGrant => 'role' in grant;

const LINE = /^(?<name>[\w.@-]{1,64})(?<words>(?:\s+[^\s=]+=\S+)+)\s+sha256=(?<hash>[0-9a-f]{64})$/;
const EXPECTED =
  'expected NAME read=TYPES write=TYPES history=TYPES sha256=HASH, or NAME role=ROLE claim:NAME=VALUE sha256=HASH, as "records token" prints it';
const CLAIM = 'claim:';

export const createToken = (): string => `rec_${crypto.randomBytes(32).toString('base64url')}`;

const hashOf = (token: string): string => crypto.hash('sha256', token);

export function tokenLine(grant: { readonly name: string } & WrittenRights, token: string): string {
  return [grant.name, ...wordsOf(grant), `sha256=${hashOf(token)}`].join(' ');
}

function wordsOf(grant: WrittenRights): readonly string[] {
  if ('role' in grant) return [`role=${grant.role}`, ...grant.claims.map((claim) => CLAIM + claim)];
  const { read, write, history = new Set<string>() } = grant;
  return Object.entries({ read, write, history }).flatMap(([right, types]) =>
    types === 'all' ? `${right}=*` : types.size === 0 ? [] : `${right}=${[...types].join()}`,
  );
}

export const parseTypes = (text?: string): TypeNames =>
  text === '*' ? 'all' : new Set(text?.split(',').map((name) => name.trim().normalize('NFC')));

/** `name=value`: a name that is given twice has a list, and `org.team` is the claim `team` within `org` besides. */
export function parseClaims(texts: readonly string[]): Claims {
  const pairs = texts.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)] as const);
  const nested = claimsAt(pairs.map(([name, value]) => [name.split('.'), value]));
  return { ...nested, ...claimsAt(pairs.map(([name, value]) => [[name], value])) };
}

const claimsAt = (pairs: readonly (readonly [path: readonly string[], value: string])[]): Claims =>
  Object.fromEntries(
    [...Map.groupBy(pairs, ([[step = '']]) => step)].map(([step, some]) => {
      const values = some.flatMap(([path, value]) => (path.length === 1 ? value : []));
      const within = (): Claims => claimsAt(some.map(([[, ...path], value]) => [path, value]));
      return [step, values.length > 1 ? values : (values[0] ?? within())];
    }),
  );

interface TokenSource {
  readonly name: string;
  readonly text: string;
}

/**
 * Lines that share a name or a hash give no access: a line meant to replace another would have no effect. Faults omit
 * the line: it may contain a token. `roles`: the names that lines may have.
 */
export function parseGrants(roles: Iterable<string>, ...sources: readonly TokenSource[]) {
  const faults: string[] = [];
  const known = new Set(roles);
  const lines = new Map<string, { readonly location: string; readonly grant: Grant }>();
  for (const { location, text } of sources.flatMap(entriesOf)) {
    const grant = parseGrant(text);
    const first = lines.get(text);
    if (grant === undefined) faults.push(`${location}: ${EXPECTED}${wordMeantIn(text)}`);
    else if (isOfRole(grant) && !known.has(grant.role))
      faults.push(`${location}: there is no role "${grant.role}"${didYouMean(grant.role, known)}`);
    else if (first !== undefined) faults.push(`${location}: repeats ${first.location}`);
    else lines.set(text, { location, grant });
  }
  const repeated = (keyOf: (grant: Grant) => string) =>
    [...Map.groupBy(lines.values(), ({ grant }) => keyOf(grant)).values()].filter(({ length }) => length > 1);
  const [byName, byHash] = [repeated(({ name }) => name), repeated(({ hash }) => hash)];
  const locationsOf = (group: (typeof byName)[number]): string => group.map(({ location }) => location).join(' and ');
  for (const group of byName) faults.push(`${locationsOf(group)}: several tokens are named "${group[0]?.grant.name}"`);
  for (const group of byHash) faults.push(`${locationsOf(group)}: the hashes are the same`);
  const refused = new Set([...byName, ...byHash].flat());
  const grants = [...lines.values()].filter((line) => !refused.has(line)).map(({ grant }) => grant);
  return { grants, faults };
}

/** Splits at line breaks and semicolons, without comments. */
const entriesOf = ({ name, text }: TokenSource): readonly { readonly location: string; readonly text: string }[] =>
  text.split('\n').flatMap((line, index) => {
    if (line.trim().startsWith('#')) return [];
    const parts = line.split(';').map((part) => part.trim());
    const location = `${name}: line ${index + 1}`;
    return parts
      .map((part, at) => ({ text: part, location: parts.length > 1 ? `${location}, entry ${at + 1}` : location }))
      .filter((entry) => entry.text !== '');
  });

function parseGrant(line: string): Grant | undefined {
  const { name = '', words: text = '', hash = '' } = LINE.exec(line)?.groups ?? {};
  const words = text.trim().split(/\s+/);
  const claims = words.flatMap((word) => (word.startsWith(CLAIM) ? word.slice(CLAIM.length) : []));
  const others = words.filter((word) => !word.startsWith(CLAIM)).map((word) => word.split('='));
  const given = new Map(others.map(([word = '', value = '']) => [word, value]));
  const role = given.get('role');
  const isKnown =
    given.size === others.length && others.every(([word = '', , ...more]) => KNOWN.has(word) && more.length === 0);
  if (name === '' || !isKnown || claims.some((claim) => !/^[^=]+=/.test(claim))) return undefined;
  if (role !== undefined) return given.size > 1 ? undefined : { name, hash, role, claims: parseClaims(claims) };
  if (claims.length > 0) return undefined;
  const typesAt = (word: string): TypeNames => parseTypes(given.get(word));
  return { name, read: typesAt('read'), write: typesAt('write'), history: typesAt('history'), hash };
}

const KNOWN: ReadonlySet<string> = new Set(['role', 'read', 'write', 'history']);

function wordMeantIn(line: string): string {
  const words = line.split(/\s+/).flatMap((text) => /^([^=:]+)=/.exec(text)?.[1] ?? []);
  const unknown = words.find((word) => !KNOWN.has(word) && word !== 'sha256') ?? '';
  return didYouMean(unknown, [...KNOWN, 'sha256']);
}

export type Grants = ReadonlyMap<string, Grant>;

export const grantsByHash = (grants: readonly Grant[]): Grants => new Map(grants.map((grant) => [grant.hash, grant]));

/** The time says nothing of the tokens: nobody can choose the hash that is looked up. */
export const grantOf = (token: string, grants: Grants): Grant | undefined => grants.get(hashOf(token));
