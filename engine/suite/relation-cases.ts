/** The cases of each relation, and of deletions that other records depend on. */
import { type JsonObject, type JsonValue, pointer } from '../json/json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { badValues, refuses } from './record-cases.ts';
import { ANY, type Case, collection, condition, guard, item, MISSING, problem, shows, Skip } from './run.ts';
import {
  caseMaker,
  type Context,
  create,
  differing,
  isObtainable,
  type MakeCase,
  newBody,
  obtain,
  type Obtained,
  type Samples,
  writable,
} from './samples.ts';

export function relationCases(samples: Samples, type: RecordType): readonly Case[] {
  const make = caseMaker(samples, type.name);
  const { operations, relations, referrers } = type;
  if (!operations.has('create')) return [];
  return [
    ...[...relations.values()].flatMap((relation) => [...linkCases(make, relation), ...refusedLinks(make, relation)]),
    ...(operations.has('delete') ? referrers.flatMap((referrer) => deletion(make, type, referrer)) : []),
  ];
}

/** What the key of the relation holds for this record, and where that stands in the body. */
const inRelation = ({ toMany }: Relation, body: JsonValue): JsonValue => (toMany ? [body] : body);
const placeIn = ({ name, toMany }: Relation): readonly (string | number)[] => (toMany ? [name, 0] : [name]);

/** Whether records that are there can be linked: they have an identifier to name, and no owner to stay with. */
const isLinkable = ({ owned, link, target }: Relation): boolean =>
  target.identifier.inRecord && !(owned && link.at !== 'join');

const titleOf = ({ source, name }: Relation, text: string): string =>
  `POST ${collection(source)} with ${name}: ${text}`;

/** Creates a record with this value of the relation, which the response shows. */
async function createsWith(context: Context, relation: Relation, value: JsonObject): Promise<Obtained> {
  const { source, name } = relation;
  const values = { [name]: inRelation(relation, value) };
  return create(context, source, await newBody(context, source, { values }), [name]);
}

/** Sends such a record, which is refused at this place in the related one. */
async function refusesWith(
  context: Context,
  relation: Relation,
  value: JsonObject,
  status: 409 | 422,
  key: string,
): Promise<void> {
  const { source, name } = relation;
  const body = await newBody(context, source, { values: { [name]: inRelation(relation, value) } });
  const code = status === 409 ? 'link-conflict' : 'invalid-reference';
  const expected = problem(status, code, { pointers: [pointer([...placeIn(relation), key])] });
  await context.expect({ method: 'POST', path: collection(source), body }, expected);
}

const newChild = (context: Context, relation: Relation): Promise<JsonObject> =>
  newBody(context, relation.target, { via: relation, full: true });

/** A link to a record that is made for it. */
const newLink = async (context: Context, { target }: Relation): Promise<JsonObject> => ({
  [target.identifier.name]: (await obtain(context, target)).id,
});

const childIn = ({ name, target }: Relation, { record }: Obtained): number =>
  Number(([record[name] ?? null].flat() as readonly JsonObject[])[0]?.[target.identifier.name]);

function linkCases(make: MakeCase, relation: Relation): readonly Case[] {
  const { source, name, target, toMany, nested } = relation;
  const { name: key, inRecord } = source.identifier;
  const canLink = isLinkable(relation) && isObtainable(target);
  const isListed = !toMany && source.operations.has('list') && inRecord;
  const field = relation.fields.find((one) => isIndependent(target, one));
  const empty = toMany ? '[]' : 'null';
  return [
    ...make(titleOf(relation, isListed ? 'a link, and the list by it' : 'a link'), canLink, async (context) => {
      const link = await newLink(context, relation);
      const { id } = await createsWith(context, relation, link);
      const conditions = [condition([name], Object.values(link)[0]), condition([key], id)];
      const query = `?${conditions.join('&')}&fields=${encodeURIComponent(key)}`;
      const expected = shows(source, 200, [{ [key]: id }]);
      if (isListed) await context.expect({ method: 'GET', path: collection(source, query) }, expected);
    }),
    ...make(titleOf(relation, 'a new record'), nested === 'write', async (context) =>
      createsWith(context, relation, await newChild(context, relation)),
    ),
    ...make(
      titleOf(relation, `a link and another ${field?.name}${nested === 'write' ? '' : ', which is refused'}`),
      field !== undefined && isLinkable(relation) && target.operations.has('create'),
      (context) => linkChanged(context, relation, field),
    ),
    ...make(
      `PATCH ${item(source, '{id}')} with ${name}: ${empty}${staysLinked(relation) ? ', which is refused' : ''}`,
      source.operations.has('update') && !relation.required && (canLink || nested === 'write'),
      (context) => unlink(context, relation, canLink),
    ),
  ];
}

/** Requests with a value of the relation that is refused. */
function refusedLinks(make: MakeCase, relation: Relation): readonly Case[] {
  const { source, name, target, nested, owned, toMany, required } = relation;
  const { name: key, inRecord } = target.identifier;
  const place = placeIn(relation);
  const refused = (
    text: string,
    isPossible: boolean,
    values: readonly (readonly [JsonValue, ...(string | number)[]])[],
  ): readonly Case[] =>
    make(titleOf(relation, text), isPossible, (context) =>
      refuses(
        context,
        source,
        values.map(([value, ...at]) => [{ [name]: value }, ...at]),
      ),
    );
  const bad: readonly JsonValue[] = toMany ? [null, {}, 'text', 7] : [[], 'text', 7];
  const twice = [1, 2].map(() => ({ [key]: MISSING }));
  const field =
    nested === 'write' ? relation.fields.find((one) => !one.readOnly && badValues(one).length > 0) : undefined;
  return [
    ...refused('a new record, where only links are allowed', nested === 'link' && inRecord, [
      [inRelation(relation, {}), ...place, key],
    ]),
    ...refused('null, which is not allowed', required, [[null, name]]),
    ...refused(
      'what is no record',
      true,
      bad.map((value) => [value, name]),
    ),
    ...refused('one record twice', toMany && inRecord, [[twice, name, 1]]),
    ...make(titleOf(relation, 'a record that is not there'), inRecord, (context) =>
      refusesWith(context, relation, { [key]: MISSING }, 422, key),
    ),
    ...make(titleOf(relation, `a record with a bad value of ${field?.name}`), field !== undefined, async (context) => {
      const [worst = null] = field ? badValues(field) : [];
      const child = { ...(await newBody(context, target, { via: relation })), [field?.name ?? '']: worst };
      await refuses(context, source, [[{ [name]: inRelation(relation, child) }, ...place, field?.name ?? '']]);
    }),
    ...make(
      titleOf(relation, 'a record that belongs to another one'),
      owned && inRecord && nested === 'write',
      async (context) => {
        const parent = await createsWith(context, relation, await newChild(context, relation));
        await refusesWith(context, relation, { [key]: childIn(relation, parent) }, 422, key);
      },
    ),
  ];
}

/** A linked record with another value: it is changed where the relation writes, and refused where it only links. */
async function linkChanged(context: Context, relation: Relation, field: Field | undefined): Promise<unknown> {
  const { target, nested } = relation;
  const { id, record } = await obtain(context, target, { full: true });
  const value = field && differing(field, record[field.name] ?? null);
  if (value === undefined) throw new Skip();
  const linked = { [target.identifier.name]: id, [field?.name ?? '']: value };
  if (nested === 'write') return createsWith(context, relation, linked);
  return refusesWith(context, relation, linked, 409, field?.name ?? '');
}

/** Whether any value of the field goes with any of the others. */
const isIndependent = (type: RecordType, field: Field): boolean => {
  const groups = [...type.checks.map(({ fields }) => fields), ...type.indexes.map(({ members }) => members)];
  const isFree =
    writable(type).includes(field) && !field.unique && groups.every((all) => !all.some((one) => one === field));
  return isFree && differing(field, field.type.good(field, 1)) !== undefined;
};

/** Whether the related record cannot be without this one. */
const staysLinked = ({ owned, inverse, link }: Relation): boolean =>
  inverse?.owned === true || (link.at === 'target' && link.reference.required && !owned);

/** A relation that is emptied again. */
async function unlink(context: Context, relation: Relation, canLink: boolean): Promise<void> {
  const { source, name, target, owned, toMany } = relation;
  const value = await (canLink ? newLink(context, relation) : newChild(context, relation));
  const parent = await createsWith(context, relation, value);
  const empty = toMany ? [] : null;
  const path = item(source, parent.id, `?include=${encodeURIComponent(name)}`);
  const request = { method: 'PATCH', path, body: { [name]: empty }, ...guard(source) };
  if (staysLinked(relation))
    return void (await context.expect(request, problem(422, 'invalid-reference', { pointers: [pointer([name])] })));
  const { name: key, inRecord } = source.identifier;
  const fields = Object.fromEntries(source.defaultVariant.fields.map((field) => [field.name, ANY]));
  const after = { ...(inRecord ? { [key]: parent.id } : {}), ...fields, [name]: empty };
  await context.expect(request, shows(source, 200, after));
  if (!owned || !target.identifier.inRecord || !target.operations.has('get')) return;
  const child = item(target, childIn(relation, parent));
  await context.expect({ method: 'GET', path: child }, problem(404, 'record-not-found'));
}

/** A record that another one refers to is deleted. */
function deletion(
  make: MakeCase,
  type: RecordType,
  { type: child, reference: { relation, onDelete } }: RecordType['referrers'][number],
): readonly Case[] {
  const title = `DELETE ${item(type, '{id}')} while ${child.name}.${relation?.name} refers to it: ${onDelete}`;
  const isPossible = relation !== undefined && child.operations.has('create') && type.identifier.inRecord;
  return make(title, isPossible, async (context) => {
    const name = relation?.name ?? '';
    const parent = await obtain(context, type);
    const other = await obtain(context, child, { values: { [name]: { [type.identifier.name]: parent.id } } });
    const isKept = onDelete === 'restrict';
    const request = { method: 'DELETE', path: item(type, parent.id), ...guard(type) };
    await context.expect(request, isKept ? problem(409, 'restrict-conflict') : { status: 200 });
    if (isKept || !child.operations.has('get')) return;
    const { name: key, inRecord } = child.identifier;
    const path = item(child, other.id, `?fields=${[key, name].map(encodeURIComponent).join(',')}`);
    const unlinked = shows(child, 200, { ...(inRecord ? { [key]: other.id } : {}), [name]: null });
    const expected = onDelete === 'cascade' ? problem(404, 'record-not-found') : unlinked;
    await context.expect({ method: 'GET', path }, expected);
  });
}
