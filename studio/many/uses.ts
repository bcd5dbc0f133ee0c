/** The lists in which people find the records that refer to another one. */
import { can, isToMany, type RelationInfo, type StudioModel, type TypeInfo, typeNamed } from '../data/model.ts';
import type { Where } from '../data/where.ts';

export interface Use {
  readonly type: TypeInfo;
  readonly where: Where;
}

/** The lists of a type; if it has none, of the types that own its records, at any depth, or else of those that lead to it at once. */
export function holders(model: StudioModel, type: TypeInfo, name: string, id: string): readonly Use[] {
  if (can(type, 'list')) return [{ type, where: [[`_cnd[${name}][eq]`, id]] }];
  const ways = type.foundThrough.map(({ type: first, relation }) => {
    const holder = typeNamed(model, first);
    return { holder, steps: stepsOf(model, holder, relation) };
  });
  const owning = ways.filter(({ steps }) => steps.every(({ owned }) => owned === true));
  // The way back from the record itself says nothing.
  const direct = ways.filter(({ steps }) => steps.length === 1 && steps[0]?.inverse !== name);
  return (owning.length > 0 ? owning : direct).map(({ holder, steps }) => {
    // A set ends a path: what follows is a condition on its records.
    const path = steps.map((step) => `${step.name}${isToMany(step) ? '][$some][0][' : '.'}`).join('');
    return { type: holder, where: [[`_cnd[${path}${name}][eq]`, id]] };
  });
}

function stepsOf(model: StudioModel, from: TypeInfo, path: string): readonly RelationInfo[] {
  let type = from;
  return path.split('.').flatMap((name) => {
    const step = type.relations.find((one) => one.name === name);
    if (step !== undefined) type = typeNamed(model, step.type);
    return step ?? [];
  });
}
