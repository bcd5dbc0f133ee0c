/** Faults of a body by itself, as places in document order. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../../engine/json/json.ts';
import { MAX_GIVEN_IDENTIFIER } from '../../engine/field-types/identifiers.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import { checkFaults } from './checks.ts';
import { entriesOf, referenceName } from './template.ts';
import {
  allMentions,
  type BodyPath,
  madeByClients,
  namesOfMembers,
  type RecordMention,
  type RelationContent,
} from './mentions.ts';
import { isUnchanged, ownEntries, refusedAt, writtenAs } from './values.ts';
import { isIdentifierKey } from './world.ts';

/** Options of a write besides its records. */
export interface BodyWrite {
  readonly type: RecordType;
  readonly body: JsonValue;
  readonly update: boolean;
  readonly upsert: boolean;
  readonly patch: boolean;
  readonly fields: readonly Field[];
}

const isIdentifier = (value: JsonValue): boolean =>
  referenceName(value) !== undefined || (Number.isSafeInteger(value) && Number(value) > 0);

function misfits(type: RecordType, fields: readonly Field[], body: JsonObject, path: BodyPath): readonly string[] {
  return entriesOf(body).flatMap(([key, value]) => {
    const [field, relation, at] = [type.fields.get(key), type.relations.get(key), [...path, key]];
    if (relation) return misfitsOf(relation, value, at);
    if (isIdentifierKey(type, key)) return value === null || isIdentifier(value) ? [] : [pointer(at)];
    if (!field || !fields.includes(field)) return type.open && !field && key !== '@etag' ? [] : [pointer(at)];
    return refusedAt(field, value).map((within) => pointer([...at, ...within]));
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
function identifierFaults({ type, update, upsert }: BodyWrite, { id, body, path }: RecordMention): readonly string[] {
  const { name, inRecord } = type.identifier;
  const value = body[name];
  if (!inRecord || value === undefined) return [];
  const own = update ? (referenceName(value) ?? value) === id : !(Number(value) > MAX_GIVEN_IDENTIFIER);
  return own || (value === null && (!update || upsert)) ? [] : [pointer([...path, name])];
}

/** Required keys that are missing in a new record; for a record that may only be linked, its identifier. */
function missingIn(mentions: readonly RecordMention[]): readonly string[] {
  // Nobody can say what the one child of a record has that is not there, nor that record itself.
  const isUnknown = ({ lost, own, via }: RecordMention): boolean => lost && (own || via === undefined);
  const made = mentions.filter((one) => !one.named && one.row === undefined && !isUnknown(one));
  return made.flatMap(({ who, type, path, via }, index) => {
    if (made.findIndex((one) => one.who === who) !== index) return [];
    if (via?.relation.nested === 'link' && !via.relation.owned) return [pointer([...path, type.identifier.name])];
    const said = new Set(made.filter((one) => one.who === who).flatMap(({ body }) => Object.keys(body)));
    const key = madeByClients(type) && !said.has(type.identifier.name) ? [type.identifier] : [];
    const required = [...type.fields.values(), ...type.relations.values()].filter(
      (one) => one.required && one.name !== via?.relation.inverse?.name && !said.has(one.name),
    );
    return [...key, ...required].map(({ name }) => pointer([...path, name]));
  });
}

const keyName = ({ link, source, target }: Relation): string =>
  link.at === 'join'
    ? `${link.table.name}.${link.sourceColumn}`
    : `${(link.at === 'source' ? source : target).name}.${link.reference.column}`;

/** The order and place of a statement in a body. */
interface Said {
  readonly at: string;
  readonly order: number;
}

/** A link that a child names itself, beside the sets. */
interface Claim extends Said {
  readonly key: string;
  readonly parent: string;
  readonly child: string;
  readonly unique: boolean;
}

interface SetMembers extends Said {
  readonly members: ReadonlySet<string>;
  readonly owner: string;
  /** The same connection from its other side, where it is a join. */
  readonly other: string | undefined;
}

/** Two values for one key, two contents for one set, two targets for one link: the second place. Links of new records that lead back to them. */
function contradictions(all: readonly RecordMention[]): readonly string[] {
  const faults: string[] = [];
  const first = new Map<string, { readonly value: string; readonly at: string }>();
  const sets = new Map<string, SetMembers>();
  const claims = new Map<string, Claim>();
  let sayings = 0;
  const say = (about: string, value: string, at: string): void => {
    sayings += 1;
    const known = first.get(about);
    if (!known) first.set(about, { value, at });
    else if (known.value !== value) faults.push(at);
  };
  const isNew = ({ id, given, named, row, lost }: RecordMention): boolean =>
    !lost && row === undefined && (given || !(named || id !== undefined));
  const awaits = new Map<string, { readonly who: string; readonly at: string }[]>();
  const link = (child: RecordMention, key: string, parent: RecordMention | undefined, at: string): void => {
    const about = `${child.who} > ${key}`;
    if (!first.has(about) && parent && parent.who !== child.who && isNew(child) && isNew(parent))
      awaits.set(child.who, [...(awaits.get(child.who) ?? []), { who: parent.who, at }]);
    say(about, parent?.who ?? '', at);
  };
  const hear = (mention: RecordMention, content: RelationContent): void => {
    const [{ who }, { relation, mentions, at }, key] = [mention, content, keyName(content.relation)];
    if (relation.link.at === 'source') {
      const [about, parent, { unique }] = [`${who} > ${key}`, mentions[0]?.who ?? '', relation.link.reference];
      if (!first.has(about) && parent !== '')
        claims.set(about, { key, parent, child: who, at, unique, order: sayings + 1 });
      return link(mention, key, mentions[0], at);
    }
    const members = namesOfMembers(mention, content);
    if (relation.link.at === 'target') for (const item of mentions) link(item, key, mention, item.at);
    say(`${who} < ${key}`, JSON.stringify([...members].toSorted()), at);
    const other = relation.link.at === 'join' && relation.inverse ? keyName(relation.inverse) : undefined;
    if (!sets.has(`${who} < ${key}`)) sets.set(`${who} < ${key}`, { members, owner: who, at, other, order: sayings });
  };
  for (const mention of all) {
    const { type, who, body, path, contents } = mention;
    for (const [key, value] of ownEntries(type, body))
      if (type.fields.has(key) ? type.fields.get(key)?.generated === undefined : type.open)
        say(`${who} . ${key}`, writtenAs(type, key, value), pointer([...path, key]));
    for (const content of contents) hear(mention, content);
  }
  return [...faults, ...disagreeing([...claims.values()], sets), ...cyclesIn(awaits)];
}

/** The links that lead back to a record which waits for theirs. */
function cyclesIn(
  awaits: ReadonlyMap<string, readonly { readonly who: string; readonly at: string }[]>,
): readonly string[] {
  const [waiting, begun] = [new Set<string>(), new Set<string>()];
  const visit = (who: string): readonly string[] => {
    if (begun.has(who)) return [];
    begun.add(who);
    waiting.add(who);
    const found = (awaits.get(who) ?? []).flatMap((one) => (waiting.has(one.who) ? [one.at] : visit(one.who)));
    waiting.delete(who);
    return found;
  };
  return [...awaits.keys()].flatMap(visit);
}

const secondOf = (one: Said, other: Said): string => (one.order < other.order ? other.at : one.at);

/** Faults that depend on the whole body. */
function disagreeing(claims: readonly Claim[], sets: ReadonlyMap<string, SetMembers>): readonly string[] {
  const ofClaims = claims.flatMap((claim) => {
    const { key, parent, child, unique } = claim;
    const set = sets.get(`${parent} < ${key}`);
    if (set) return set.members.has(child) ? [] : [secondOf(set, claim)];
    const rival = unique ? claims.find((one) => one.key === key && one.parent === parent) : undefined;
    return rival && rival.child !== child ? [secondOf(rival, claim)] : [];
  });
  const ofSets = [...sets.values()].flatMap((set) => {
    const { members, owner, other } = set;
    return [...(other === undefined ? [] : members)].flatMap((member) => {
      const back = sets.get(`${member} < ${other}`);
      return back && !back.members.has(owner) ? [secondOf(set, back)] : [];
    });
  });
  return [...ofClaims, ...ofSets];
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

/** Items of an array for a record that an earlier one writes. */
const repeated = (roots: readonly RecordMention[]): readonly RecordMention[] =>
  roots.filter(({ who }, index) => roots.findIndex((one) => one.who === who) < index);

/** Each place once, but for every check that it breaks if nothing else is wrong there. What the body says twice is told last. */
export function bodyFaults(roots: readonly RecordMention[], written: BodyWrite): readonly string[] {
  const again = repeated(roots);
  const mentions = roots.filter((root) => !again.includes(root)).flatMap(allMentions);
  const unfit = roots.flatMap(({ body, path }) => misfits(written.type, written.fields, body, path));
  const faults = [
    ...unfit,
    ...roots.flatMap((root) => identifierFaults(written, root)),
    ...mentions.flatMap((mention) => readOnlyFaults(mention, written.patch)),
    ...missingIn(mentions),
    // Of an item that repeats a record, only its own words are looked at, not what is stored.
    ...again.flatMap((root) => missingIn(allMentions(root).filter(({ own }) => !own))),
  ];
  const unmet = checkFaults(mentions, new Set(unfit), written.patch);
  if (faults.length + unmet.length === 0)
    return inOrder(written.body, [
      ...again.map(({ type, path }) => pointer([...path, type.identifier.name])),
      ...mentions.flatMap(duplicates),
      ...contradictions(mentions),
    ]);
  return inOrder(written.body, [...faults, ...unmet]).flatMap((place) =>
    faults.includes(place) ? place : unmet.filter((one) => one === place),
  );
}

/** Each place once; a key that is missing comes after everything in its object. */
export function inOrder(body: JsonValue, places: readonly string[]): readonly string[] {
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
