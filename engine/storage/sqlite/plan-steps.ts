/** What SQLite's EXPLAIN QUERY PLAN says. */
import type { Row } from '../driver.ts';

/** The steps of the statement itself, without those of subqueries that run once for each record shown. */
export function ownSteps(rows: readonly Row[]): readonly string[] {
  const within = new Set<unknown>();
  for (const [id, parent, , detail] of rows)
    if (String(detail).startsWith('CORRELATED') || within.has(parent)) within.add(id);
  return rows.filter(([id]) => !within.has(id)).map(([, , , detail]) => String(detail));
}

export const isSort = (step: string): boolean => step.startsWith('USE TEMP B-TREE');
export const isScan = (step: string): boolean => step.startsWith('SCAN');
