/** Bodies that set a relation whose column is in records that the token may only read. */
import { escapeStep, isObject, type JsonValue } from '../json.ts';
import type { RecordType, Relation } from '../model/model.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import type { TypeValidators, Validator } from '../validation/validators.ts';

export function refusingLinks(
  validators: TypeValidators,
  type: RecordType,
  readOnly: ReadonlySet<Relation>,
): TypeValidators {
  if (readOnly.size === 0) return validators;
  const refusing =
    (validate: Validator): Validator =>
    (body) => {
      const faults = linksOf(type, body, '', readOnly);
      if (faults.length > 0) throw faultyRequest('forbidden', faults);
      return validate(body);
    };
  return {
    create: (variant) => refusing(validators.create(variant)),
    update: (variant) => refusing(validators.update(variant)),
  };
}

function linksOf(
  type: RecordType,
  body: JsonValue,
  pointer: string,
  readOnly: ReadonlySet<Relation>,
): readonly Fault[] {
  if (Array.isArray(body)) return body.flatMap((item, index) => linksOf(type, item, `${pointer}/${index}`, readOnly));
  if (!isObject(body)) return [];
  return [...type.relations.values()].flatMap((relation) => {
    const value = body[relation.name];
    if (value === undefined) return [];
    const at = `${pointer}/${escapeStep(relation.name)}`;
    if (!readOnly.has(relation)) return linksOf(relation.target, value, at, readOnly);
    const message = `"${relation.name}" is kept in records of ${relation.target.name}, which this token may only read; leave it out`;
    return [{ pointer: at, code: 'forbidden', message }];
  });
}
