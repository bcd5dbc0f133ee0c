/** Required relations that lead back to where they started: no first record could ever be created. */
import type { TypeDraft } from '../draft.ts';
import { finding } from '../finding.ts';
import type { Schema, Side } from '../schema.ts';
import type { Found, SchemaCheck } from './check.ts';

export const checkRequiredCycles: SchemaCheck = (schema) => {
  const known = new Set<TypeDraft>();
  return schema.types.flatMap((type) => {
    const cycle = known.has(type) ? undefined : shortestCycle(type, schema);
    for (const side of cycle ?? []) known.add(side.type);
    return cycle ? [describe(cycle)] : [];
  });
};

const required = (type: TypeDraft, schema: Schema): readonly Side[] =>
  schema.sidesOf(type).filter(({ relation }) => relation.kind === 'belongsTo' && relation.required === true);

/** The shortest way from a type back to itself, breadth first. */
function shortestCycle(start: TypeDraft, schema: Schema): readonly Side[] | undefined {
  const seen = new Set<TypeDraft>();
  const ways: (readonly Side[])[] = required(start, schema).map((side) => [side]);
  for (const way of ways) {
    const target = way.at(-1)?.target;
    if (target === start) return way;
    if (!target || seen.has(target)) continue;
    seen.add(target);
    ways.push(...required(target, schema).map((side) => [...way, side]));
  }
  return undefined;
}

function describe(cycle: readonly Side[]): Found {
  const [first] = cycle;
  if (!first) throw new RangeError('a cycle has at least one relation');
  const way = [...cycle.map(({ type, name }) => `${type.name}.${name}`), first.type.name].join(' -> ');
  return [
    first.type,
    finding(
      'required-cycle',
      ['relations', first.name, 'required'],
      'value',
      `required relations in a circle, so that no first record can be created: ${way}`,
    ),
  ];
}
