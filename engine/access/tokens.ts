/** Creates tokens, and parses lines of token hashes with their rights. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Granted, TypeNames } from '../model/rights.ts';

export interface Grant extends Granted {
  /** Shown in logs, unlike the token. */
  readonly name: string;
  /** SHA-256 of the token, which has 256 random bits, so that a slow hash is not needed. */
  readonly hash: Buffer;
}

const LINE = /^(?<name>[\w.@-]{1,64})(?<rights>(?:\s+(?:read|write)=[^\s=]+){1,2})\s+sha256=(?<hash>[0-9a-f]{64})$/;
const NOTHING: TypeNames = new Set();

export const createToken = (): string => `rec_${randomBytes(32).toString('base64url')}`;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export function tokenLine({ name, read, write }: Granted & { readonly name: string }, token: string): string {
  const rights = [
    ...(size(read) === 0 ? [] : [`read=${written(read)}`]),
    ...(size(write) === 0 ? [] : [`write=${written(write)}`]),
  ];
  return [name, ...rights, `sha256=${hashOf(token).toString('hex')}`].join(' ');
}

const size = (types: TypeNames): number => (types === 'all' ? 1 : types.size);
const written = (types: TypeNames): string => (types === 'all' ? '*' : [...types].join());

export const parseTypes = (text: string): TypeNames =>
  text === '*' ? 'all' : new Set(text.split(',').map((name) => name.trim().normalize('NFC')));

/** A file or a setting with token lines: its name and its text. */
interface TokenSource {
  readonly name: string;
  readonly text: string;
}

export interface ParsedGrants {
  /** Of the well-formed lines that do not conflict with others. */
  readonly grants: readonly Grant[];
  /** One for each faulty line, with its location but without its text, which may contain a token. */
  readonly faults: readonly string[];
}

interface TokenLine {
  readonly place: string;
  readonly text: string;
}

type GrantLine = TokenLine & { readonly grant: Grant };

/**
 * A faulty line gives no access. Neither do lines that share a name or a hash: if the first one won, a line meant to
 * replace it would have no effect.
 */
export function parseGrants(...sources: readonly TokenSource[]): ParsedGrants {
  const entries = sources.flatMap(entriesOf);
  const parsed = entries.map((entry) => ({ ...entry, grant: parseGrant(entry.text) }));
  const malformed = parsed.filter(({ grant }) => grant === undefined).map(({ place }) => `${place}: ${EXPECTED}`);
  const granted = parsed.filter((entry): entry is GrantLine => entry.grant !== undefined);
  const { single, repeated } = withoutRepeated(granted);
  const byName = rivals(single, ({ name }) => name);
  const byHash = rivals(single, ({ hash }) => hash.toString('hex'));
  const contested = new Set([...byName, ...byHash].flat());
  return {
    grants: single.filter((entry) => !contested.has(entry)).map(({ grant }) => grant),
    faults: [
      ...malformed,
      ...repeated,
      ...byName.map((group) => `${placesOf(group)}: several tokens are named "${group[0]?.grant.name}"`),
      ...byHash.filter(haveSeveralNames).map((group) => `${placesOf(group)}: the hashes are the same`),
    ],
  };
}

/** Splits lines and semicolons. Skips empty entries and lines that start with #. */
const entriesOf = ({ name, text }: TokenSource): readonly TokenLine[] =>
  text.split('\n').flatMap((line, index) => {
    if (line.trim().startsWith('#')) return [];
    const parts = line.split(';').map((part) => part.trim());
    return parts
      .map((part, at) => ({
        text: part,
        place: `${name}: line ${index + 1}${parts.length > 1 ? `, entry ${at + 1}` : ''}`,
      }))
      .filter((entry) => entry.text !== '');
  });

/** A repeated line counts once. */
function withoutRepeated(entries: readonly GrantLine[]): {
  readonly single: readonly GrantLine[];
  readonly repeated: readonly string[];
} {
  const first = new Map<string, GrantLine>();
  for (const entry of entries) if (!first.has(entry.text)) first.set(entry.text, entry);
  const single = [...first.values()];
  const kept = new Set(single);
  const repeated = entries
    .filter((entry) => !kept.has(entry))
    .map(({ place, text }) => `${place}: repeats ${first.get(text)?.place}`);
  return { single, repeated };
}

function rivals(entries: readonly GrantLine[], keyOf: (grant: Grant) => string): readonly (readonly GrantLine[])[] {
  const groups = new Map<string, GrantLine[]>();
  for (const entry of entries) {
    const key = keyOf(entry.grant);
    const group = groups.get(key);
    if (group) group.push(entry);
    else groups.set(key, [entry]);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

const haveSeveralNames = (group: readonly GrantLine[]): boolean =>
  new Set(group.map(({ grant }) => grant.name)).size === group.length;
const placesOf = (group: readonly GrantLine[]): string => group.map(({ place }) => place).join(' and ');

const EXPECTED = 'expected NAME read=TYPES write=TYPES sha256=HASH, as "records token" prints it';

function parseGrant(line: string): Grant | undefined {
  const { name = '', rights = '', hash = '' } = LINE.exec(line)?.groups ?? {};
  if (name === '') return undefined;
  const said = rights
    .trim()
    .split(/\s+/)
    .map((part) => part.split('=', 2));
  if (new Set(said.map(([word]) => word)).size < said.length) return undefined;
  const typesOf = (right: string): TypeNames => {
    const text = said.find(([word]) => word === right)?.[1];
    return text === undefined ? NOTHING : parseTypes(text);
  };
  return { name, read: typesOf('read'), write: typesOf('write'), hash: Buffer.from(hash, 'hex') };
}

/** Compares every grant in constant time, so that the time reveals nothing. */
export function grantOf(token: string, grants: readonly Grant[]): Grant | undefined {
  const hash = hashOf(token);
  const same = grants.map((grant) => timingSafeEqual(grant.hash, hash));
  return grants[same.indexOf(true)];
}
