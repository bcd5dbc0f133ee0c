/** Creates tokens, and parses lines of token hashes with their rights. */
import * as crypto from 'node:crypto';
import type { Granted, TypeNames } from '../model/rights.ts';

export interface Grant extends Granted {
  /** For logs; the token is secret. */
  readonly name: string;
  /** SHA-256: a token of 256 random bits needs no slow hash. */
  readonly hash: string;
}

const LINE = /^(?<name>[\w.@-]{1,64})(?<rights>(?:\s+(?:read|write)=[^\s=]+){1,2})\s+sha256=(?<hash>[0-9a-f]{64})$/;
const EXPECTED = 'expected NAME read=TYPES write=TYPES sha256=HASH, as "records token" prints it';
const NOTHING: TypeNames = new Set();

export const createToken = (): string => `rec_${crypto.randomBytes(32).toString('base64url')}`;

const hashOf = (token: string): string => crypto.hash('sha256', token);

export function tokenLine({ name, read, write }: Granted & { readonly name: string }, token: string): string {
  const rights = Object.entries({ read, write }).flatMap(([right, types]) =>
    types === 'all' ? `${right}=*` : types.size === 0 ? [] : `${right}=${[...types].join()}`,
  );
  return [name, ...rights, `sha256=${hashOf(token)}`].join(' ');
}

export const parseTypes = (text: string): TypeNames =>
  text === '*' ? 'all' : new Set(text.split(',').map((name) => name.trim().normalize('NFC')));

interface TokenSource {
  readonly name: string;
  readonly text: string;
}

/**
 * Lines that share a name or a hash give no access: a line meant to replace another would have no effect. Faults omit
 * the line: it may contain a token.
 */
export function parseGrants(...sources: readonly TokenSource[]) {
  const faults: string[] = [];
  const lines = new Map<string, { readonly location: string; readonly grant: Grant }>();
  for (const { location, text } of sources.flatMap(entriesOf)) {
    const grant = parseGrant(text);
    const first = lines.get(text);
    if (grant === undefined) faults.push(`${location}: ${EXPECTED}`);
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
  const { name = '', rights = '', hash = '' } = LINE.exec(line)?.groups ?? {};
  const words = rights.trim().split(/\s+/);
  const types = new Map(words.map((word) => word.split('=', 2)).map(([right, text = '']) => [right, parseTypes(text)]));
  if (name === '' || types.size < words.length) return undefined;
  const [read = NOTHING, write = NOTHING] = [types.get('read'), types.get('write')];
  return { name, read, write, hash };
}

export type Grants = ReadonlyMap<string, Grant>;

export const grantsByHash = (grants: readonly Grant[]): Grants => new Map(grants.map((grant) => [grant.hash, grant]));

/** The time says nothing of the tokens: nobody can choose the hash that is looked up. */
export const grantOf = (token: string, grants: Grants): Grant | undefined => grants.get(hashOf(token));
