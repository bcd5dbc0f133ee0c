/** Copies of schemas whose types have identifiers of another kind. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { isObject, type JsonValue } from '../../engine/json/json.ts';
import type { RecordType } from '../../engine/model/model.ts';

export type Kind = 'uuid' | 'string';

/** What stands for a number. */
export const keyOf = (kind: Kind, number: unknown): string =>
  kind === 'uuid'
    ? `00000000-0000-4000-8000-${Number(number).toString(16).padStart(12, '0')}`
    : `key ${String(number)}`;

interface Written {
  readonly type: string;
  readonly identifier?: { readonly name?: string };
  readonly relations?: Readonly<Record<string, { readonly type: string }>>;
  readonly seed?: readonly Seed[];
}

type Seed = Readonly<Record<string, unknown>>;

export function keyedSchema(directory: string, kind: Kind): string {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => /\.ya?ml$/.test(name));
  const all = files.flatMap((name) => {
    const file = join(directory, name);
    return statSync(file).isFile() ? [[name, parse(readFileSync(file, 'utf8')) as Written] as const] : [];
  });
  const types = new Map(all.map(([, one]) => [one.type, one]));
  const seedOf = (type: Written, seed: Seed): Seed =>
    Object.fromEntries(
      Object.entries(seed).map(([key, value]) => {
        const target = types.get(type.relations?.[key]?.type ?? '');
        const inner = (one: unknown): unknown =>
          target && typeof one === 'object' && one !== null ? seedOf(target, one as Seed) : one;
        if (key === (type.identifier?.name ?? 'id')) return [key, keyOf(kind, value)];
        return [key, Array.isArray(value) ? value.map(inner) : inner(value)];
      }),
    );
  const copy = mkdtempSync(join(tmpdir(), `${kind}-schema-`));
  for (const [name, one] of all) {
    const { seed = [], identifier = {} } = one;
    const keyed = { ...one, identifier: { ...identifier, type: kind } };
    const text = stringify(seed.length > 0 ? { ...keyed, seed: seed.map((row) => seedOf(one, row)) } : keyed);
    mkdirSync(dirname(join(copy, name)), { recursive: true });
    writeFileSync(join(copy, name), text);
  }
  return copy;
}

/** The body with a new key for each record that has none, as clients send it whose keys are texts. */
export function withKeys(body: JsonValue, type: RecordType, next: () => string): JsonValue {
  if (Array.isArray(body)) return body.map((one) => withKeys(one, type, next));
  if (!isObject(body)) return body;
  const values = Object.entries(body).map(([name, value]): [string, JsonValue] => {
    const target = type.relations.get(name)?.target;
    return [name, target ? withKeys(value, target, next) : value];
  });
  return { [type.identifier.name]: next(), ...Object.fromEntries(values) };
}
