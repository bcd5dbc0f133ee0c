/** Which relations a record is read with: its own, and those of related records as deep as they are written through it. */
import { isToMany, type RelationInfo, type StudioModel, type TypeInfo, typeNamed } from './model.ts';

/** Relations one after the other, as the interface takes them. */
const MAX_DEPTH = 4;

/** Sets that may be long: records that belong to this one, but not to it alone, are listed page by page. */
export function hasOwnList({ types }: StudioModel, relation: RelationInfo): boolean {
  const isLong = relation.kind === 'hasMany' && relation.owned !== true && relation.inverse !== undefined;
  return isLong && types.get(relation.type)?.operations.includes('list') === true;
}

interface Step {
  readonly path: readonly string[];
  readonly relation: RelationInfo;
  /** The types before it. */
  readonly types: readonly string[];
}

/** Whether records are changed through the relation, and not only linked. */
const isWritten = ({ nested, owned, readOnly }: RelationInfo): boolean =>
  owned === true || (nested === 'write' && !readOnly);

function stepsInto(model: StudioModel, type: TypeInfo, before?: Step): readonly Step[] {
  const types = [...(before?.types ?? []), type.type];
  return type.relations
    .filter(
      (relation) => !hasOwnList(model, relation) && (before === undefined || isSeenWithin(relation, before.relation)),
    )
    .map((relation) => ({ path: [...(before?.path ?? []), relation.name], relation, types }));
}

/** The way back is known. Sets of records that others share may be long. */
const isSeenWithin = (relation: RelationInfo, through: RelationInfo): boolean =>
  relation.name !== through.inverse &&
  (!isToMany(relation) || relation.owned === true || relation.kind === 'manyToMany');

/** The nearest ones, if a request cannot show all of them. */
export function includesOf(model: StudioModel, type: TypeInfo): readonly string[] {
  const steps = [...stepsInto(model, type)];
  for (const step of steps) {
    const { relation, path, types } = step;
    if (!isWritten(relation) || path.length === MAX_DEPTH || types.includes(relation.type)) continue;
    steps.push(...stepsInto(model, typeNamed(model, relation.type), step));
  }
  return steps.slice(0, model.limits.maxIncludes).map(({ path }) => path.join('.'));
}
