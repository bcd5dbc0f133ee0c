/** How much a body may hold, besides bytes: what is small to send may be dear to look at. */
import { Problem } from '../problem.ts';

export interface BodyLimits {
  /** Levels of objects and arrays. */
  readonly bodyDepth: number;
  /** Keys, at all levels. */
  readonly bodyKeys: number;
  /** Items of one array. */
  readonly bodyItems: number;
}

export function refuseTooMuch(found: Omit<BodyLimits, 'bodyDepth'>, limits: BodyLimits): void {
  if (found.bodyKeys > limits.bodyKeys) throw tooMuch(`${found.bodyKeys} keys`, limits.bodyKeys);
  if (found.bodyItems > limits.bodyItems) throw tooMuch(`an array of ${found.bodyItems} items`, limits.bodyItems);
}

const tooMuch = (what: string, limit: number): Problem =>
  new Problem('content-too-large', `The body has ${what}; at most ${limit} are taken`);

/** Of a body that is refused before all of it is there. */
export const tooManyKeys = (limit: number): Problem => tooMuch(`more than ${limit} keys`, limit);
