/** `fields=title,author.name`: what of a record and of related ones is shown. Identifiers always are. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, quote } from './faults.ts';
import { splitPaths, tooDeep } from './resolve-include.ts';
import type { Names } from './resolve-path.ts';
import type { Included, Named } from './view.ts';

interface Naming extends Named {
  whole: boolean;
  readonly fields: Set<Field>;
  readonly relations: Map<Relation, Naming>;
}

/** Where a path has come to: the record there, what may be named of it, and what was named so far. */
interface Place {
  readonly type: RecordType;
  readonly fields: readonly Field[];
  /** Who decided on the fields. */
  readonly decidedBy: string;
  readonly included: Included | undefined;
  readonly naming: Naming;
  readonly depth: number;
}

/** `included` undefined: the relations that are named here are those that are shown. */
export function resolveFields(names: Names, text: string, included: Included | undefined, faults: Fault[]): Named {
  const complain = complainAbout(faults, 'fields');
  const naming = nothing();
  const decidedBy = `Variant "${names.variant.name}"`;
  const root = { type: names.type, fields: names.variant.fields, decidedBy, included, naming, depth: 0 };
  for (const path of splitPaths(text)) namePath(root, path, complain);
  return naming;
}

const nothing = (): Naming => ({ whole: false, fields: new Set(), relations: new Map() });

function namePath(root: Place, path: string, complain: Complain): void {
  const steps = path.split('.');
  let place: Place | undefined = root;
  for (const [index, step] of steps.entries()) {
    const relation: Relation | undefined = place.type.relations.get(step);
    if (!relation)
      return index === steps.length - 1 ? nameField(place, step, complain) : unknownRelation(place, step, complain);
    place = through(place, relation, path, complain);
    if (!place) return;
  }
  place.naming.whole = true;
}

function through(
  { included, naming, depth }: Place,
  relation: Relation,
  path: string,
  complain: Complain,
): Place | undefined {
  if (depth === MAX_INCLUDE_DEPTH) return tooDeep(path, complain);
  const shown = included?.relations.get(relation);
  if (included && !shown)
    return complain('not-included', `${quote(path)} leads through "${relation.name}", which include does not show`);
  const next = naming.relations.get(relation) ?? nothing();
  naming.relations.set(relation, next);
  const { target: type, fields } = relation;
  return {
    type,
    fields,
    decidedBy: `The relation "${relation.name}"`,
    included: shown,
    naming: next,
    depth: depth + 1,
  };
}

function nameField({ type, fields, decidedBy, naming }: Place, name: string, complain: Complain): void {
  if (type.identifier.inRecord && name === type.identifier.name) return;
  const field = type.fields.get(name);
  if (field && fields.includes(field)) naming.fields.add(field);
  else if (field) complain('not-shown', `${decidedBy} does not show the field "${name}" of ${type.name}`);
  else
    complain('unknown-field', `${type.name} has no field ${quote(name)}`, () =>
      didYouMean(name, knownNames(type, fields)),
    );
}

function unknownRelation({ type }: Place, name: string, complain: Complain): void {
  complain('unknown-relation', `${type.name} has no relation ${quote(name)}`, () =>
    didYouMean(name, type.relations.keys()),
  );
}

const knownNames = ({ identifier, relations }: RecordType, fields: readonly Field[]): readonly string[] => [
  ...(identifier.inRecord ? [identifier.name] : []),
  ...fields.map(({ name }) => name),
  ...relations.keys(),
];
