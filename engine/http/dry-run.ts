/** The report of a dry run: what the write would have answered, and what it would have done to which records. */
import type { Model } from '../model/model.ts';
import { DRY_RUN } from '../query/accepted.ts';
import type { WriteEffect, EffectKind } from '../storage/store.ts';
import type { Whole } from './answer.ts';

/** One of its own, so that no client takes the report for the answer. */
export const DRY_RUN_TYPE = 'application/vnd.dry-run+json';

/** Whether the query asks for the report: its media type is then offered, before the rest of the query is read. */
export const asksForReport = (query: string): boolean =>
  query !== '' && new URLSearchParams(query).get(DRY_RUN) === 'true';

/** What clients are told of an effect. Of records that the token may not read, they learn the number only. */
interface ShownEffect {
  readonly effect: EffectKind;
  readonly type: string | null;
  /** Of these records: what is linked or unlinked. */
  readonly relation?: string;
  /** What changes of them. */
  readonly keys?: readonly string[];
  readonly count: number;
  readonly identifiers?: readonly number[];
}

/** In the order in which the report names them. */
const KINDS: readonly EffectKind[] = ['created', 'changed', 'linked', 'unlinked', 'deleted'];

/**
 * The headers of the answer are inside the report: nothing is at its location, and nothing has its tag. `status` is that
 * of an answer with a body.
 */
export function dryRunAnswer(
  status: number,
  { status: own, headers, body }: Whole,
  effects: readonly WriteEffect[],
  seen: Model,
): Whole {
  const { 'Content-Type': _, ...others } = headers;
  const answer = `{"status":${own},"headers":${JSON.stringify(others)},"body":${body || 'null'}}`;
  const shown = KINDS.flatMap((kind) => shownOf(kind, effects, seen));
  return {
    status,
    headers: { 'Content-Type': DRY_RUN_TYPE },
    body: `{"dryRun":true,"answer":${answer},"effects":${JSON.stringify(shown)}}`,
  };
}

const orderOf = ({ type, relation = '' }: WriteEffect): string => `${type} ${relation}`;

/** Types that the token may not read count as one. */
function shownOf(kind: EffectKind, effects: readonly WriteEffect[], { types }: Model): readonly ShownEffect[] {
  const all = effects.filter((one) => one.kind === kind);
  const known = all.filter(({ type }) => types.has(type)).toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const count = all.reduce((sum, one) => (types.has(one.type) ? sum : sum + one.count), 0);
  return [
    ...known.map(({ type, relation, keys, identifiers, ...one }) => ({
      effect: kind,
      type,
      ...(relation !== undefined && types.get(type)?.relations.has(relation) ? { relation } : {}),
      ...(keys.length > 0 ? { keys } : {}),
      count: one.count,
      identifiers,
    })),
    ...(count > 0 ? [{ effect: kind, type: null, count }] : []),
  ];
}
