/** Answers over HTTP: adapters build them from results of operations, and `send` writes them. */
import { canRead, type Rights } from '../model/rights.ts';
import type { WriteResult } from '../operations/operation.ts';
import { asNamed, isKnown, type Preconditions } from '../operations/preconditions.ts';
import { JSON_TYPE } from '../operations/table.ts';
import type { EffectKind, WriteEffect } from '../storage/store.ts';

export type HeaderMap = Readonly<Record<string, string>>;

export interface Answer {
  readonly status: number;
  readonly headers: HeaderMap;
  /** Text is sent whole, with its length; pieces are sent as they come; undefined is no content at all. */
  readonly body: string | AsyncIterable<string> | undefined;
}

const JSON_CONTENT: HeaderMap = Object.freeze({ 'Content-Type': JSON_TYPE });

/** Of a read: the text, or 304 if the client has it already. Without a tag it is always the text. */
export function readAnswer(
  given: Preconditions,
  body: Answer['body'],
  tag: string | undefined,
  headers: HeaderMap = JSON_CONTENT,
): Answer {
  if (tag === undefined) return { status: 200, headers, body };
  if (isKnown(given, tag))
    return { status: 304, headers: { ETag: asNamed(given.ifNoneMatch ?? '', tag) }, body: undefined };
  // Most reads: a literal costs a fraction of a spread.
  if (headers === JSON_CONTENT) return { status: 200, headers: { 'Content-Type': JSON_TYPE, ETag: tag }, body };
  return { status: 200, headers: { ...headers, ETag: tag }, body };
}

/** Of a write, or the report of its dry run. `url` is that of the collection. */
export function writeAnswer(
  { status, json, tag, created, effects }: WriteResult,
  url: string,
  applied: HeaderMap,
  rights: Rights,
): Answer & { readonly body: string | undefined } {
  const headers = {
    ...(created === undefined ? {} : { Location: `${url}/${created}` }),
    ...(tag === undefined ? {} : { ETag: tag }),
    ...applied,
  };
  if (effects)
    return {
      status: status === 204 ? 200 : status,
      headers: REPORT_CONTENT,
      body: report(status, headers, json, effects, rights),
    };
  if (json === undefined) return { status, headers, body: status === 204 ? undefined : '' };
  return { status, headers: { ...JSON_CONTENT, ...headers }, body: json };
}

// The report of a dry run: what the write would have answered, and what it would have done to which records.

/** A media type of its own, so that no client takes the report for the answer. */
export const DRY_RUN_TYPE = 'application/vnd.dry-run+json';
const REPORT_CONTENT: HeaderMap = { 'Content-Type': DRY_RUN_TYPE };

/** The headers of the answer are inside the report: nothing is at its location, and nothing has its tag. */
function report(
  status: number,
  headers: HeaderMap,
  json: string | undefined,
  effects: readonly WriteEffect[],
  rights: Rights,
): string {
  const answer = `{"status":${status},"headers":${JSON.stringify(headers)},"body":${json ?? 'null'}}`;
  const shown = KINDS.flatMap((kind) => shownOf(kind, effects, rights));
  return `{"dryRun":true,"answer":${answer},"effects":${JSON.stringify(shown)}}`;
}

/** In the order of the report. */
const KINDS: readonly EffectKind[] = ['created', 'changed', 'linked', 'unlinked', 'deleted'];

const orderOf = ({ type, relation = '' }: WriteEffect): string => `${type} ${relation}`;

/** Types that the token may not read count as one, of which clients learn the number only. */
function shownOf(kind: EffectKind, effects: readonly WriteEffect[], rights: Rights): readonly object[] {
  const isSeen = ({ type }: WriteEffect): boolean => canRead(rights, type);
  const all = effects.filter((one) => one.kind === kind);
  const known = all.filter(isSeen).toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const count = all.reduce((sum, one) => (isSeen(one) ? sum : sum + one.count), 0);
  return [
    ...known.map(({ type, relation, keys, identifiers, ...one }) => ({
      effect: kind,
      type,
      ...(relation === undefined ? {} : { relation }),
      ...(keys.length > 0 ? { keys } : {}),
      count: one.count,
      identifiers,
    })),
    ...(count > 0 ? [{ effect: kind, type: null, count }] : []),
  ];
}
