/** The identifier of the record that a request is about is `id`, whatever the descriptor calls it. Related records keep their own. */
import { type JsonObject, unescapedSteps } from '../../json/json.ts';
import type { Field, RecordType } from '../../model/model.ts';
import { type Fault, faultyRequest } from '../../problem.ts';
import type { RawMember } from '../../json/tokenizer.ts';
import type { Body, ParsedRecord } from '../../operations/body.ts';
import type { BodyParsers, ParseBody } from '../bodies.ts';

export const idName = 'id';

const isId = ({ identifier }: RecordType): boolean => identifier.inRecord && identifier.name === idName;

/** The type as queries and answers have it. A field or relation that is called `id` is hidden by the identifier. */
export function asId(type: RecordType): RecordType {
  if (isId(type)) return type;
  const isOther = ({ name }: { readonly name: string }): boolean => name !== idName;
  const without = <V>(all: ReadonlyMap<string, V>): ReadonlyMap<string, V> =>
    new Map([...all].filter(([name]) => name !== idName));
  const fieldsOf = (fields: readonly Field[]): readonly Field[] => fields.filter(isOther);
  const variants = new Map(
    [...type.variants].map(([name, variant]) => [name, { ...variant, fields: fieldsOf(variant.fields) }]),
  );
  return {
    ...type,
    statementKey: `${type.statementKey} by ${idName}`,
    identifier: { ...type.identifier, name: idName, inRecord: true },
    fields: without(type.fields),
    relations: without(type.relations),
    // One of the unknown keys may be called the same.
    open: false,
    variants,
    defaultVariant: variants.get(type.defaultVariant.name) ?? type.defaultVariant,
  };
}

/** The pointer in the client's own body for one in the body of `/api`; undefined if it is not that of the identifier. */
export function idPointers(type: RecordType): (pointer: string) => string | undefined {
  if (isId(type)) return () => undefined;
  const { name } = type.identifier;
  return (pointer) => {
    const steps = unescapedSteps(pointer);
    if (steps.at(-1) !== name || !(steps.length === 1 || (steps.length === 2 && /^\d+$/.test(steps[0] ?? ''))))
      return undefined;
    return [...steps.slice(0, -1).map((step) => `/${step}`), `/${idName}`].join('');
  };
}

/** Bodies become those that `/api` takes. */
export function idParsers(type: RecordType, parsers: BodyParsers): BodyParsers {
  if (isId(type)) return parsers;
  const renaming =
    (parse: ParseBody): ParseBody =>
    (content, exchange) => {
      const body = parse(content, exchange);
      const faults = body.records.flatMap((record) => faultsIn(record, type, exchange.identifier));
      if (faults.length > 0) throw faultyRequest('invalid-body', faults);
      return renamed(body, type);
    };
  return { ...parsers, record: renaming(parsers.record), either: renaming(parsers.either) };
}

/** `addressed`: the identifier in the path; empty for a new record. */
function faultsIn({ body, pointer }: ParsedRecord, { identifier }: RecordType, addressed: string): readonly Fault[] {
  const { name, inRecord } = identifier;
  const faults: Fault[] = [];
  if (inRecord && Object.hasOwn(body, name)) {
    const message = `Unknown key "${name}"; the identifier is called "${idName}" here`;
    faults.push({ pointer: `${pointer}/${name}`, code: 'unknown-key', message });
  }
  const given = body[idName] ?? null;
  if (inRecord || given === null || String(given) === addressed) return faults;
  const message =
    addressed === ''
      ? `The service numbers these records itself; leave "${idName}" out`
      : `The identifier of this record is ${addressed} and cannot be changed`;
  return [...faults, { pointer: `${pointer}/${idName}`, code: 'read-only', message }];
}

function renamed(body: Body, type: RecordType): Body {
  const raw = new Map(body.raw);
  const records = body.records.map((record) => {
    const renamedBody = renamedIn(record.body, type);
    const members = new Map<string, RawMember>(raw.get(record.body));
    members.delete(idName);
    raw.delete(record.body);
    return raw.set(renamedBody, members) && { ...record, body: renamedBody };
  });
  return { ...body, records, raw };
}

/** Keys stay in their order, in which faults are told. */
function renamedIn(body: JsonObject, { identifier: { name, inRecord } }: RecordType): JsonObject {
  const entries = Object.entries(body);
  return Object.fromEntries(
    entries.flatMap(([key, value]) => (key === idName ? (inRecord ? [[name, value]] : []) : [[key, value]])),
  );
}
