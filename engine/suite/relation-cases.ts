/** The cases of each relation, and of deletions that other records depend on. */
import { type JsonObject, type JsonValue, pointer } from '../json/json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { badValues, refuses } from './record-cases.ts';
import { collection, condition, guard, item, MISSING, problem, shows, Skip } from './run.ts';
import {
  type AddCase,
  type Context,
  create,
  differing,
  idOf,
  isObtainable,
  newBody,
  obtain,
  type Obtained,
  writable,
} from './samples.ts';

export function relationCases(add: AddCase, { operations, relations, referrers }: RecordType): void {
  if (!operations.has('create')) return;
  for (const relation of relations.values()) {
    linkCases(add, relation);
    refusedLinks(add, relation);
  }
  if (operations.has('delete')) for (const referrer of referrers) deletion(add, referrer);
}

/** The value of the relation's key that holds this record, and where that stands in the body. */
const inRelation = ({ toMany }: Relation, body: JsonValue): JsonValue => (toMany ? [body] : body);
const placeIn = ({ name, toMany }: Relation): readonly (string | number)[] => (toMany ? [name, 0] : [name]);

/** Whether records that are there can be linked: they have an identifier to name, and no owner to stay with. */
const isLinkable = ({ owned, link, target }: Relation): boolean =>
  target.identifier.inRecord && !(owned && link.at !== 'join');

/** Whether the related record cannot be without this one. */
const staysLinked = ({ owned, inverse, link }: Relation): boolean =>
  inverse?.owned === true || (link.at === 'target' && link.reference.required && !owned);

/** Whether any value of the field goes with any of the others. */
const isIndependent = (type: RecordType, field: Field): boolean =>
  writable(type).includes(field) &&
  !field.unique &&
  type.checks.every(({ fields }) => !fields.includes(field)) &&
  type.indexes.every(({ members }) => members.every((one) => one !== field)) &&
  differing(field, field.type.good(field, 1)) !== undefined;

const bodyWith = (context: Context, relation: Relation, value: JsonObject): Promise<JsonObject> =>
  newBody(context, relation.source, { values: { [relation.name]: inRelation(relation, value) } });

/** Creates a record with this value of the relation, which the response shows. */
const createsWith = async (context: Context, relation: Relation, value: JsonObject): Promise<Obtained> =>
  create(context, relation.source, await bodyWith(context, relation, value), [relation.name]);

/** Sends such a record, which is refused at this key of the related one. */
async function refusesWith(context: Context, relation: Relation, value: JsonObject, key: string, status: 409 | 422) {
  const body = await bodyWith(context, relation, value);
  const pointers = [pointer([...placeIn(relation), key])];
  const expected = problem(status, status === 409 ? 'link-conflict' : 'invalid-reference', { pointers });
  return context.expect({ method: 'POST', path: collection(relation.source), body }, expected);
}

const newChild = (context: Context, relation: Relation): Promise<JsonObject> =>
  newBody(context, relation.target, { via: relation, full: true });

/** A link to a record that is made for it. */
const newLink = async (context: Context, { target }: Relation): Promise<JsonObject> =>
  idOf(target, (await obtain(context, target)).id);

const childIn = ({ name, target }: Relation, { record }: Obtained): number =>
  Number(([record[name] ?? null].flat() as readonly JsonObject[])[0]?.[target.identifier.name]);

function linkCases(add: AddCase, relation: Relation): void {
  const { source, name, target, toMany, nested } = relation;
  const title = `POST ${collection(source)} with ${name}:`;
  const writes = nested === 'write';
  const canLink = isLinkable(relation) && isObtainable(target);
  const isListed = !toMany && source.operations.has('list') && source.identifier.inRecord;
  add(`${title} a link${isListed ? ', and the list by it' : ''}`, canLink, async (context) => {
    const link = await newLink(context, relation);
    const { id } = await createsWith(context, relation, link);
    const conditions = [condition([name], Object.values(link)[0]), condition([source.identifier.name], id)];
    const path = collection(source, `?${conditions.join('&')}`);
    if (isListed) await context.expect({ method: 'GET', path }, shows(source, 200, [idOf(source, id)]));
  });
  add(`${title} a new record`, writes, async (context) =>
    createsWith(context, relation, await newChild(context, relation)),
  );
  const field = relation.fields.find((one) => isIndependent(target, one));
  add(
    `${title} a link and another ${field?.name}${writes ? '' : ', which is refused'}`,
    field !== undefined && isLinkable(relation) && target.operations.has('create'),
    async (context) => {
      const { id, record } = await obtain(context, target, { full: true });
      const other = field && differing(field, record[field.name] ?? null);
      if (!field || other === undefined) throw new Skip();
      const linked = { ...idOf(target, id), [field.name]: other };
      return writes ? createsWith(context, relation, linked) : refusesWith(context, relation, linked, field.name, 409);
    },
  );
  add(
    `PATCH ${item(source, '{id}')} with ${name}: ${toMany ? '[]' : 'null'}${staysLinked(relation) ? ', which is refused' : ''}`,
    source.operations.has('update') && !relation.required && (canLink || writes),
    async (context) => unlink(context, relation, await (canLink ? newLink : newChild)(context, relation)),
  );
}

/** A relation that is emptied again. */
async function unlink(context: Context, relation: Relation, value: JsonObject): Promise<void> {
  const { source, name, target, owned, toMany } = relation;
  const parent = await createsWith(context, relation, value);
  const path = item(source, parent.id, `?include=${encodeURIComponent(name)}`);
  const empty = { [name]: toMany ? [] : null };
  const kept = problem(422, 'invalid-reference', { pointers: [pointer([name])] });
  const emptied = shows(source, 200, { ...idOf(source, parent.id), ...empty });
  const expected = staysLinked(relation) ? kept : emptied;
  await context.expect({ method: 'PATCH', path, body: empty, ...guard(source) }, expected);
  if (!owned || !target.identifier.inRecord || !target.operations.has('get')) return;
  const child = item(target, childIn(relation, parent));
  await context.expect({ method: 'GET', path: child }, problem(404, 'record-not-found'));
}

/** Requests with a value of the relation that is refused. */
function refusedLinks(add: AddCase, relation: Relation): void {
  const { source, name, target, nested, owned, toMany, required } = relation;
  const { name: key, inRecord } = target.identifier;
  const title = `POST ${collection(source)} with ${name}:`;
  const place = placeIn(relation);
  const writes = nested === 'write';
  const bad: readonly JsonValue[] = toMany ? [null, {}, 'text', 7] : [[], 'text', 7];
  const twice = [1, 2].map(() => idOf(target, MISSING));
  const refused = [
    [
      'a new record, where only links are allowed',
      nested === 'link' && inRecord,
      [inRelation(relation, {})],
      place,
      key,
    ],
    ['null, which is not allowed', required, [null], [name]],
    ['what is no record', true, bad, [name]],
    ['one record twice', toMany && inRecord, [twice], [name, 1]],
  ] as const;
  for (const [text, isPossible, values, ...at] of refused)
    add(`${title} ${text}`, isPossible, (context) =>
      refuses(
        context,
        source,
        values.map((value) => [{ [name]: value }, ...at.flat()]),
      ),
    );
  add(`${title} a record that is not there`, inRecord, (context) =>
    refusesWith(context, relation, idOf(target, MISSING), key, 422),
  );
  const field = writes ? relation.fields.find((one) => !one.readOnly && badValues(one).length > 0) : undefined;
  add(`${title} a record with a bad value of ${field?.name}`, field !== undefined, async (context) => {
    const [worst = null] = field ? badValues(field) : [];
    const child = { ...(await newBody(context, target, { via: relation })), [field?.name ?? '']: worst };
    await refuses(context, source, [[{ [name]: inRelation(relation, child) }, ...place, field?.name ?? '']]);
  });
  add(`${title} a record that belongs to another one`, owned && inRecord && writes, async (context) => {
    const parent = await createsWith(context, relation, await newChild(context, relation));
    await refusesWith(context, relation, idOf(target, childIn(relation, parent)), key, 422);
  });
}

/** A record that another one refers to is deleted. */
function deletion(add: AddCase, { type: child, reference }: RecordType['referrers'][number]): void {
  const { relation, onDelete } = reference;
  if (!relation || !child.operations.has('create') || !relation.target.identifier.inRecord) return;
  const { name, target: type } = relation;
  add(`DELETE ${item(type, '{id}')} while ${child.name}.${name} refers to it: ${onDelete}`, true, async (context) => {
    const parent = await obtain(context, type);
    const other = await obtain(context, child, { values: { [name]: idOf(type, parent.id) } });
    const isKept = onDelete === 'restrict';
    const request = { method: 'DELETE', path: item(type, parent.id), ...guard(type) };
    await context.expect(request, isKept ? problem(409, 'restrict-conflict') : { status: 200 });
    if (isKept || !child.operations.has('get')) return;
    const unlinked = shows(child, 200, { ...idOf(child, other.id), [name]: null });
    const path = item(child, other.id, `?include=${encodeURIComponent(name)}`);
    await context.expect({ method: 'GET', path }, onDelete === 'cascade' ? problem(404, 'record-not-found') : unlinked);
  });
}
