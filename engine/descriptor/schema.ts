/** All record types of a schema directory, and which of their relations are two sides of one. */
import { createAjv } from '../ajv.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { RelationDraft, TypeDraft } from './draft.ts';
import { grouped } from './grouped.ts';

/** A relation as one type's descriptor tells it. */
export interface Side {
  readonly type: TypeDraft;
  readonly name: string;
  readonly relation: RelationDraft;
  /** undefined where no file describes it. */
  readonly target: TypeDraft | undefined;
}

export interface Schema {
  /** One for each name. */
  readonly types: readonly TypeDraft[];
  readonly byName: ReadonlyMap<string, TypeDraft>;
  /** Whether the name of every type is known: else one that is missing may only be unreadable. */
  readonly allNamed: boolean;
  readonly sides: readonly Side[];
  sidesOf(type: TypeDraft): readonly Side[];
  /** The relation that this one names as its inverse, whatever that one says. */
  named(side: Side): Side | undefined;
  /** The relations that name this one as their inverse, from the type that this one leads to. */
  claimants(side: Side): readonly Side[];
  /** The other side, whichever of the two names the other. */
  inverse(side: Side): Side | undefined;
  /** Whether a value fits a JSON Schema. */
  accepts(schema: JsonObject, value: JsonValue): boolean;
}

export function createSchema(types: readonly TypeDraft[], allNamed: boolean): Schema {
  const byName = new Map(types.map((type) => [type.name, type]));
  const sidesByType = new Map(types.map((type) => [type, sidesIn(type, byName)]));
  const sides = [...sidesByType.values()].flat();
  const claims = grouped(
    sides.filter(({ relation }) => relation.inverse !== undefined),
    ({ relation }) => `${relation.type ?? ''}.${relation.inverse ?? ''}`,
  );
  const sidesOf = (type: TypeDraft) => sidesByType.get(type) ?? [];
  const named = ({ relation, target }: Side) =>
    target ? sidesOf(target).find(({ name }) => name === relation.inverse) : undefined;
  const claimants = (side: Side) =>
    (claims.get(`${side.type.name}.${side.name}`) ?? []).filter(({ type }) => type === side.target);
  const inverse = (side: Side) => named(side) ?? claimants(side)[0];
  return { types, byName, allNamed, sides, sidesOf, named, claimants, inverse, accepts: valueChecker() };
}

function sidesIn(type: TypeDraft, byName: ReadonlyMap<string, TypeDraft>): readonly Side[] {
  return [...type.relations].map(([name, relation]) => ({
    type,
    name,
    relation,
    target: byName.get(relation.type ?? ''),
  }));
}

/** Many fields share a schema: each is compiled once. */
function valueChecker(): Schema['accepts'] {
  const ajv = createAjv();
  const compiled = new Map<string, (value: JsonValue) => boolean>();
  return (schema, value) => {
    const key = JSON.stringify(schema);
    const validate = compiled.get(key) ?? ajv.compile(schema);
    compiled.set(key, validate);
    return validate(value) === true;
  };
}
