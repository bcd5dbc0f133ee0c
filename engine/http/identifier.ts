/** The identifier in a path. */
import { Problem } from '../problem.ts';

const FORM = /^[1-9]\d{0,15}$/;

export function parseIdentifier(text: string): number {
  const identifier = Number(text);
  if (FORM.test(text) && Number.isSafeInteger(identifier)) return identifier;
  const message = `"${text.slice(0, 40)}" is not an identifier; expected an integer from 1 to ${Number.MAX_SAFE_INTEGER}`;
  throw new Problem('invalid-identifier', message, {
    errors: [{ parameter: 'id', code: 'invalid-identifier', message }],
  });
}
