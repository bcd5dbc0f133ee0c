/** Two models -> what the change from one to the other means for HTTP clients. */
import type { Model, RecordType } from '../model/model.ts';
import {
  type Change,
  type ChangeKind,
  changeKinds,
  isCreated,
  isWritten,
  type Report,
  type TypePair,
} from './change.ts';
import { compareFields } from './fields.ts';
import { pairUp } from './members.ts';
import { compareRelations } from './relations.ts';
import { compareType } from './types.ts';

/** What only those meet who create records, or write them at all. */
const MET_BY_CREATES: ReadonlySet<ChangeKind> = new Set([
  'required-field-added',
  'field-required',
  'required-relation-added',
]);
const MET_BY_WRITES: ReadonlySet<ChangeKind> = new Set([
  'field-narrowed',
  'null-refused',
  'field-read-only',
  'unique-added',
  'closed',
  'relation-link-only',
  'ownership-changed',
]);

/** By type, in the order of the new model; what is gone comes last. */
export function compareModels(before: Model, after: Model): readonly Change[] {
  const { kept, added, removed } = pairUp(before.types, after.types);
  const names = new Map(kept.map((pair) => [pair.before.name, pair.after.name]));
  const changes: Change[] = [];
  for (const pair of kept) {
    const { before: was } = pair;
    const types: TypePair = { ...pair, wasWritten: isWritten(was, before), wasCreated: isCreated(was, before) };
    const report = reporter(types, changes);
    compareType(types, report);
    compareFields(types, report);
    compareRelations(types, report, (old, now) => names.get(old) === now);
  }
  for (const { name } of added) changes.push(change('type-added', name, undefined, 'new', false));
  for (const type of removed) changes.push(removal(type));
  return changes;
}

const change = (
  kind: ChangeKind,
  type: string,
  name: string | undefined,
  description: string,
  breaking: boolean,
): Change => ({
  kind,
  breaking,
  type,
  name,
  description,
});

/** A type that no path served is missed only where relations led to it, and these are told. */
const removal = ({ name, path, operations }: RecordType): Change =>
  operations.size > 0
    ? change('type-removed', name, undefined, `/api/${path} is gone`, true)
    : change('type-removed', name, undefined, 'it had no path', false);

function reporter({ after, wasWritten, wasCreated }: TypePair, changes: Change[]): Report {
  return (kind, name, description) => {
    const isMet = (!MET_BY_CREATES.has(kind) || wasCreated) && (!MET_BY_WRITES.has(kind) || wasWritten);
    changes.push(change(kind, after.name, name, description, changeKinds[kind].breaking && isMet));
  };
}
