/** The shipped descriptors as their YAML says them, read without the engine, in the words of the specification's tables. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface RawDescriptor {
  readonly type: string;
  readonly operations: readonly string[];
  readonly identifier: { readonly name: string };
  readonly open?: boolean;
  readonly fields?: Readonly<Record<string, { readonly type: string }>>;
  readonly relations?: Readonly<
    Record<string, { readonly kind: string; readonly type: string; readonly fields?: string[] }>
  >;
  readonly variants?: unknown;
}

export function readDescriptors(files: readonly string[]): ReadonlyMap<string, RawDescriptor> {
  const parsed = files.map((file): RawDescriptor => parse(readFileSync(file, 'utf8')));
  return new Map(parsed.map((descriptor) => [descriptor.type, descriptor]));
}

const JSON_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  decimal: 'string',
  integer: 'integer',
  boolean: 'boolean',
  array: 'any[]',
};

const SETS = new Set(['hasMany', 'manyToMany']);

/** Name and JSON type of all that a record of this descriptor has. */
export function table(descriptor: RawDescriptor): Record<string, string | undefined> {
  const fields = Object.entries(descriptor.fields ?? {}).map(([name, { type }]) => [name, JSON_TYPES[type]]);
  const relations = Object.entries(descriptor.relations ?? {}).map(([name, { kind, type }]) => [
    name,
    SETS.has(kind) ? `${type}[]` : type,
  ]);
  return Object.fromEntries([[descriptor.identifier.name, 'integer'], ...fields, ...relations]);
}
