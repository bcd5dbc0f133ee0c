/** Merges a person's draft with what somebody else saved meanwhile: by fields, and in sets by records and their fields. */
import {
  type FieldInfo,
  isToMany,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';
import { isWritable } from '../presentations/field-draft.ts';
import { type Draft, type Item, itemsOf, keyOf, OTHER_KEYS, type RecordDraft } from './draft.ts';

/** Inputs that were opened, and nothing typed into them, make no difference. */
const contentOf = (draft: Draft): string => {
  const items = itemsOf(draft).map(({ id, record, stored }) => [id, record ?? stored]);
  return JSON.stringify(items.length > 0 || Array.isArray(draft) ? items : draft);
};

export const differ = (one: Draft, other: Draft): boolean => contentOf(one) !== contentOf(other);

export type Side = 'mine' | 'theirs';

export interface Member {
  readonly key: string;
  /** Undefined: the keys that no field names. */
  readonly title: string | undefined;
  readonly field?: FieldInfo;
  readonly relation?: RelationInfo;
}

/** What both have changed, each in another way: a person has to choose. */
export interface Question extends Member {
  readonly id: string;
  /** The relations and records that it is within. */
  readonly within: readonly string[];
  readonly was: Draft;
  readonly mine: Draft;
  readonly theirs: Draft;
}

export interface Merge {
  readonly draft: RecordDraft;
  readonly questions: readonly Question[];
  /** Whether everything that I have changed is stored already: only the answer was lost. */
  readonly isSaved: boolean;
}

const membersOf = ({ fields, relations, open }: TypeInfo): readonly Member[] => [
  ...fields.filter(isWritable).map((field) => ({ key: keyOf(field.name), title: field.title, field })),
  ...relations
    .filter(({ readOnly }) => !readOnly)
    .map((relation) => ({ key: keyOf(relation.name), title: relation.title, relation })),
  ...(open ? [{ key: OTHER_KEYS, title: undefined }] : []),
];

interface Versions<T> {
  readonly was: T;
  readonly mine: T;
  readonly theirs: T;
}

/** `sideOf`: what was chosen for each question. */
export function mergeOf(
  model: StudioModel,
  type: TypeInfo,
  versions: Versions<RecordDraft>,
  sideOf: (question: string) => Side,
): Merge {
  const questions: Question[] = [];
  const ask = (question: Question): Draft => {
    questions.push(question);
    return question[sideOf(question.id)];
  };

  const ofRecord = (
    at: TypeInfo,
    { was, mine, theirs }: Versions<RecordDraft>,
    id: string,
    within: readonly string[],
  ) => {
    const merged: Record<string, Draft> = { ...theirs };
    for (const member of membersOf(at)) {
      const { key, relation } = member;
      if (!(key in mine)) continue;
      const values = { was: was[key], mine: mine[key], theirs: theirs[key] };
      if (!differ(values.was, values.mine) || !differ(values.mine, values.theirs)) continue;
      const question = { ...member, ...values, id: `${id}/${key}`, within };
      if (relation === undefined) merged[key] = differ(values.was, values.theirs) ? ask(question) : values.mine;
      else merged[key] = isToMany(relation) ? ofSet(relation, question) : ofOne(relation, question);
    }
    return merged;
  };

  /** A record that both have, or one of them has removed. */
  const ofItem = (relation: RelationInfo, question: Question): Item | undefined => {
    const { was, mine, theirs, id, within } = question;
    const [before] = itemsOf(was);
    const [my] = itemsOf(mine);
    const [their] = itemsOf(theirs);
    if (my === undefined || their === undefined) {
      if (!differ(my === undefined ? theirs : mine, was)) return undefined;
      return itemsOf(ask(question))[0];
    }
    const target = typeNamed(model, relation.type);
    const [old, changed, stored] = [before, my, their].map((item) => item?.record ?? item?.stored ?? null);
    if (changed === null || changed === undefined || !stored || my.record === null) return their;
    const record = ofRecord(target, { was: old ?? {}, mine: changed, theirs: stored }, id, [...within, my.name]);
    return { ...their, record };
  };

  const ofOne = (relation: RelationInfo, question: Question): Draft => {
    const { was, mine, theirs } = question;
    const [my] = itemsOf(mine);
    const isSame = my !== undefined && my.id !== null && my.id === itemsOf(theirs)[0]?.id;
    if (isSame) return ofItem(relation, { ...question, within: [...question.within, relation.title] }) ?? null;
    return differ(was, theirs) ? ask(question) : mine;
  };

  const ofSet = (relation: RelationInfo, question: Question): readonly Item[] => {
    const [was, mine, theirs] = [question.was, question.mine, question.theirs].map(itemsOf);
    const find = (items: readonly Item[] = [], id: string | null): Item | null =>
      items.find((item) => item.id === id) ?? null;
    const merge = (id: string, name: string): readonly Item[] => {
      const items = { was: find(was, id), mine: find(mine, id), theirs: find(theirs, id) };
      const within = [...question.within, relation.title];
      const merged = ofItem(relation, { ...question, ...items, title: name, within, id: `${question.id}/${id}` });
      return merged === undefined ? [] : [merged];
    };
    const isKnown = ({ id }: Item): boolean => id !== null && find(was, id) !== null;
    return [
      ...(theirs ?? []).flatMap((item) =>
        item.id !== null && (isKnown(item) || find(mine, item.id) !== null) ? merge(item.id, item.name) : item,
      ),
      ...(mine ?? []).flatMap((item) => {
        if (item.id === null) return item;
        if (find(theirs, item.id) !== null) return [];
        return isKnown(item) ? merge(item.id, item.name) : item;
      }),
    ];
  };

  const { was, mine, theirs } = versions;
  const changed = membersOf(type).filter(({ key }) => key in mine && differ(was[key], mine[key]));
  const isSaved = changed.length > 0 && changed.every(({ key }) => !differ(mine[key], theirs[key]));
  const draft = ofRecord(type, versions, '', []);
  return { draft, questions, isSaved };
}

/** The values typed after `sent` was taken. */
export function typedSince(sent: RecordDraft, now: RecordDraft): Readonly<Record<string, Draft>> {
  return Object.fromEntries(Object.entries(now).filter(([key, value]) => differ(sent[key], value)));
}
