/** Positions in the log of changes, and what follows one. */
import { faultyRequest, Problem } from '../../problem.ts';

/** Names a position in one log: after another backup is restored, its positions may be given twice. `log`: its number. */
export const cursorOf = (log: string, position: number): string => `${log}-${position}`;

const CURSOR = /^(\d{1,19})-(0|[1-9]\d{0,15})$/;

/** Throws `invalid-query` if a text is no cursor, and `cursor-expired` if it is one of another log. */
export function positionIn(cursor: string, log: string, parameter = 'after'): number {
  const [, known, position] = CURSOR.exec(cursor) ?? [];
  const message = `${parameter} is not a cursor: send the "next" of an answer, or the "cursor" of an entry`;
  if (known === undefined) throw faultyRequest('invalid-query', [{ parameter, code: 'malformed', message }]);
  if (known !== log) throw cursorExpired('the database was replaced');
  return Number(position);
}

export const cursorExpired = (why: string): Problem =>
  new Problem(
    'cursor-expired',
    `The cursor cannot be followed: ${why}. Take "next" of after=now, read the lists again, and go on from there`,
  );
