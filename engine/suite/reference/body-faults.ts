/** What is wrong with a body, whatever it refers to: places of faults, in the order of the document. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../../json.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import { entriesOf, writeJson } from '../json-tree.ts';
import { sameText } from './linked.ts';
import { allSpeeches, membersOf, type Path, type Saying, type Speech } from './speeches.ts';
import { defaultOf, kept, written } from './values.ts';
import type { Id } from './world.ts';

interface Fact {
  readonly value: string;
  readonly at: string;
}

/** What is said first of each thing, and the places that say something else. */
class Facts {
  readonly first = new Map<string, Fact>();
  readonly faults: string[] = [];

  say(about: string, value: string, at: string): void {
    const known = this.first.get(about);
    if (!known) this.first.set(about, { value, at });
    else if (known.value !== value) this.faults.push(known.at, at);
  }
}

interface Claim {
  readonly child: string;
  readonly at: string;
}

const keyName = ({ link, source, target }: Relation): string => {
  if (link.at === 'join') return `${link.table.name}.${link.sourceColumn}`;
  return `${(link.at === 'source' ? source : target).name}.${link.reference.column}`;
};

const asText = (members: ReadonlySet<string>): string => JSON.stringify([...members].toSorted());

/** Two values for one key, two contents for one set, two targets for one link: both places of each. */
function contradictions(speeches: readonly Speech[]): readonly string[] {
  const facts = new Facts();
  const sets = new Map<
    string,
    { readonly members: ReadonlySet<string>; readonly at: string; readonly other: string }
  >();
  /** By foreign key and parent: who says to be its child, beside the sets. */
  const claims: (Claim & { readonly parent: string; readonly unique: boolean; readonly key: string })[] = [];
  const linked = new Set<string>();
  for (const speech of speeches) {
    for (const [key, value] of entriesOf(speech.body)) {
      if (speech.type.relations.has(key) || key === speech.type.identifier.name) continue;
      if (!speech.type.fields.has(key) && !speech.type.open) continue;
      facts.say(`${speech.who} . ${key}`, writeJson(value), `${speech.at}${pointer([key])}`);
    }
    for (const said of speech.says) sayRelation(speech, said);
  }
  for (const { key, parent, child, at, unique } of claims) {
    const set = sets.get(`${parent} < ${key}`);
    if (set && !set.members.has(child)) facts.faults.push(set.at, at);
    const rival = unique && !set ? claims.find((one) => one.key === key && one.parent === parent) : undefined;
    if (rival && rival.child !== child) facts.faults.push(rival.at, at);
  }
  for (const [about, { members, at, other }] of sets) {
    if (other === '') continue;
    const owner = about.slice(0, about.lastIndexOf(' < '));
    for (const member of members) {
      const back = sets.get(`${member} < ${other}`);
      if (back && !back.members.has(owner)) facts.faults.push(at, back.at);
    }
  }
  return facts.faults;

  function sayRelation(speech: Speech, said: Saying): void {
    const { relation, speeches: items, at } = said;
    const { link } = relation;
    const key = keyName(relation);
    if (link.at === 'source') {
      const parent = items[0]?.who;
      const about = `${speech.who} > ${key}`;
      facts.say(about, parent ?? '', at);
      if (parent !== undefined && !linked.has(about))
        claims.push({ key, parent, child: speech.who, at, unique: link.reference.unique });
      linked.add(about);
      return;
    }
    const members = membersOf(speech, said);
    const about = `${speech.who} < ${key}`;
    if (link.at === 'target')
      for (const item of items) {
        facts.say(`${item.who} > ${key}`, speech.who, item.at);
        linked.add(`${item.who} > ${key}`);
      }
    facts.say(about, asText(members), at);
    const other = link.at === 'join' && relation.inverse ? keyName(relation.inverse) : '';
    if (!sets.has(about)) sets.set(about, { members, at, other });
  }
}

/** Values of read-only fields that are not those which the record has, or will have. */
function readOnlyFaults({ type, row, body, at, lost }: Speech, patch: boolean): readonly string[] {
  if (lost) return [];
  return [...type.fields.values()].flatMap((field) => {
    const given = body[field.name];
    if (!field.readOnly || given === undefined) return [];
    const fixed = row ? (row.values.get(field) ?? null) : defaultOf(field);
    const value = written(fixed, kept(field, given), patch);
    const equal = field.type.keepsText ? sameText(fixed, value) : undefined;
    const same = value === null || fixed === null ? value === fixed : (equal ?? field.type.equal(value, fixed));
    return same ? [] : [`${at}${pointer([field.name])}`];
  });
}

/** A child that its owner does not have yet must have all that a new record needs. */
function missingIn(speeches: readonly Speech[]): readonly string[] {
  const made = speeches.filter(({ own, row, lost }) => own && row === undefined && !lost);
  return made.flatMap(({ who, type, at, via }, index) => {
    if (made.findIndex((one) => one.who === who) !== index) return [];
    const said = new Set(made.filter((one) => one.who === who).flatMap(({ body }) => Object.keys(body)));
    const needed = [...type.fields.values(), ...type.relations.values()].filter(
      ({ required, name }) => required && name !== via?.relation.inverse?.name,
    );
    return needed.filter(({ name }) => !said.has(name)).map(({ name }) => `${at}${pointer([name])}`);
  });
}

function otherIdentifier(
  { identifier: { name } }: RecordType,
  body: JsonObject,
  id: Id | undefined,
  same: Id | undefined,
) {
  return id !== undefined && name in body && id !== same ? [pointer([name])] : [];
}

/** `misfits`: places of values that do not fit their type, which whoever wrote the body knows. */
export function bodyFaults(
  root: Speech,
  update: boolean,
  named: Id | undefined,
  patch: boolean,
  misfits: readonly string[],
): readonly string[] {
  const speeches = allSpeeches(root);
  const faults = [
    ...misfits,
    ...(update ? otherIdentifier(root.type, root.body, root.id, named) : []),
    ...speeches.flatMap(({ doubles }) => doubles),
    ...contradictions(speeches),
    ...speeches.flatMap((speech) => readOnlyFaults(speech, patch)),
    ...missingIn(speeches),
  ];
  return inOrder(root.body, faults);
}

/** Each place once; a key that is missing comes after everything in its object. */
export function inOrder(body: JsonObject, places: readonly string[]): readonly string[] {
  const order = new Map<string, number>();
  const ends = new Map<string, number>();
  const visit = (value: JsonValue, at: Path): void => {
    order.set(pointer(at), order.size + ends.size);
    if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item as JsonValue, [...at, index]);
    else if (isObject(value)) for (const [key, item] of entriesOf(inObject(value))) visit(item, [...at, key]);
    if (isObject(value)) ends.set(pointer(at), order.size + ends.size);
  };
  visit(body, []);
  const rank = (place: string): number =>
    order.get(place) ?? ends.get(place.slice(0, place.lastIndexOf('/'))) ?? Number.MAX_SAFE_INTEGER;
  return [...new Set(places)].toSorted((a, b) => rank(a) - rank(b));
}

/** As JSON.parse orders them: keys that look like indices come first. */
function inObject(body: JsonObject): JsonObject {
  return Object.fromEntries(entriesOf(body));
}
