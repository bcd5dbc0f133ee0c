/** The kinds of changes that `records diff` reports. */
import { isDeepStrictEqual } from 'node:util';
import type { Model, RecordType } from '../model/model.ts';
import { match, type Renamed } from '../model/renames.ts';

/** Every kind of change. `breaking`: an existing client may stop working. The manual lists them; a test compares both. */
export const changeKinds = {
  'type-added': { breaking: false },
  'type-removed': { breaking: true },
  'path-changed': { breaking: true },
  'operation-added': { breaking: false },
  'operation-removed': { breaking: true },
  'identifier-renamed': { breaking: true },
  'identifier-hidden': { breaking: true },
  'identifier-shown': { breaking: false },
  'title-changed': { breaking: false },
  'label-changed': { breaking: false },
  'multiline-changed': { breaking: false },
  'order-changed': { breaking: true },
  'limit-lowered': { breaking: true },
  'limit-raised': { breaking: false },
  'count-less-exact': { breaking: true },
  'count-more-exact': { breaking: false },
  opened: { breaking: false },
  closed: { breaking: true },
  'precondition-required': { breaking: true },
  'precondition-relaxed': { breaking: false },
  'precondition-ignored': { breaking: true },
  'unique-added': { breaking: true },
  'unique-removed': { breaking: false },
  'check-added': { breaking: true },
  'check-removed': { breaking: false },
  'variant-added': { breaking: false },
  'variant-removed': { breaking: true },
  'default-variant-changed': { breaking: true },
  'variant-lacks-field': { breaking: true },
  'variant-has-field': { breaking: false },
  'field-added': { breaking: false },
  'required-field-added': { breaking: true },
  'field-removed': { breaking: true },
  'field-renamed': { breaking: true },
  'case-ignored': { breaking: true },
  'case-regarded': { breaking: true },
  'field-type-changed': { breaking: true },
  'field-narrowed': { breaking: true },
  'field-widened': { breaking: false },
  'field-required': { breaking: true },
  'field-optional': { breaking: false },
  'null-refused': { breaking: true },
  'null-answered': { breaking: true },
  'field-read-only': { breaking: true },
  'field-writable': { breaking: false },
  'field-generated': { breaking: true },
  'field-not-generated': { breaking: true },
  'default-changed': { breaking: false },
  'relation-added': { breaking: false },
  'required-relation-added': { breaking: true },
  'relation-removed': { breaking: true },
  'relation-renamed': { breaking: true },
  'relation-kind-changed': { breaking: true },
  'relation-type-changed': { breaking: true },
  'relation-required': { breaking: true },
  'relation-optional': { breaking: true },
  'relation-link-only': { breaking: true },
  'relation-writable': { breaking: false },
  'relation-shows-less': { breaking: true },
  'relation-shows-more': { breaking: false },
  'relation-not-shown': { breaking: true },
  'relation-shown': { breaking: false },
  'cycles-refused': { breaking: true },
  'cycles-accepted': { breaking: true },
  'ownership-changed': { breaking: true },
  'deletion-changed': { breaking: true },
} as const satisfies Record<string, { readonly breaking: boolean }>;

export type ChangeKind = keyof typeof changeKinds;

export interface Change {
  readonly kind: ChangeKind;
  readonly breaking: boolean;
  readonly type: string;
  /** A field, a relation, an operation or a variant; undefined for the type itself. */
  readonly name: string | undefined;
  /** For people. */
  readonly description: string;
}

export type Report = (kind: ChangeKind, name: string | undefined, description: string) => void;

/** A type before and after. */
export interface TypePair {
  readonly before: RecordType;
  readonly after: RecordType;
  /** Whether requests could write its records before; if not, changes to writes break nobody. */
  readonly wasWritten: boolean;
  readonly wasCreated: boolean;
}

const isNestedIn = (type: RecordType, { types }: Model): boolean =>
  [...types.values()].some(({ operations, relations }) => {
    const writes = operations.has('create') || operations.has('update');
    return writes && [...relations.values()].some(({ target, nested }) => target === type && nested === 'write');
  });

export const isCreated = (type: RecordType, model: Model): boolean =>
  type.operations.has('create') || isNestedIn(type, model);

export const isWritten = (type: RecordType, model: Model): boolean =>
  type.operations.has('update') || isCreated(type, model);

/** Of something that has kept its name. */
export function compareTitles(
  was: readonly string[],
  is: readonly string[],
  name: string | undefined,
  report: Report,
): void {
  if (!isDeepStrictEqual(was, is))
    report('title-changed', name, `was ${JSON.stringify(was)}, is ${JSON.stringify(is)}`);
}

/** Items matched by name or former name. */
interface Pairs<T> {
  readonly kept: readonly { readonly before: T; readonly after: T }[];
  readonly added: readonly T[];
  readonly removed: readonly T[];
}

export function pairUp<T extends Renamed>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): Pairs<T> {
  const { kept, added, dropped } = match(after.values(), before.keys());
  const were = (names: readonly string[]): readonly T[] => names.flatMap((name) => before.get(name) ?? []);
  return {
    kept: kept.flatMap(({ wanted, former }) => were([former]).map((was) => ({ before: was, after: wanted }))),
    added,
    removed: were(dropped),
  };
}
