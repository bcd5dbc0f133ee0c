/** Validates lines of an export: records as for create, plus read-only fields. */
import { createAjv } from '../field-types/ajv-keywords.ts';
import { withNull } from '../field-types/field-type.ts';
import { byName, escapeStep, type JsonObject, onePerLocation } from '../json/json.ts';
import { memoized } from '../memo.ts';
import type { JoinTable, Model, RecordType } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import { unmetBy } from '../query/operators.ts';
import { EXPECTED, faultsOf, fieldSchema } from './body-schema.ts';

type LineValidator = (line: JsonObject) => readonly Fault[];

/** Only the constraints of the kind: others may be newer than the identifiers. */
const identifierSchema = ({ identifier: { kind } }: RecordType): JsonObject => {
  const shape = { constraints: kind.constraints, examples: [] };
  return { ...kind.schema(shape), [EXPECTED]: `an identifier: ${kind.expected(shape)}` };
};
const LAST = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  [EXPECTED]: 'an identifier: an integer from 1 to 2^53-1',
};
const TEXT = { type: 'string', [EXPECTED]: 'a string' };
const COUNT = { type: 'integer', minimum: 0, [EXPECTED]: 'an integer from 0' };
const TIME = {
  type: 'string',
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`,
  [EXPECTED]: 'a time like 2026-01-02T03:04:05.678Z',
};
const NAME = { type: 'string', [EXPECTED]: 'a name' };

const closed = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  [EXPECTED]: 'an object',
  properties,
  required,
  additionalProperties: false,
});

/** Returns all faults of a line, with pointers. `isUnchecked`: ignores the checks of a type. */
export function createLineValidator(model: Model, isUnchecked = false): LineValidator {
  const ajv = createAjv({ verbose: true, strictRequired: false, strictTypes: false });
  ajv.addVocabulary([EXPECTED]);
  const compile = (schema: JsonObject): LineValidator => {
    const validate = ajv.compile(schema);
    return (line) => (validate(line) ? [] : onePerLocation(faultsOf(validate.errors ?? [])));
  };
  const recordOf = memoized((type: RecordType): LineValidator => {
    const validate = compile(recordLine(type));
    return (line) => {
      const faults = validate(line);
      return isUnchecked || faults.length > 0 ? faults : unmetIn(type, line['fields'] as JsonObject);
    };
  });
  const pairOf = memoized(({ left, right }: JoinTable) =>
    compile(closed({ pair: NAME, left: identifierSchema(left.type), right: identifierSchema(right.type) })),
  );
  const seed = compile(closed({ seed: NAME, identifier: LAST }));
  const sequence = compile(closed({ sequence: NAME, last: LAST }));
  const keyLine = compile(
    closed({
      key: TEXT,
      identity: TEXT,
      hash: TEXT,
      created: TIME,
      status: COUNT,
      // Also of types that were dropped since.
      identifiers: { type: 'array', items: { type: ['integer', 'string'] }, [EXPECTED]: 'an array of identifiers' },
    }),
  );
  const types = new Map([...model.types].map(([name, type]) => [name, () => recordOf(type)]));
  const kinds: Readonly<Record<string, ReadonlyMap<string, () => LineValidator>>> = {
    type: types,
    pair: new Map(model.joinTables.map((table) => [table.exportName, () => pairOf(table)])),
    seed: new Map([...types.keys()].map((name) => [name, () => seed])),
    sequence: new Map([...types.keys()].map((name) => [name, () => sequence])),
  };

  return (line) => {
    const [kind, validators] = Object.entries(kinds).find(([key]) => Object.hasOwn(line, key)) ?? [];
    if (Object.hasOwn(line, 'key')) return keyLine(line);
    if (kind === undefined || !validators) return [NO_KIND];
    const name = line[kind];
    if (typeof name !== 'string') return [{ pointer: `/${kind}`, code: 'type', message: `"${kind}" must be a name` }];
    return validators.get(name)?.()(line) ?? [unknown(kind, name, [...validators.keys()])];
  };
}

const unmetIn = (type: RecordType, fields: JsonObject): readonly Fault[] =>
  unmetBy(type, fields).map(({ at, message }) => ({
    pointer: `/fields/${escapeStep(at.name)}`,
    code: 'check',
    message: `${message} (--unchecked reads it as it is)`,
  }));

const NO_KIND: Fault = {
  pointer: '',
  code: 'type',
  message: 'The line must be an object with one of the keys "type", "pair", "seed", "sequence" or "key"',
};

const unknown = (kind: string, name: string, known: readonly string[]): Fault => ({
  pointer: `/${kind}`,
  code: 'unknown-name',
  message: `No descriptor declares the ${kind === 'pair' ? 'join table' : 'type'} "${name.slice(0, 100).toWellFormed()}"${didYouMean(name, known)}`,
});

function recordLine(type: RecordType): JsonObject {
  const fields = [...type.fields.values()];
  const needed = fields.filter(
    (field) => field.required || (!field.nullable && !field.isNowByDefault && (field.default ?? null) === null),
  );
  const { references } = type;
  return closed(
    {
      type: NAME,
      identifier: identifierSchema(type),
      fields: closed(
        byName(fields, fieldSchema),
        needed.map(({ name }) => name),
      ),
      references: closed(
        Object.fromEntries(
          references.map(({ exportName, target, required }) => [exportName, linkSchema(target, required)]),
        ),
        references.filter(({ required }) => required).map(({ exportName }) => exportName),
      ),
      open: type.open ? OPEN : NOTHING_OPEN,
    },
    ['type', 'identifier', 'fields', 'references'],
  );
}

function linkSchema(target: RecordType, required: boolean): JsonObject {
  const schema = identifierSchema(target);
  return required ? schema : { ...withNull(schema), [EXPECTED]: `${String(schema[EXPECTED])}, or null` };
}

const OPEN = { type: 'string', [EXPECTED]: 'an object as JSON text' };
const NOTHING_OPEN = { const: '{}', [EXPECTED]: '"{}", since the descriptor does not accept unknown keys' };
