/** The initial values of a new record, from its address: a record to copy, or records that it belongs to. */
import { isIdentifier, isToMany, newPath, type StudioModel, type TypeInfo, typeNamed } from '../data/model.ts';
import { isInline, type Item, itemsOf, keyOf, newDraft, type RecordDraft } from './draft.ts';

const FROM = '$from';

export const duplicateAddress = (type: TypeInfo, id: string): string =>
  `${newPath(type)}?${FROM}=${encodeURIComponent(id)}`;

/** `links`: identifiers of related records, by the names of the relations. */
export const newAddress = (type: TypeInfo, links: Readonly<Record<string, string>>): string =>
  `${newPath(type)}?${new URLSearchParams(links).toString()}`;

const OPEN = '$open';

/** The form of a record in which the inputs of a related one are open. */
export const openAddress = ({ path }: TypeInfo, id: string, relation: string): string =>
  `/${path}/${encodeURIComponent(id)}/edit?${OPEN}=${encodeURIComponent(relation)}`;

export function openedDraft(search: string, draft: RecordDraft): RecordDraft {
  const key = keyOf(new URLSearchParams(search).get(OPEN) ?? '');
  const [item] = itemsOf(draft[key]);
  return item === undefined || Array.isArray(draft[key])
    ? draft
    : { ...draft, [key]: { ...item, record: item.stored } };
}

interface Prefilled {
  readonly from: string | undefined;
  /** Relations to one record, with its identifier. */
  readonly links: readonly (readonly [relation: string, id: string])[];
}

export function prefilledBy(model: StudioModel, type: TypeInfo, search: string): Prefilled {
  const query = new URLSearchParams(search);
  const links = type.relations
    .filter((relation) => !isToMany(relation) && !relation.readOnly)
    .flatMap((relation): (readonly [string, string])[] => {
      const id = query.get(relation.name) ?? '';
      return isIdentifier(typeNamed(model, relation.type), id) ? [[relation.name, id]] : [];
    });
  return { from: query.get(FROM) ?? undefined, links };
}

/** A record like another: what has to be unique is left open, and nothing is taken from the other one. */
export function likeDraft(type: TypeInfo, draft: RecordDraft): RecordDraft {
  const fresh = newDraft(type);
  const unique = type.fields.filter((field) => field.unique === true).map(({ name }) => name);
  const taken = type.relations
    .filter((relation) => (relation.kind === 'hasMany' || relation.kind === 'hasOne') && !isInline(relation))
    .map(({ name }) => name);
  const left = new Set([...unique, ...taken].map(keyOf));
  return Object.fromEntries(
    Object.entries(draft)
      .filter(([key]) => key in fresh)
      .map(([key, value]) => [key, left.has(key) ? fresh[key] : value]),
  );
}

export const linkTo = (id: string, name: string): Item => ({ id, name, record: null, stored: null });
