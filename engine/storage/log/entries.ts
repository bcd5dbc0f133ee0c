/**
 * The entries of the log as a client sees them. Rows name tables and columns; entries name the types, fields and relations
 * of today, and lack what is hidden, was dropped, or cannot be a value any more. Values stay JSON text, as they were written.
 */
import { createAjv } from '../../field-types/ajv-keywords.ts';
import { parsedJson } from '../../json/json.ts';
import { membersOf } from '../../json/raw.ts';
import type { RawMembers } from '../../json/tokenizer.ts';
import { memoized } from '../../memo.ts';
import { type Identifier, linkedIn } from '../../model/identifier.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Relation } from '../../model/model.ts';
import { canFollow, entryOf, namesRecords, type Rights, shows } from '../../model/rights.ts';
import type { Row } from '../dialect.ts';

/** The columns of a row that `EntryReader` reads, in its order. */
export const ENTRY_COLUMNS = 'position, source, record, operation, at, actor, request, "old", "new", unrecorded';

/** JSON by name. */
type Values = ReadonlyMap<string, string>;

export interface Entry {
  readonly position: number;
  readonly at: string;
  readonly by: string | null;
  readonly request: string | null;
  readonly type: string;
  readonly identifier: Identifier;
  readonly operation: 'create' | 'update' | 'delete' | 'link' | 'unlink';
  readonly relation?: string;
  readonly related?: Identifier;
  readonly old?: Values;
  readonly new?: Values;
  /** Fields with other values, which are confidential. */
  readonly unrecorded?: readonly string[];
}

export interface EntryReader {
  /** The tables whose rows can be entries. */
  readonly sources: readonly string[];
  /** undefined for a row of which the client sees nothing. */
  entryOf(row: Row): Entry | undefined;
}

/** A column: its present name, and its value as records show it, unless today's field cannot have it. */
interface Member {
  readonly name: string;
  shown(json: string): string | undefined;
}

const acceptedBy = memoized((field: Field) =>
  createAjv({ allErrors: false, strictTypes: false }).compile(field.type.schema(field)),
);

/** The value as the field of today has it, which was perhaps one of integers; undefined if it cannot have it. */
export function valueOf(field: Field, json: string): string | undefined {
  if (json === 'null') return field.nullable ? json : undefined;
  const forms = /^-?\d+$/.test(json) ? [json, `"${json}"`] : [json];
  return forms.find((form) => acceptedBy(field)(parsedJson(form)));
}

const fieldMember = (field: Field): Member => ({
  name: field.name,
  shown: (json) => (field.sensitive ? undefined : valueOf(field, json)),
});

function linkMember({ name, target: { identifier } }: Relation): Member {
  const before = `{${JSON.stringify(identifier.name)}:`;
  const isLink = (json: string): boolean => linkedIn(identifier, parsedJson(json)) !== undefined;
  return { name, shown: (json) => (json === 'null' ? json : isLink(json) ? `${before}${json}}` : undefined) };
}

export const identifierIn = ({ identifier: { kind } }: RecordType, text: string): Identifier =>
  kind.isCounted ? Number(text) : text;

type Content = Pick<Entry, 'relation' | 'related' | 'old' | 'new' | 'unrecorded'>;

interface Source {
  readonly type: RecordType;
  /** undefined if the client sees none of the content. */
  contentOf(was?: string, is?: string, unrecorded?: string): Content | undefined;
}

/** Rows of these types, and of their links. The client must be allowed to read the history of each. */
export function createEntryReader(types: Iterable<RecordType>, rights: Rights): EntryReader {
  /** By table, those of links by table and column of the other record. */
  const sources = new Map<string, Source>();
  for (const type of types) {
    const followed = [...type.relations.values()].filter(
      (relation) => canFollow(rights, relation) && namesRecords(rights, relation.target),
    );
    sources.set(type.table, { type, contentOf: recordContent(type, followed, rights) });
    for (const { name, link } of followed)
      if (link.at === 'join')
        sources.set(`${link.table.name} ${link.targetColumn}`, { type, contentOf: linkContent(name) });
  }
  return {
    sources: [...new Set([...sources.keys()].flatMap((key) => key.split(' ', 1)))],
    entryOf: ([position, table, record, operation, at, by, request, ...values]) => {
      const [was, is, unrecorded] = values.map((text) => text?.toString());
      const source = sources.get(String(table)) ?? sources.get([table, ...membersOf(was ?? is ?? '').keys()].join(' '));
      const content = source?.contentOf(was, is, unrecorded);
      if (!source || !content) return undefined;
      return {
        position: Number(position),
        at: new Date(Number(at)).toISOString(),
        by: by as string | null,
        request: request as string | null,
        type: source.type.name,
        identifier: identifierIn(source.type, String(record)),
        operation: operation as Entry['operation'],
        ...content,
      };
    },
  };
}

const linkContent =
  (relation: string): Source['contentOf'] =>
  (was, is) => {
    const [other] = membersOf(was ?? is ?? '').values();
    return other && { relation, related: JSON.parse(other.text) as Identifier };
  };

function recordContent(type: RecordType, followed: readonly Relation[], rights: Rights): Source['contentOf'] {
  const fields = [...type.fields.values()].filter(({ name }) => shows(rights, type, name));
  const members = new Map<string, Member>(fields.map((field) => [field.column, fieldMember(field)]));
  for (const relation of followed)
    if (relation.link.at === 'source') members.set(relation.link.reference.column, linkMember(relation));
  const isOpen = type.open && entryOf(rights, type.name, 'read')?.openKeys === true;
  const isOpenKey = (key: string): boolean =>
    key !== type.identifier.name && !type.fields.has(key) && !type.relations.has(key);
  const openKeysIn = (columns: RawMembers): RawMembers => membersOf(columns.get(OPEN_COLUMN)?.text ?? '');
  const valuesIn = (text: string, other = ''): Values => {
    const values = new Map<string, string>();
    const columns = membersOf(text);
    for (const [column, { text: json }] of columns) {
      const member = members.get(column);
      const shown = member?.shown(json);
      if (member && shown !== undefined) values.set(member.name, shown);
    }
    if (!isOpen) return values;
    const [open, openBefore] = [openKeysIn(columns), openKeysIn(membersOf(other))];
    // A key that only the other object has was added or removed: null removes it.
    for (const key of new Set([...open.keys(), ...openBefore.keys()])) {
      const json = open.get(key)?.text ?? 'null';
      if (isOpenKey(key) && json !== (openBefore.get(key)?.text ?? 'null')) values.set(key, json);
    }
    return values;
  };
  return (was, is, columns = '[]') => {
    const changed = JSON.parse(columns) as readonly string[];
    const unrecorded = changed.flatMap((column) => members.get(column)?.name ?? []);
    const content = {
      ...(was === undefined ? {} : { old: valuesIn(was, is) }),
      ...(is === undefined ? {} : { new: valuesIn(is, was) }),
      ...(unrecorded.length === 0 ? {} : { unrecorded }),
    };
    const isChange = was !== undefined && is !== undefined;
    return isChange && keysOf(content).length === 0 ? undefined : content;
  };
}

const keysOf = ({ old: was, new: is, unrecorded = [] }: Content): readonly string[] => [
  ...new Set([...(was?.keys() ?? []), ...(is?.keys() ?? []), ...unrecorded]),
];

function jsonOf(head: object, values: Readonly<Record<string, Values | undefined>>): string {
  const members = Object.entries(values).flatMap(([name, one]) => {
    if (one === undefined) return [];
    const own = [...one].map(([key, json]) => `${JSON.stringify(key)}:${json}`);
    return `,"${name}":{${own.join(',')}}`;
  });
  return `${JSON.stringify(head).slice(0, -1)}${members.join('')}}`;
}

/** `keys`: names what an update changed; `values`: old and new ones. */
export function entryJson(entry: Entry, cursor: string, shown: { readonly keys?: true; readonly values?: boolean }) {
  const { position: _, old: was, new: is, unrecorded, ...told } = entry;
  const keys = shown.keys && told.operation === 'update' ? keysOf(entry) : undefined;
  if (!shown.values) return jsonOf({ cursor, ...told, keys }, {});
  return jsonOf({ cursor, ...told, keys, unrecorded }, { old: was, new: is });
}

/** A record that is not there any more, with its values at the end. */
export const deletionJson = ({ at, by, request, identifier, old: record }: Entry, cursor: string): string =>
  jsonOf({ cursor, at, by, request, identifier }, { record });
