/** Violations of constraints while a plan is applied: which record of the body, and which field, a rule refuses. */
import { escapeStep } from '../../json/json.ts';
import { canFollow } from '../../model/rights.ts';
import { faultyRequest, Problem, reasonOf } from '../../problem.ts';
import { columnOf } from '../columns.ts';
import { ConstraintError, type Reader } from '../driver.ts';
import { RefusedByOthers } from '../unavailable.ts';
import type { RowChange } from './plan.ts';
import type { WriteSession } from './session.ts';

/** A rule of others refuses this row. `change`: undefined for a row of a join table. */
export class RefusedRow extends RefusedByOthers {
  readonly change: RowChange | undefined;

  constructor({ message, cause, place, code }: RefusedByOthers, change: RowChange | undefined, pointer: string) {
    super(message, cause, place, code, [{ pointer, code: 'refused', message }]);
    this.change = change;
  }
}

export const isViolation = (error: unknown): boolean =>
  error instanceof ConstraintError || error instanceof RefusedByOthers;

const NOT_UNIQUE = 'Another record has a value that must be unique';

/** The plan has refused what the rules of the model forbid. What the database refuses all the same is up to others. */
export function explained(
  session: Pick<WriteSession, 'isSearched'>,
  error: unknown,
  changes: readonly RowChange[],
  pointer: string,
): unknown {
  if (error instanceof ConstraintError && error.kind === 'too-long')
    return tooLongForIndex(changes, error.place.constraint);
  const refused = refusalOf(session, error);
  return refused && changes.length < 2 ? new RefusedRow(refused, changes[0], pointer) : (refused ?? error);
}

/** Reports the longest value of the index, or of all indexes if its name is unknown. */
function tooLongForIndex(changes: readonly RowChange[], name: string | undefined): Problem {
  const values = changes.flatMap(({ type, set, at }) => {
    const named = type.indexes.filter((index) => index.name === name);
    const members = (named.length > 0 ? named : type.indexes).flatMap((index) => index.members);
    return members.map((member) => {
      const value = set.get(columnOf(member));
      return { pointer: `${at}/${escapeStep(member.name)}`, length: typeof value === 'string' ? value.length : 0 };
    });
  });
  const longest = values.toSorted((a, b) => b.length - a.length)[0];
  const message =
    'The value is too long for an index of the database, which holds about 2,700 bytes; send a shorter one';
  return longest
    ? faultyRequest('invalid-body', [{ pointer: longest.pointer, code: 'too-long', message }])
    : new Problem('invalid-body', message);
}

function refusalOf({ isSearched }: Pick<WriteSession, 'isSearched'>, error: unknown): RefusedByOthers | undefined {
  if (error instanceof RefusedByOthers) return error;
  if (!(error instanceof ConstraintError)) return undefined;
  const { kind, cause, place } = error;
  if (kind === 'reference') return new RefusedByOthers(reasonOf(cause), cause, place);
  return kind === 'unique' && isSearched ? new RefusedByOthers(NOT_UNIQUE, cause, place, 'unique-conflict') : undefined;
}

/** Names the field, if the rule is about the column of one. */
export async function located(
  refused: RefusedRow,
  { tables, rights }: Pick<WriteSession, 'tables' | 'rights'>,
  reader: Reader,
): Promise<Problem> {
  const { change, place, message, code, cause } = refused;
  if (!change) return refused;
  const columns =
    place.column === undefined && place.constraint !== undefined
      ? await reader.column(tables.constrained, [change.type.table, place.constraint])
      : [place.column ?? null];
  const column = columns.length === 1 ? tables.of(change.type).columnOf.get(String(columns[0])) : undefined;
  const relation = column?.reference?.relation;
  const member = column?.field ?? (relation && canFollow(rights, relation) ? relation : undefined);
  if (!member) return refused;
  const pointer = `${change.at}/${escapeStep(member.name)}`;
  return new Problem(code, message, { cause, errors: [{ pointer, code: 'refused', message }] });
}
