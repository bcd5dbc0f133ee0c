/** Answers as text in which identifiers are renamed in the order in which they appear: two databases count with different gaps. */
import type { Model, RecordType } from '../../engine/model/model.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import type { ReceivedAnswer } from '../oracle/client.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
}

/** Everything of an answer that must be the same wherever the records are kept. */
export type Rename = (sent: Sent, answer: ReceivedAnswer) => string;

/** The new name of a record. */
type NameOf = (type: RecordType, identifier: string) => string;

/** Of records, by the interface itself or by a dialect. */
const PATH = new RegExp(`^/(?:api|${readSettings({}).dialects.join('|')})/([^/?]+)`);

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[-+.\deE]*|null|[{}[\],]/g;
/** They tell the time, the connection and the request apart, or follow from the bytes of the body. */
const OTHER_HEADERS = new Set(['date', 'connection', 'keep-alive', 'content-length', 'x-request-id', 'etag']);

export function createRenamer(model: Model): Rename {
  const known = new Map<string, number>();
  const nameOf: NameOf = (type, identifier) => {
    const key = `${type.name} ${identifier}`;
    known.set(key, known.get(key) ?? known.size);
    return `#${known.get(key)}`;
  };
  const byPath = new Map([...model.types.values()].map((type) => [encodeURIComponent(type.path), type]));
  const inWords = wordsRenamer(model, byPath, nameOf);
  const inSummary = summaryRenamer(model);
  return (sent, { status, headers, text }) => {
    const [, path = ''] = PATH.exec(sent.path) ?? [];
    const type = byPath.get(path);
    const problem = headers['content-type'] === 'application/problem+json';
    const kept = Object.keys(headers).filter((name) => !OTHER_HEADERS.has(name));
    const lines = kept.toSorted().map((name) => `${name}: ${inWords(withoutQuery(headers[name] ?? ''))}`);
    const bodyOf = sent.path.includes('/$summary') ? inSummary : bodyRenamers(headers['content-type'] ?? '');
    const body = problem || !type ? inWords(text) : bodyOf(text, type, nameOf);
    return [status, ...lines, headers['etag'] === undefined ? '' : 'tagged', body].join('\n');
  };
}

/** Addresses repeat the identifiers that were asked for, and a cursor holds the one at which it stands. */
export const withoutQuery = (value: string): string =>
  value.replaceAll(/\?[^>]*/g, (query) => query.replaceAll(/\b(after|before)=[^&]*/g, '$1=…').replaceAll(/\d+/g, '…'));

const OWN_IDENTIFIER = /(?<=The identifier of this record is )\d+/g;
/** `Zone 5, 6`, `/api/zones/5`, but neither `/api/zones/5.5`, which is not an identifier, nor `Line 5:` of a table. */
const NAMED =
  /(?:(?<![\p{L}\p{N}_])([\p{L}_][\p{L}\p{N}_]*) |\/api\/([^/?"\s]+)\/(?=\d+(?:["/?\s>\\]|$)))(\d+(?:, \d+)*)(?![\d:])/gu;

/** The records in the way of a write, as problems name them. */
const IN_THE_WAY = /(?<="type":")([^"]+)(","identifier":)(\d+)/g;

function wordsRenamer(
  { types }: Model,
  byPath: ReadonlyMap<string, RecordType>,
  nameOf: NameOf,
): (text: string) => string {
  const renamed = (all: string, name: string | undefined, path: string | undefined): string => {
    const type = types.get(name ?? '') ?? byPath.get(path ?? '');
    return type ? all.replaceAll(/\b\d+\b/g, (identifier) => nameOf(type, identifier)) : all;
  };
  const inTheWay = (all: string, name: string, between: string, identifier: string): string => {
    const type = types.get(name);
    return type ? `${name}${between}${nameOf(type, identifier)}` : all;
  };
  return (text) => text.replaceAll(OWN_IDENTIFIER, '…').replaceAll(NAMED, renamed).replaceAll(IN_THE_WAY, inTheWay);
}

/** Of groups: `"id":5`, `"zone.id":5` and `"max(id)":5`, of whatever type. */
function summaryRenamer({ types }: Model): RenameBody {
  const names = [...types.values()].map(({ identifier }) => identifier.name).join('|');
  const keyed = new RegExp(`("(?:\\w+\\()?(?:[^"()]*\\.)?(?:${names})\\)?":)\\d+`, 'gu');
  return (text) => text.replaceAll(keyed, '$1…');
}

type RenameBody = (text: string, type: RecordType, nameOf: NameOf) => string;

function bodyRenamers(contentType: string): RenameBody {
  if (contentType === 'application/vnd.dry-run+json') return withoutIdentifiers;
  return contentType.startsWith('text/csv') ? csv : json;
}

/** What a dry run makes is gone: on one database, the next record gets its identifier. */
const withoutIdentifiers: RenameBody = (text) => {
  const { answer, effects } = JSON.parse(text) as {
    readonly answer: { readonly status: number };
    readonly effects: readonly { readonly identifiers?: readonly number[] }[];
  };
  return JSON.stringify([answer.status, effects.map(({ identifiers, ...effect }) => [effect, identifiers?.length])]);
};

const csv: RenameBody = (text, type, nameOf) =>
  text.replaceAll(/^\d+(?=[,\r])/gm, (identifier) => nameOf(type, identifier));

interface Level {
  /** Of the object, or of the objects in the array; undefined where they are no records. */
  readonly type: RecordType | undefined;
  readonly isObject: boolean;
  /** Before the value that it names. */
  key: string | undefined;
}

/** The text itself, so that the order of keys and the spelling of numbers count; lines of NDJSON alike. */
const json: RenameBody = (text, root, nameOf) => {
  const levels: Level[] = [];
  return text.replaceAll(TOKENS, (token) => {
    const level = levels.at(-1);
    if (OPENING.has(token)) levels.push({ type: typeBelow(level, root), isObject: token === '{', key: undefined });
    else if (CLOSING.has(token)) levels.pop();
    else if (level?.isObject) return inObject(level, token, nameOf);
    return token;
  });
};

const OPENING = new Set(['{', '[']);
const CLOSING = new Set(['}', ']']);

function typeBelow(level: Level | undefined, root: RecordType): RecordType | undefined {
  if (!level) return root;
  return level.isObject ? level.type?.relations.get(level.key ?? '')?.target : level.type;
}

function inObject(level: Level, token: string, nameOf: NameOf): string {
  const { type, key } = level;
  if (token === ',') level.key = undefined;
  else if (key === undefined) level.key = JSON.parse(token);
  else if (type?.identifier.name === key) return nameOf(type, token);
  return token;
}
