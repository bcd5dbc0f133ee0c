/** Violations of constraints while a plan is applied: which record of the body, and which field, a rule refuses. */
import { escapeStep } from '../../json/json.ts';
import { canFollow } from '../../model/rights.ts';
import { Problem, reasonOf } from '../../problem.ts';
import { ConstraintError, type Reader } from '../driver.ts';
import { RefusedByOthers } from '../unavailable.ts';
import { tooLongForIndex } from './conflicts.ts';
import type { Node, WriteSession } from './session.ts';

/** A rule of others refuses this row. `node`: undefined for a row of a join table. */
export class RefusedRow extends RefusedByOthers {
  readonly node: Node | undefined;

  constructor({ message, cause, place, code }: RefusedByOthers, node: Node | undefined, pointer: string) {
    super(message, cause, place, code, [{ pointer, code: 'refused', message }]);
    this.node = node;
  }
}

export const isViolation = (error: unknown): boolean =>
  error instanceof ConstraintError || error instanceof RefusedByOthers;

const NOT_UNIQUE = 'Another record has a value that must be unique';

/** The plan has refused what the rules of the model forbid. What the database refuses all the same is up to others. */
export function explained(session: WriteSession, error: unknown, nodes: readonly Node[], pointer: string): unknown {
  if (error instanceof ConstraintError && error.kind === 'too-long')
    return tooLongForIndex(nodes, error.place.constraint);
  const refused = refusalOf(session, error);
  return refused && nodes.length < 2 ? new RefusedRow(refused, nodes[0], pointer) : (refused ?? error);
}

function refusalOf({ isSearched }: WriteSession, error: unknown): RefusedByOthers | undefined {
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
  const { node, place, message, code, cause } = refused;
  if (!node) return refused;
  const columns =
    place.column === undefined && place.constraint !== undefined
      ? await reader.column(tables.constrained, [node.type.table, place.constraint])
      : [place.column ?? null];
  const column = columns.length === 1 ? node.table.columnOf.get(String(columns[0])) : undefined;
  const relation = column?.reference?.relation;
  const member = column?.field ?? (relation && canFollow(rights, relation) ? relation : undefined);
  if (!member) return refused;
  const pointer = `${node.pointer}/${escapeStep(member.name)}`;
  return new Problem(code, message, { cause, errors: [{ pointer, code: 'refused', message }] });
}
