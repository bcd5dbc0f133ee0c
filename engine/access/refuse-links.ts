/** Bodies that write what the token may not write: links that are kept in records it may only read, records it cannot make. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../json.ts';
import { identifierIn } from '../model/identifier-in.ts';
import type { RecordType, Relation } from '../model/model.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import type { TypeValidators, Validator } from '../validation/validators.ts';
import type { Restricted } from './restrict.ts';

type Limits = Pick<Restricted, 'readOnly' | 'barred'>;

export function refusingLinks(validators: TypeValidators, type: RecordType, limits: Limits): TypeValidators {
  if (limits.readOnly.size === 0 && limits.barred.size === 0) return validators;
  const refusing =
    (validate: Validator): Validator =>
    (body, identifier, raw) => {
      const faults = isObject(body) ? refusedIn(type, body, '', limits) : [];
      if (faults.length > 0) throw faultyRequest('forbidden', faults);
      return validate(body, identifier, raw);
    };
  return {
    create: (variant) => refusing(validators.create(variant)),
    update: (variant) => refusing(validators.update(variant)),
  };
}

function refusedIn(type: RecordType, body: JsonObject, pointer: string, limits: Limits): readonly Fault[] {
  return Object.keys(body).flatMap((key) => {
    const relation = type.relations.get(key);
    if (!relation) return [];
    const at = `${pointer}/${escapeStep(key)}`;
    const value = body[key] ?? null;
    if (limits.readOnly.has(relation)) return [readOnlyLink(relation, at)];
    const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
    return items.flatMap((item, index) =>
      isObject(item) ? refusedRecord(relation, item, Array.isArray(value) ? `${at}/${index}` : at, limits) : [],
    );
  });
}

function refusedRecord(relation: Relation, body: JsonObject, pointer: string, limits: Limits): readonly Fault[] {
  const { target, owned, toMany } = relation;
  // Whether an only child is there, and is changed, only the database knows.
  const isMade = identifierIn(body, target) === undefined && (toMany || !owned) && relation.nested === 'write';
  if (!isMade || !limits.barred.has(target)) return refusedIn(target, body, pointer, limits);
  const message = `This token may not make a ${target.name}: name one that is there, by its "${target.identifier.name}"`;
  return [{ pointer, code: 'forbidden', message }];
}

function readOnlyLink({ name, target }: Relation, pointer: string): Fault {
  const message = `"${name}" is kept in records of ${target.name}, which this token may only read; leave it out`;
  return { pointer, code: 'forbidden', message };
}
