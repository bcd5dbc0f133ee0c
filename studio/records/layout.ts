/** The layout of a record's page: key figures and state in the head, short facts in the rail, the rest in the middle. */
import { firstMeasure, monthField } from '../charts/figures.ts';
import { isValueObject, type ValueObject } from '../data/json.ts';
import {
  can,
  type FieldInfo,
  isToMany,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';

export interface RecordLayout {
  /** The state, as a chip beside the name. */
  readonly state: FieldInfo | undefined;
  readonly figures: readonly FieldInfo[];
  readonly fields: readonly FieldInfo[];
  readonly relations: readonly RelationInfo[];
  readonly rail: { readonly fields: readonly FieldInfo[]; readonly relations: readonly RelationInfo[] };
}

const MOST_FIGURES = 3;
const TIMES: ReadonlySet<string> = new Set(['date', 'timestamp']);

/** Whether more is shown of a related record than its name. */
function hasInside(model: StudioModel, relation: RelationInfo, values: ValueObject): boolean {
  const value = values[relation.name];
  const type = typeNamed(model, relation.type);
  if (!isValueObject(value)) return false;
  return !can(type, 'get') || type.relations.some(({ name }) => name !== relation.inverse && name in value);
}

export function layoutOf(model: StudioModel, type: TypeInfo, values: ValueObject): RecordLayout {
  const fields = type.fields.filter(({ name }) => name in values);
  const related = type.relations.filter((relation) => !isToMany(relation) && relation.name in values);
  const state = fields.find(({ enum: choices, type: name }) => choices !== undefined && name !== 'array');
  // Amounts of what happened are what a person looks for.
  const decimals = fields.filter((field) => field.type === 'decimal' && field.sensitive !== true);
  const isEvent = monthField(type) !== undefined && firstMeasure(type) !== undefined;
  const figures = isEvent || decimals.length < MOST_FIGURES ? decimals.slice(0, MOST_FIGURES) : [];
  const isShort = (field: FieldInfo): boolean =>
    TIMES.has(field.type) || field.type === 'boolean' || (field.enum !== undefined && field.type !== 'array');
  const rail = {
    fields: fields.filter((field) => field !== state && isShort(field)),
    relations: related.filter((relation) => !hasInside(model, relation, values)),
  };
  const middle = {
    // Its label is its heading.
    fields: fields.filter(
      (field) => field !== state && !isShort(field) && !figures.includes(field) && field.name !== type.label,
    ),
    relations: related.filter((relation) => !rail.relations.includes(relation)),
  };
  return { state, figures, ...middle, rail };
}
