/** `include` and `fields`: the parameters that choose what is shown. */
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';
import type { View } from './list-query.ts';
import type { QueryReading } from './accepted.ts';
import { countRelations, createView, type Included, type NamedParts } from './view.ts';
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { followPath, type PathNames, unknownRelation, type Way } from './paths.ts';

export function resolveView({ type, names, limits, plain, faults }: QueryReading): View {
  const [include, fields] = [plain.get('include'), plain.get('fields')];
  if (include === undefined && fields === undefined) return names.view;
  const before = faults.length;
  const included = include === undefined ? undefined : resolveInclude(type, include, faults);
  const named = fields === undefined ? undefined : resolveFields(names, fields, included, faults);
  if (faults.length > before) return names.view;
  const view = createView(type, names.variant, included, named);
  if (countRelations(view) <= limits.maxIncludes) return view;
  const complain = complainAbout(faults, included ? 'include' : 'fields');
  return complain('too-many', `A request can show at most ${limits.maxIncludes} relations`) ?? names.view;
}

// `fields=title,author.name`: the fields to show of a record and its related records, in addition to identifiers.

interface NamingParts extends NamedParts {
  whole: boolean;
  readonly fields: Set<Field>;
  readonly relations: Map<Relation, NamingParts>;
}

/** The current position of a path. */
interface FieldsPlace {
  readonly type: RecordType;
  readonly fields: readonly Field[];
  /** What limits the fields, for messages. */
  readonly decidedBy: string;
  readonly included: Included | undefined;
  readonly naming: NamingParts;
  readonly depth: number;
}

/** Without `included`, the relations named here are the ones to show. */
function resolveFields(names: PathNames, text: string, included: Included | undefined, faults: Fault[]): NamedParts {
  const complain = complainAbout(faults, 'fields');
  const naming = nothing();
  const decidedBy = `Variant "${names.variant.name}"`;
  const root = { type: names.type, fields: names.variant.fields, decidedBy, included, naming, depth: 0 };
  for (const path of splitPaths(text)) followPath(root, path, NAMED, complain);
  return naming;
}

const nothing = (): NamingParts => ({ whole: false, fields: new Set(), relations: new Map() });

const NAMED: Way<FieldsPlace, void> = {
  through: ({ included, naming, depth }, relation, path, complain) => {
    if (depth === MAX_INCLUDE_DEPTH) return tooDeep(path, complain);
    const shown = included?.relations.get(relation);
    if (included && !shown)
      return complain('not-included', `${quote(path)} leads through "${relation.name}", which is not in include`);
    const next = naming.relations.get(relation) ?? nothing();
    naming.relations.set(relation, next);
    const { target: type, fields } = relation;
    const decidedBy = `The relation "${relation.name}"`;
    return { type, fields, decidedBy, included: shown, naming: next, depth: depth + 1 };
  },
  atRecord: ({ naming }) => void (naming.whole = true),
  atName: nameField,
  relationsOf: relationNames,
};

function nameField({ type, fields, decidedBy, naming }: FieldsPlace, name: string, complain: Complain): void {
  if (type.identifier.inRecord && name === type.identifier.name) return;
  const field = type.fields.get(name);
  if (field && fields.includes(field)) naming.fields.add(field);
  else if (field) complain('not-shown', `${decidedBy} does not show the field "${name}" of ${type.name}`);
  else
    complain('unknown-field', `${type.name} has no field ${quote(name)}`, () =>
      didYouMean(name, knownNames(type, fields)),
    );
}

const knownNames = ({ identifier, relations }: RecordType, fields: readonly Field[]): readonly string[] => [
  ...(identifier.inRecord ? [identifier.name] : []),
  ...fields.map(({ name }) => name),
  ...relations.keys(),
];

// `include=publisher,author.country`: the relations to show instead of the default ones.

interface Including extends Included {
  readonly relations: Map<Relation, Including>;
}

interface IncludePlace {
  readonly type: RecordType;
  readonly into: Including;
  readonly depth: number;
}

function resolveInclude(type: RecordType, text: string, faults: Fault[]): Included {
  const complain = complainAbout(faults, 'include');
  const into: Including = { relations: new Map() };
  for (const path of splitPaths(text)) followPath({ type, into, depth: 0 }, path, INCLUDED, complain);
  return into;
}

const INCLUDED: Way<IncludePlace, void> = {
  through: ({ into, depth }, relation, path, complain) => {
    if (depth === MAX_INCLUDE_DEPTH) return tooDeep(path, complain);
    const next = into.relations.get(relation) ?? { relations: new Map() };
    into.relations.set(relation, next);
    return { type: relation.target, into: next, depth: depth + 1 };
  },
  atRecord: () => undefined,
  atName: ({ type }, name, complain) =>
    type.fields.has(name)
      ? complain(
          'unknown-relation',
          `"${name}" of ${type.name} is a field, not a relation; use fields= to choose fields`,
        )
      : unknownRelation(type, name, INCLUDED, complain),
  relationsOf: relationNames,
};

/** An empty text has no paths. */
const splitPaths = (text: string): readonly string[] => (text === '' ? [] : text.split(','));

function relationNames({ relations }: RecordType): readonly string[] {
  return [...relations.keys()];
}

function tooDeep(path: string, complain: Complain): undefined {
  return complain('too-deep', `${quote(path)} has more than ${MAX_INCLUDE_DEPTH} levels of relations`);
}
