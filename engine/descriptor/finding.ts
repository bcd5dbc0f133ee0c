/** A fault inside a descriptor, before its place is looked up. */
import type { DiagnosticCode } from '../diagnostic.ts';
import { shortened } from '../names.ts';
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
export const quoted = (value: unknown): string => shortened(JSON.stringify(value) ?? String(value), MAX_SHOWN);

/** `"a", "b" or "c"`. */
export function anyOf(names: readonly string[]): string {
  const all = names.map((name) => quoted(name));
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}
