/** Documents, made at once. */
import type { JsonObject } from '../../engine/json/json.ts';
import type { Turns } from '../../engine/memo.ts';
import { documentTurns } from '../../engine/openapi/document.ts';

export function atOnce<T>(work: Turns<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

export const createDocument = (...about: Parameters<typeof documentTurns>): JsonObject =>
  atOnce(documentTurns(...about));
