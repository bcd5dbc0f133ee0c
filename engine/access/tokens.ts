/** Tokens: made here, kept as hashes, one in each line, with what they allow. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Names of types; `all` is every one, those that will be added included. */
export type Types = 'all' | ReadonlySet<string>;

/** What a token allows. Who may write may read. */
export interface Rights {
  readonly read: Types;
  readonly write: Types;
}

export interface Grant extends Rights {
  /** What people call it: shown in logs, never the token. */
  readonly name: string;
  /** SHA-256 of the token. It has 256 random bits: nothing slower is needed. */
  readonly hash: Buffer;
}

const LINE = /^(?<name>[\w.@-]{1,64})(?<rights>(?:\s+(?:read|write)=[^\s=]+){1,2})\s+sha256=(?<hash>[0-9a-f]{64})$/;
const NOTHING: Types = new Set();

export const createToken = (): string => `rec_${randomBytes(32).toString('base64url')}`;

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export function tokenLine({ name, read, write }: Rights & { readonly name: string }, token: string): string {
  const rights = [
    ...(size(read) === 0 ? [] : [`read=${written(read)}`]),
    ...(size(write) === 0 ? [] : [`write=${written(write)}`]),
  ];
  return [name, ...rights, `sha256=${hashOf(token).toString('hex')}`].join(' ');
}

const size = (types: Types): number => (types === 'all' ? 1 : types.size);
const written = (types: Types): string => (types === 'all' ? '*' : [...types].join());

export const parseTypes = (text: string): Types =>
  text === '*' ? 'all' : new Set(text.split(',').map((name) => name.trim().normalize('NFC')));

/** Lines or, in one line, parts between semicolons; empty ones and those that begin with # say nothing. */
export function parseGrants(text: string): { readonly grants: readonly Grant[]; readonly faults: readonly string[] } {
  const lines = text.split(/[\n;]/).map((line, index) => ({ line: line.trim(), number: index + 1 }));
  const said = lines.filter(({ line }) => line !== '' && !line.startsWith('#'));
  const parsed = said.map(({ line, number }) => parseGrant(line) ?? `line ${number}: ${EXPECTED}`);
  const grants = parsed.filter((one) => typeof one !== 'string');
  const names = grants.map(({ name }) => name);
  const doubled = names.filter((name, index) => names.indexOf(name) !== index);
  const faults = parsed.filter((one) => typeof one === 'string');
  return { grants, faults: [...faults, ...doubled.map((name) => `two tokens are called "${name}"`)] };
}

const EXPECTED = 'expected NAME read=TYPES write=TYPES sha256=HASH, as "records token" prints it';

function parseGrant(line: string): Grant | undefined {
  const { name = '', rights = '', hash = '' } = LINE.exec(line)?.groups ?? {};
  if (name === '') return undefined;
  const said = rights
    .trim()
    .split(/\s+/)
    .map((part) => part.split('=', 2));
  const typesOf = (right: string): Types => {
    const text = said.find(([word]) => word === right)?.[1];
    return text === undefined ? NOTHING : parseTypes(text);
  };
  return { name, read: typesOf('read'), write: typesOf('write'), hash: Buffer.from(hash, 'hex') };
}

/** Every grant is compared, and each in constant time. */
export function grantOf(token: string, grants: readonly Grant[]): Grant | undefined {
  const hash = hashOf(token);
  const same = grants.map((grant) => timingSafeEqual(grant.hash, hash));
  return grants[same.indexOf(true)];
}
