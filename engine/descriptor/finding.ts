/** A fault inside a descriptor, before its place is looked up. */
import type { DiagnosticCode } from '../diagnostic.ts';
import type { At, Path } from './source.ts';

export interface Finding {
  readonly code: DiagnosticCode;
  readonly path: Path;
  readonly at: At;
  readonly message: string;
}

export const finding = (code: DiagnosticCode, path: Path, at: At, message: string): Finding => ({
  code,
  path,
  at,
  message,
});

const MAX_SHOWN = 60;

/** A name or value in a message: quoted as in JSON, and cut where it is long. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}…`;
}

/** `"a", "b" or "c"`. */
export function anyOf(names: readonly string[]): string {
  const all = names.map((name) => quoted(name));
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}
