/** What a body says of records that it may only link: nothing but what they are, once the body is carried out. */
import { isDeepStrictEqual } from 'node:util';
import { type JsonValue, pointer } from '../../json.ts';
import type { Field } from '../../model/model.ts';
import { entriesOf, writeJson } from '../json-tree.ts';
import { related } from './links.ts';
import { membersOf, isWayBack, type Saying, type Speech } from './speeches.ts';
import { type Row, rowOf, type World } from './world.ts';
import { kept, written, writtenOpen } from './values.ts';
import type { Ids } from './writes.ts';

function sameValue(field: Field, stored: JsonValue, given: JsonValue): boolean {
  if (stored === null || given === null) return stored === given;
  return field.type.keepsText ? sameText(stored, given) : field.type.equal(stored, given);
}

/** Texts of one value, as far as JSON.parse tells them apart. */
export function sameText(stored: JsonValue | undefined, given: JsonValue | undefined): boolean {
  if (stored === undefined || given === undefined) return stored === given;
  const [before, now] = [stored, given].map((value) => JSON.parse(writeJson(value)) as JsonValue);
  return isDeepStrictEqual(before, now);
}

function differingValues({ type, body, at }: Speech, row: Row, patch: boolean): readonly string[] {
  return entriesOf(body).flatMap(([key, given]) => {
    const field = type.fields.get(key);
    if (type.relations.has(key) || key === type.identifier.name || field?.readOnly) return [];
    const stored = field ? (row.values.get(field) ?? null) : row.open.get(key);
    const same = field
      ? sameValue(field, stored ?? null, written(stored ?? null, kept(field, given), patch))
      : sameText(stored, writtenOpen(stored, given, patch));
    return same ? [] : [`${at}${pointer([key])}`];
  });
}

/** Items that are not in the relation, and the relation where it has others. */
function differingLinks(after: World, speech: Speech, said: Saying, row: Row, ids: Ids): readonly string[] {
  const { relation, speeches, at } = said;
  if (isWayBack(speech, relation)) return [];
  const actual = new Set(related(after, relation, row).map(({ id }) => id));
  const strangers = speeches.filter(({ who, lost }) => !lost && !actual.has(ids.get(who) ?? ''));
  if (relation.link.at === 'source')
    return strangers.length > 0 || (speeches.length === 0 && actual.size > 0) ? [at] : [];
  const members = new Set([...membersOf(speech, said)].map((who) => ids.get(who)));
  const lost = !relation.toMany && speeches.some((one) => one.lost);
  const others = lost ? [] : [...actual].filter((id) => !members.has(id));
  return [...strangers.map((one) => one.at), ...(others.length > 0 ? [at] : [])];
}

export function linkConflicts(after: World, speeches: readonly Speech[], ids: Ids, patch: boolean): readonly string[] {
  return speeches
    .filter(({ writable, lost }) => !writable && !lost)
    .flatMap((speech) => {
      const row = rowOf(after, speech.type, ids.get(speech.who) ?? '');
      if (row === undefined || (speech.row === undefined && !speech.own)) return [];
      return [
        ...differingValues(speech, row, patch),
        ...speech.says.flatMap((said) => differingLinks(after, speech, said, row, ids)),
      ];
    });
}
