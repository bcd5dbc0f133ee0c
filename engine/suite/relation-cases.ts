/** The cases of each relation, and of deletions that other records depend on. */
import { type JsonValue, pointer } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { type Draft, newBody, obtain, refusedBody, type Samples, writable } from './bodies.ts';
import { ANY, type Case, collection, condition, guard, item, MISSING, problem, ref } from './cases.ts';
import { add, creates, differing, make, type Maker, refuses, shows } from './record-cases.ts';

export const relationCases = (samples: Samples, type: RecordType): readonly Case[] => {
  const { operations, relations, referrers } = type;
  const makers = [
    ...[...relations.values()].flatMap((relation) => [...linkCases(relation), ...refusedLinks(relation)]),
    ...(operations.has('delete') ? referrers.map((referrer) => deletion(type, referrer)) : []),
  ];
  return operations.has('create') ? make(samples, type, makers) : [];
};

/** What the key of the relation holds for this record, and where that stands in the body. */
const inRelation = ({ toMany }: Relation, body: JsonValue): JsonValue => (toMany ? [body] : body);
const placeIn = ({ name, toMany }: Relation): readonly (string | number)[] => (toMany ? [name, 0] : [name]);

/** Whether records that are there can be linked: they have an identifier to name, and no owner to stay with. */
const isLinkable = ({ owned, link, target }: Relation): boolean =>
  target.identifier.inRecord && !(owned && link.at !== 'join');

const titleOf = ({ source, name }: Relation, text: string): string =>
  `POST ${collection(source)} with ${name}: ${text}`;

/** Creates a record with this value of the relation, which the response shows. */
function createsWith(draft: Draft, relation: Relation, value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined;
  const { source, name } = relation;
  return creates(draft, source, newBody(draft, source, { values: { [name]: inRelation(relation, value) } }), [name]);
}

const newChild = (draft: Draft, relation: Relation) =>
  relation.nested === 'write' ? newBody(draft, relation.target, { via: relation, full: true }) : undefined;

/** A link to a record that is made for it. */
function newLink(draft: Draft, relation: Relation) {
  const { target } = relation;
  const name = isLinkable(relation) ? obtain(draft, target) : undefined;
  return name === undefined ? undefined : { [target.identifier.name]: ref(name) };
}

/** Keeps the identifier of the related record that the last step made. */
function keepChild({ steps }: Draft, relation: Relation): void {
  const last = steps.pop();
  const child = pointer([...placeIn(relation), relation.target.identifier.name]);
  if (last) steps.push({ ...last, keep: { ...last.keep, child } });
}

const linkCases = (relation: Relation): readonly Maker[] => [
  (draft) => {
    const { source, name, toMany } = relation;
    const link = newLink(draft, relation);
    const made = createsWith(draft, relation, link);
    const { name: key, inRecord } = source.identifier;
    if (made === undefined || toMany || !source.operations.has('list') || !inRecord)
      return made && titleOf(relation, 'a link');
    const related = Object.values(link ?? {}).map((one) => `{${one['$ref']}}`);
    const query = `?${condition([name], '')}${related.join('')}&${condition([key], '')}{${made}}&fields=${encodeURIComponent(key)}`;
    add(draft, { method: 'GET', path: collection(source, query) }, shows(source, 200, [{ [key]: ref(made) }]));
    return titleOf(relation, 'a link, and the list by it');
  },
  (draft) => createsWith(draft, relation, newChild(draft, relation)) && titleOf(relation, 'a new record'),
  (draft) => linkChanged(draft, relation),
  (draft) => (relation.source.operations.has('update') && !relation.required ? unlink(draft, relation) : undefined),
];

/** Requests with a value of the relation that is refused. */
function refusedLinks(relation: Relation): readonly Maker[] {
  const { source, name, target, nested, owned, toMany, required } = relation;
  const key = target.identifier.name;
  const place = placeIn(relation);
  const refused =
    (text: string, isPossible: boolean, values: readonly (readonly [JsonValue, ...(string | number)[]])[]): Maker =>
    (draft) =>
      isPossible &&
      refuses(
        draft,
        source,
        values.map(([value, ...at]) => [{ [name]: value }, ...at]),
      )
        ? titleOf(relation, text)
        : undefined;
  const bad: readonly JsonValue[] = toMany ? [null, {}, 'text', 7] : [[], 'text', 7];
  const twice = [1, 2].map(() => ({ [key]: MISSING }));
  return [
    refused('a new record, where only links are allowed', nested === 'link' && target.identifier.inRecord, [
      [inRelation(relation, {}), ...place, key],
    ]),
    refused('null, which is not allowed', required, [[null, name]]),
    refused(
      'what is no record',
      true,
      bad.map((value) => [value, name]),
    ),
    refused('one record twice', toMany && target.identifier.inRecord, [[twice, name, 1]]),
    (draft) => {
      const values = { [name]: inRelation(relation, { [key]: MISSING }) };
      const body = target.identifier.inRecord ? newBody(draft, source, { values }) : undefined;
      const expected = problem(422, 'invalid-reference', { pointers: [pointer([...place, key])] });
      if (body) add(draft, { method: 'POST', path: collection(source), body }, expected);
      return titleOf(relation, 'a record that is not there');
    },
    (draft) => {
      const field =
        nested === 'write' ? relation.fields.find((one) => !one.readOnly && one.type.bad(one).length > 0) : undefined;
      if (!field) return undefined;
      const whole = refusedBody(draft, target, { [field.name]: field.type.bad(field)[0] ?? null });
      const { [relation.inverse?.name ?? '']: _, ...child } = whole ?? {};
      if (!whole) return undefined;
      const isRefused = refuses(draft, source, [[{ [name]: inRelation(relation, child) }, ...place, field.name]]);
      return isRefused ? titleOf(relation, `a record with a bad value of ${field.name}`) : undefined;
    },
    (draft) => {
      const parent =
        owned && target.identifier.inRecord ? createsWith(draft, relation, newChild(draft, relation)) : undefined;
      if (parent === undefined) return undefined;
      keepChild(draft, relation);
      const body = newBody(draft, source, { values: { [name]: inRelation(relation, { [key]: ref('child') }) } });
      const expected = problem(422, 'invalid-reference', { pointers: [pointer([...place, key])] });
      if (body) add(draft, { method: 'POST', path: collection(source), body }, expected);
      return titleOf(relation, 'a record that belongs to another one');
    },
  ];
}

/** A linked record with another value: it is changed where the relation writes, and refused where it only links. */
function linkChanged(draft: Draft, relation: Relation): string | undefined {
  const { source, name, target, nested } = relation;
  const field = relation.fields.find((one) => isIndependent(target, one));
  const isMade = draft.samples.sources.get(target) === 'create';
  const other = field && isLinkable(relation) && isMade ? obtain(draft, target, { full: true }) : undefined;
  if (!field || other === undefined) return undefined;
  const value = differing(field, draft.records.get(other)?.[field.name] ?? null) ?? null;
  const changed = { [target.identifier.name]: ref(other), [field.name]: value };
  const title = titleOf(relation, `a link and another ${field.name}`);
  if (nested === 'write') return createsWith(draft, relation, changed) && title;
  const body = newBody(draft, source, { values: { [name]: inRelation(relation, changed) } });
  const expected = problem(409, 'link-conflict', { pointers: [pointer([...placeIn(relation), field.name])] });
  if (body) add(draft, { method: 'POST', path: collection(source), body }, expected);
  return body && `${title}, which is refused`;
}

/** Whether any value of the field goes with any of the others. */
const isIndependent = (type: RecordType, field: Field): boolean => {
  const groups = [...type.checks.map(({ fields }) => fields), ...type.indexes.map(({ members }) => members)];
  const isFree =
    writable(type).includes(field) && !field.unique && groups.every((all) => !all.some((one) => one === field));
  return isFree && differing(field, field.type.good(field, 1)) !== undefined;
};

/** A relation that is emptied again. */
function unlink(draft: Draft, relation: Relation): string | undefined {
  const { source, name, target, owned, toMany, inverse, link } = relation;
  const parent = createsWith(draft, relation, newLink(draft, relation) ?? newChild(draft, relation));
  if (parent === undefined) return undefined;
  const isGone = owned && target.identifier.inRecord && target.operations.has('get');
  if (isGone) keepChild(draft, relation);
  const empty = toMany ? [] : null;
  const path = item(source, parent, `?include=${encodeURIComponent(name)}`);
  const request = { method: 'PATCH', path, body: { [name]: empty }, ...guard(source) };
  const title = `PATCH ${item(source, 'id')} with ${name}: ${JSON.stringify(empty)}`;
  if (inverse?.owned === true || (link.at === 'target' && link.reference.required && !owned)) {
    add(draft, request, problem(422, 'invalid-reference', { pointers: [pointer([name])] }));
    return `${title}, which is refused`;
  }
  const { name: key, inRecord } = source.identifier;
  const shown = Object.fromEntries(source.defaultVariant.fields.map((field) => [field.name, ANY]));
  add(draft, request, shows(source, 200, { ...(inRecord ? { [key]: ref(parent) } : {}), ...shown, [name]: empty }));
  if (isGone) add(draft, { method: 'GET', path: item(target, 'child') }, problem(404, 'record-not-found'));
  return title;
}

/** A record that another one refers to is deleted. */
const deletion =
  (type: RecordType, { type: child, reference: { relation, onDelete } }: RecordType['referrers'][number]): Maker =>
  (draft) => {
    if (!relation || !child.operations.has('create') || !type.identifier.inRecord) return undefined;
    const parent = obtain(draft, type);
    const link = { [relation.name]: { [type.identifier.name]: ref(parent ?? '') } };
    const other = parent === undefined ? undefined : obtain(draft, child, { values: link });
    if (parent === undefined || other === undefined) return undefined;
    const isKept = onDelete === 'restrict';
    const request = { method: 'DELETE', path: item(type, parent), ...guard(type) };
    add(draft, request, isKept ? problem(409, 'restrict-conflict') : { status: 200 });
    const { name: key, inRecord } = child.identifier;
    const path = item(child, other, `?fields=${[key, relation.name].map(encodeURIComponent).join(',')}`);
    const unlinked = shows(child, 200, { ...(inRecord ? { [key]: ref(other) } : {}), [relation.name]: null });
    if (!isKept && child.operations.has('get'))
      add(draft, { method: 'GET', path }, onDelete === 'cascade' ? problem(404, 'record-not-found') : unlinked);
    return `DELETE ${item(type, 'id')} while ${child.name}.${relation.name} refers to it: ${onDelete}`;
  };
