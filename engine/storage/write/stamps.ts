/** Values that the service fills in: the time of a write, and the name of its token. */
import type { Generated, SqlValue } from '../../field-types/field-type.ts';
import { escapeStep } from '../../json/json.ts';
import type { Field } from '../../model/model.ts';
import { type Column, DATABASE_TIME, encode, foldedText } from '../columns.ts';
import { isSaid, type Node, type WriteSession } from './session.ts';

/** The author and the time of a request. */
export interface Stamp {
  /** The name of the token; null without tokens. */
  readonly author: string | null;
  /** The time of defaults, the same whenever it is asked for. */
  now(): Date;
  /** Of generated fields, where the time is not that of the database. */
  readonly given: (() => Date) | undefined;
}

/** Tells the time. */
export type Clock = () => Date;

export function createStamp(clock: Clock | undefined, author: string | null): Stamp {
  let time: Date | undefined;
  const now = (): Date => (time ??= clock?.() ?? new Date());
  return { author, now, given: clock && now };
}

const isByName: Readonly<Record<Generated, boolean>> = {
  createdAt: false,
  updatedAt: false,
  createdBy: true,
  updatedBy: true,
};

/** The value that fills a field. */
function valueOf({ stamp, dialect }: Pick<WriteSession, 'stamp' | 'dialect'>, field: Field): SqlValue {
  const { generated } = field;
  if (generated !== undefined && isByName[generated]) return stamp.author;
  if (generated !== undefined && !stamp.given) return DATABASE_TIME;
  return encode(field, dialect, field.type.now?.(stamp.now()) ?? null);
}

const WITH_CHANGES: ReadonlySet<unknown> = new Set<Generated>(['updatedAt', 'updatedBy']);

/** The fields that are filled when a record is made, and when one of its columns changes. */
export interface FilledFields {
  readonly made: readonly Field[];
  readonly changed: readonly Field[];
  /** The columns of `changed`, each followed by that of its folded text. */
  readonly stamped: readonly string[];
  /** Those of `changed` that have such a column. */
  readonly folded: ReadonlySet<Field>;
}

export function filledFields(columns: readonly Column[]): FilledFields {
  const fields = columns.flatMap(({ field }) => field ?? []);
  const changed = fields.filter(({ generated }) => WITH_CHANGES.has(generated));
  const beside = new Map(columns.flatMap(({ folds, name }) => (folds ? [[folds, name] as const] : [])));
  return {
    made: fields.filter(({ generated, isNowByDefault }) => generated !== undefined || isNowByDefault),
    changed,
    stamped: changed.flatMap((field) => [field.column, beside.get(field) ?? []].flat()),
    folded: new Set(changed.filter((field) => beside.has(field))),
  };
}

/** Gives new records what they do not say themselves. Only seeds and imports can say what is generated. */
export function fillNew(session: WriteSession): void {
  for (const node of session.made) fill(session, node, node.table.filled.made);
}

/** Stamps records that are there, and of which a column changes. */
export function stampChanged(session: WriteSession, changed: readonly Node[]): void {
  for (const node of changed) {
    const { filled } = node.table;
    for (const { column } of filled.changed) node.assigned.delete(column);
    fill(session, node, filled.changed);
  }
}

function fill(session: WriteSession, node: Node, fields: readonly Field[]): void {
  for (const field of fields) {
    if (isSaid(node, field.column)) continue;
    const pointer = `${node.pointer}/${escapeStep(field.name)}`;
    node.assigned.set(field.column, { value: valueOf(session, field), pointer, byOmission: false });
  }
}

/** The values of `stamped`. */
export const stampValues = (
  session: Pick<WriteSession, 'stamp' | 'dialect'>,
  { changed, folded }: FilledFields,
): readonly SqlValue[] =>
  changed.flatMap((field) => {
    const value = valueOf(session, field);
    return folded.has(field) ? [value, foldedText(value)] : [value];
  });
