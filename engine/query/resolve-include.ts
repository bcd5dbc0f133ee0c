/** `include=publisher,author.country`: the relations that are shown, in place of the default. */
import { MAX_INCLUDE_DEPTH, type RecordType, type Relation } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, quote } from './faults.ts';
import type { Included } from './view.ts';

interface Including extends Included {
  readonly relations: Map<Relation, Including>;
}

export function resolveInclude(type: RecordType, text: string, faults: Fault[]): Included {
  const complain = complainAbout(faults, 'include');
  const root: Including = { relations: new Map() };
  for (const path of splitPaths(text)) includePath(type, root, path, complain);
  return root;
}

/** The empty text names nothing. */
export const splitPaths = (text: string): readonly string[] => (text === '' ? [] : text.split(','));

function includePath(root: RecordType, into: Including, path: string, complain: Complain): void {
  let [type, at, depth] = [root, into, 0];
  for (const step of path.split('.')) {
    const relation = relationOf(type, step, complain);
    if (!relation) return;
    depth += 1;
    if (depth > MAX_INCLUDE_DEPTH) return tooDeep(path, complain);
    const next = at.relations.get(relation) ?? { relations: new Map() };
    at.relations.set(relation, next);
    [type, at] = [relation.target, next];
  }
}

export function tooDeep(path: string, complain: Complain): undefined {
  return complain('too-deep', `${quote(path)} has more than ${MAX_INCLUDE_DEPTH} levels of relations`);
}

function relationOf(type: RecordType, name: string, complain: Complain): Relation | undefined {
  const relation = type.relations.get(name);
  if (relation) return relation;
  if (type.fields.has(name))
    return complain(
      'unknown-relation',
      `"${name}" of ${type.name} is a field, not a relation; fields are chosen with fields=`,
    );
  return complain('unknown-relation', `${type.name} has no relation ${quote(name)}`, () =>
    didYouMean(name, type.relations.keys()),
  );
}
