/** Bodies of dialects, whose clients send back whatever they were shown: what a request does not show stays as it is. */
import { isObject, type JsonObject, type JsonValue, parsedJson } from '../../json/json.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import { parseIdentifier } from '../../operations/operation.ts';
import type { Body, ParsedRecord } from '../../operations/body.ts';
import { type Fault, faultyRequest } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { isLink } from '../../query/paths.ts';
import type { Exchange, Service } from '../exchange.ts';

export const ID = 'id';

export const isId = ({ identifier }: RecordType): boolean => identifier.inRecord && identifier.name === ID;

/** The body as `/api` takes it. `links`: relations by the names of their identifiers in records. */
export async function translated(
  body: Body,
  { identifier, request, target, caller }: Exchange,
  { type, store, queries }: Service,
  { links = new Map() }: RecordType,
): Promise<Body> {
  const { relations } = type;
  const { relations: shown } = queries.view(target.query);
  const isPut = request.method === 'PUT';
  const faults: Fault[] = [];
  const refuse = (pointer: string, code: string, message: string): unknown => faults.push({ pointer, code, message });
  /** The pointers that the client used for identifiers. */
  const sent = new Map<string, string>();
  const stored = async (): Promise<JsonObject> => {
    const json =
      identifier === '' ? undefined : await store.get(queries.view(''), parseIdentifier(identifier, type), caller);
    return (parsedJson(json ?? '{}') ?? {}) as JsonObject;
  };

  const recordOf = async (record: JsonObject, pointer: string): Promise<JsonObject> => {
    const members = new Map<string, JsonValue>();
    for (const [key, value] of Object.entries(record)) {
      const relation = relations.get(key);
      const kept = relation ? relatedIn(value, relation, shown, isPut) : value;
      if (key === ID && !isId(type)) {
        const message = refusedIdentifier(type, value, identifier);
        if (message !== undefined) refuse(`${pointer}/${ID}`, 'read-only', message);
        if (!type.identifier.inRecord) continue;
        members.set(type.identifier.name, value);
        sent.set(`${pointer}/${type.identifier.name}`, `${pointer}/${ID}`);
      } else if (key === type.identifier.name && type.identifier.inRecord && !isId(type))
        refuse(`${pointer}/${key}`, 'unknown-key', `Unknown key "${key}"; the identifier is called "${ID}" here`);
      else if (kept !== undefined && !links.has(key) && !(isPut && type.fields.get(key)?.readOnly))
        members.set(key, kept);
    }
    for (const [key, relation] of links) {
      const { [key]: value, [relation.name]: related } = record;
      const { name } = relation.target.identifier;
      const other = isObject(related) && Object.hasOwn(related, name) ? related[name] : related;
      if (value === undefined || value === other) continue;
      // Forms change one of the two: the other is what is stored.
      const before = other === undefined ? undefined : ((await stored())[key] ?? null);
      if (value === before) continue;
      if (other !== before)
        refuse(
          `${pointer}/${key}`,
          'contradiction',
          `"${key}" and "${relation.name}" link different records; send one`,
        );
      members.set(relation.name, value === null ? value : { [name]: value });
      for (const step of ['', `/${name}`]) sent.set(`${pointer}/${relation.name}${step}`, `${pointer}/${key}`);
    }
    return Object.fromEntries(members);
  };

  const raw = new Map(body.raw);
  const records: ParsedRecord[] = [];
  for (const one of body.records) {
    const record = await recordOf(one.body, one.pointer);
    const members = [...(raw.get(one.body) ?? [])].filter(([key]) => key !== ID || isId(type));
    raw.set(record, new Map(members));
    records.push({ ...one, body: record, sent, names: [...links.keys()] });
  }
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
  const reworded = (fault: Fault): Fault => {
    const pointer = 'pointer' in fault ? sent.get(fault.pointer) : undefined;
    return pointer === undefined ? fault : { ...fault, pointer };
  };
  return { ...body, raw, records, ...(sent.size > 0 ? { reworded } : {}) };
}

/** Why a record cannot have this identifier, in a type whose records do not show theirs. */
function refusedIdentifier({ identifier }: RecordType, value: JsonValue, addressed: string): string | undefined {
  if (identifier.inRecord || value === null || String(value) === addressed) return undefined;
  return addressed === ''
    ? `The service numbers these records itself; leave "${ID}" out`
    : `The identifier of this record is ${addressed} and cannot be changed`;
}

/** The identifiers of linked records, of which copies may be out of date; undefined for what the response to a PUT does not show. */
function relatedIn(value: JsonValue, relation: Relation, shown: View['relations'], isPut: boolean) {
  const view = shown.find((one) => one.relation === relation);
  if (isPut && view === undefined) return undefined;
  const isWritten = relation.nested === 'write' && !(isPut && view && isLink(view));
  const { name } = relation.target.identifier;
  // A form that clears `owner.id` sends `{ id: null }`.
  const linkOf = (one: JsonValue): JsonValue => {
    const { [name]: identifier } = isObject(one) ? one : {};
    return identifier === undefined ? one : identifier === null ? null : { [name]: identifier };
  };
  return isWritten ? value : Array.isArray(value) ? value.map(linkOf) : linkOf(value);
}
