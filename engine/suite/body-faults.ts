/** What is wrong with a body, whatever it refers to: places of faults, in the order of the document. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../json.ts';
import { type Field, MAX_GIVEN_IDENTIFIER, type RecordType, type Relation } from '../model/model.ts';
import { entriesOf, referenceName, writeJson } from './template.ts';
import { allMentions, type RelationContent, membersOf, type RecordMention, type BodyPath } from './mentions.ts';
import { isUnchanged, ownEntries, refusedAt } from './values.ts';
import { isIdentifierKey } from './world.ts';

/** What a write asks for, beside its body. */
export interface BodyWrite {
  readonly type: RecordType;
  readonly body: JsonObject;
  /** Whether a record is addressed. */
  readonly update: boolean;
  readonly patch: boolean;
  /** The fields that the variant accepts. */
  readonly fields: readonly Field[];
  /** Rows that one write may touch. */
  readonly writeRows: number;
}

const isIdentifier = (value: JsonValue): boolean =>
  referenceName(value) !== undefined || (Number.isSafeInteger(value) && Number(value) > 0);

/** Values that do not fit their place, and keys that have none. */
function misfits(type: RecordType, fields: readonly Field[], body: JsonObject, path: BodyPath): readonly string[] {
  return entriesOf(body).flatMap(([key, value]) => {
    const [field, relation, at] = [type.fields.get(key), type.relations.get(key), [...path, key]];
    if (relation) return misfitsOf(relation, value, at);
    if (isIdentifierKey(type, key)) return value === null || isIdentifier(value) ? [] : [pointer(at)];
    if (!field || !fields.includes(field)) return type.open && !field ? [] : [pointer(at)];
    return field.readOnly ? [] : refusedAt(field, value).map((within) => pointer([...at, ...within]));
  });
}

function misfitsOf({ toMany, required, target, fields }: Relation, value: JsonValue, at: BodyPath): readonly string[] {
  if (value === null && !toMany) return required ? [pointer(at)] : [];
  if (toMany !== Array.isArray(value)) return [pointer(at)];
  return [value].flat().flatMap((item: JsonValue, index) => {
    const place = toMany ? [...at, index] : at;
    return isObject(item) ? misfits(target, fields, item, place) : [pointer(place)];
  });
}

/** The identifier of a body for one record: what clients may choose, or the record's own. */
function identifierFaults({ type, update, body }: BodyWrite, { id }: RecordMention): readonly string[] {
  const { name, inRecord } = type.identifier;
  const value = body[name];
  if (!inRecord || value === undefined) return [];
  const own = update ? (referenceName(value) ?? value) === id : !(Number(value) > MAX_GIVEN_IDENTIFIER);
  return own || (value === null && !update) ? [] : [pointer([name])];
}

/** What a new record needs and the body does not say; for one that may only be linked, which record it is. */
function missingIn(mentions: readonly RecordMention[]): readonly string[] {
  const made = mentions.filter(({ named, row, lost }) => !named && row === undefined && !lost);
  return made.flatMap(({ who, type, path, via }, index) => {
    if (made.findIndex((one) => one.who === who) !== index) return [];
    if (via?.relation.nested === 'link' && !via.relation.owned) return [pointer([...path, type.identifier.name])];
    const said = new Set(made.filter((one) => one.who === who).flatMap(({ body }) => Object.keys(body)));
    return [...type.fields.values(), ...type.relations.values()]
      .filter(({ required, name }) => required && name !== via?.relation.inverse?.name && !said.has(name))
      .map(({ name }) => pointer([...path, name]));
  });
}

const keyName = ({ link, source, target }: Relation): string =>
  link.at === 'join'
    ? `${link.table.name}.${link.sourceColumn}`
    : `${(link.at === 'source' ? source : target).name}.${link.reference.column}`;

/** What is said first of each thing, and the places that say something else. */
class Facts {
  readonly first = new Map<string, { readonly value: string; readonly at: string }>();
  readonly faults: string[] = [];

  say(about: string, value: string, at: string): void {
    const known = this.first.get(about);
    if (!known) this.first.set(about, { value, at });
    else if (known.value !== value) this.faults.push(known.at, at);
  }
}

interface Claim {
  readonly key: string;
  readonly parent: string;
  readonly child: string;
  readonly at: string;
  readonly unique: boolean;
}

interface SetMembers {
  readonly members: ReadonlySet<string>;
  readonly owner: string;
  readonly at: string;
  /** The same connection from its other side, where it is a join. */
  readonly other: string | undefined;
}

/** Two values for one key, two contents for one set, two targets for one link: both places of each. */
class Contradictions extends Facts {
  readonly sets = new Map<string, SetMembers>();
  /** Children that name their parent, beside the sets. */
  readonly claims: Claim[] = [];
  readonly linked = new Set<string>();

  hear(mention: RecordMention): void {
    for (const [key, value] of ownEntries(mention.type, mention.body))
      if (mention.type.fields.has(key) || mention.type.open)
        this.say(`${mention.who} . ${key}`, writeJson(value), pointer([...mention.path, key]));
    for (const content of mention.contents) {
      if (content.relation.link.at === 'source')
        this.hearLink(mention, content, content.relation.link.reference.unique);
      else this.hearSet(mention, content);
    }
  }

  private hearLink({ who }: RecordMention, { relation, mentions, at }: RelationContent, unique: boolean): void {
    const key = keyName(relation);
    const parent = mentions[0]?.who;
    const about = `${who} > ${key}`;
    this.say(about, parent ?? '', at);
    if (parent !== undefined && !this.linked.has(about)) this.claims.push({ key, parent, child: who, at, unique });
    this.linked.add(about);
  }

  private hearSet(mention: RecordMention, content: RelationContent): void {
    const { relation, mentions, at } = content;
    const key = keyName(relation);
    const members = membersOf(mention, content);
    if (relation.link.at === 'target')
      for (const item of mentions) {
        this.say(`${item.who} > ${key}`, mention.who, item.at);
        this.linked.add(`${item.who} > ${key}`);
      }
    const about = `${mention.who} < ${key}`;
    this.say(about, JSON.stringify([...members].toSorted()), at);
    const other = relation.link.at === 'join' && relation.inverse ? keyName(relation.inverse) : undefined;
    if (!this.sets.has(about)) this.sets.set(about, { members, owner: mention.who, at, other });
  }

  /** What only shows when everything was heard. */
  conclude(): readonly string[] {
    for (const { key, parent, child, at, unique } of this.claims) {
      const set = this.sets.get(`${parent} < ${key}`);
      if (set && !set.members.has(child)) this.faults.push(set.at, at);
      const rival = unique && !set ? this.claims.find((one) => one.key === key && one.parent === parent) : undefined;
      if (rival && rival.child !== child) this.faults.push(rival.at, at);
    }
    for (const { members, owner, at, other } of this.sets.values())
      for (const member of other === undefined ? [] : members) {
        const back = this.sets.get(`${member} < ${other}`);
        if (back && !back.members.has(owner)) this.faults.push(at, back.at);
      }
    return this.faults;
  }
}

function contradictions(mentions: readonly RecordMention[]): readonly string[] {
  const heard = new Contradictions();
  for (const mention of mentions) heard.hear(mention);
  return heard.conclude();
}

/** Items that name a record which stands in the set already. */
const duplicates = ({ contents }: RecordMention): readonly string[] =>
  contents.flatMap(({ mentions }) =>
    mentions.filter(({ who }, index) => mentions.findIndex((one) => one.who === who) < index).map(({ at }) => at),
  );

/** Values of read-only fields that are not those which the record has, or will have. */
const readOnlyFaults = ({ type, row, body, path, lost }: RecordMention, patch: boolean): readonly string[] =>
  ownEntries(type, body)
    .filter(([key, given]) => !lost && type.fields.get(key)?.readOnly && !isUnchanged(type, row, key, given, patch))
    .map(([key]) => pointer([...path, key]));

export function bodyFaults(root: RecordMention, written: BodyWrite): readonly string[] {
  const mentions = allMentions(root);
  return inOrder(written.body, [
    ...misfits(written.type, written.fields, written.body, []),
    ...identifierFaults(written, root),
    ...mentions.flatMap(duplicates),
    ...contradictions(mentions),
    ...mentions.flatMap((mention) => readOnlyFaults(mention, written.patch)),
    ...missingIn(mentions),
  ]);
}

/** Each place once; a key that is missing comes after everything in its object. */
export function inOrder(body: JsonObject, places: readonly string[]): readonly string[] {
  const order = new Map<string, number>();
  const ends = new Map<string, number>();
  const visit = (value: JsonValue, at: BodyPath): void => {
    order.set(pointer(at), order.size + ends.size);
    if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item as JsonValue, [...at, index]);
    // As JSON.parse orders them: keys that look like indices come first.
    else if (isObject(value))
      for (const [key, item] of Object.entries(Object.fromEntries(entriesOf(value)))) visit(item, [...at, key]);
    if (isObject(value)) ends.set(pointer(at), order.size + ends.size);
  };
  visit(body, []);
  const rank = (place: string): number =>
    order.get(place) ?? ends.get(place.slice(0, place.lastIndexOf('/'))) ?? Number.MAX_SAFE_INTEGER;
  return [...new Set(places)].toSorted((a, b) => rank(a) - rank(b));
}
