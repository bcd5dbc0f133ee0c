/** Filters: each operator on each field, each field as the order of a list, and paths through relations; groups; sets. */
import { COMPARING, type OperatorName } from '../../../engine/field-types/field-type.ts';
import type { JsonValue } from '../../../engine/json.ts';
import type { Field, RecordType, Relation } from '../../../engine/model/model.ts';
import { cnd, linkTo, parameter, type Query } from '../call.ts';
import type { ConditionRequest, FilterRequest, GroupRequest } from '../reads.ts';
import { childBody, fresh, fullest, obtain, smallest, targetsOf } from '../samples.ts';
import { type Context, list, post, type Scene, send } from '../scene.ts';
import { inOtherCase, isSettable } from '../values.ts';
import { referenceName } from '../template.ts';
import { type Id, related, rowOf } from '../world.ts';
import { canMake, comparable, page, several } from './reads.ts';
import { each, isWritable, offers, relations, representative, rule, single, table, takesTexts } from './rule.ts';

const MAX_EDGES = 5;

/** Long texts make long addresses, which services refuse. */
const isShort = (value: JsonValue): boolean => JSON.stringify(value).length < 200;

/** Null, values at the edges and two others. Unique fields keep away from what other records may have. */
const samplesOf = (scene: Scene, field: Field): readonly JsonValue[] => [
  ...(field.nullable ? [null] : []),
  ...(field.unique ? [] : field.type.edges(field).filter(isShort).slice(0, MAX_EDGES)),
  fresh(scene, field),
  fresh(scene, field),
];

/** Patterns that find a text, and some that must not. */
function patterns(text: string): readonly string[] {
  const characters = [
    ...[...text]
      .slice(0, 40)
      .filter((one) => one !== '*')
      .join('')
      .toWellFormed(),
  ];
  const [whole, head, tail] = [characters.join(''), characters.slice(0, 3).join(''), characters.slice(-3).join('')];
  return [
    `${head}*`,
    `*${tail}`,
    `*${characters.slice(1, 4).join('')}*`,
    `${head.toUpperCase()}*`,
    `${whole.toLowerCase()}*${tail.toUpperCase()}`,
    `*${whole}*${'x'.repeat(40)}*`,
    '*',
    '%',
    `_${characters.slice(1).join('')}`,
    `${whole}x`,
  ];
}

/** Databases match long patterns in another way than short ones. No part of it stands in it twice. */
const LONG_TEXT = 'Ab cd ef gh ij kl mn op qr st';

/** Patterns that are long behind their first `*`: parts of the text that stand in this order, and parts that do not. */
function longPatterns(text: string): readonly string[] {
  const part = (from: number, to?: number): string => text.slice(from, to);
  const found = [`${part(0, 3)}*${part(4)}`, `*${part(2, 12)}*${part(14, 20)}*`, `*${part(0, 9)}*${part(9)}`];
  const overlapping = [
    `${part(0, 5)}*${part(3)}`,
    `${part(0, 3)}*${part(1)}*`,
    `*${part(3, -1)}*${part(-3)}`,
    `*${part(2, 14)}*${part(12, 22)}*`,
  ];
  const elsewhere = [
    `${part(1, 3)}*${part(4)}`,
    `${part(0, 3)}*${part(4, -1)}`,
    `*${part(14, 22)}*${part(2, 12)}*`,
    `*${part(2, 12)}*${part(2, 12)}*`,
  ];
  return [...found, ...found.map((pattern) => pattern.toUpperCase()), ...overlapping, ...elsewhere];
}

/** Fields that take any text of that length: one whose case counts, and one whose case does not. */
function takingLong({ type }: Context): readonly Field[] {
  const fields = filterable({ type }).filter((field) => takesTexts(field, LONG_TEXT.length + 10));
  return [true, false].flatMap((isCaseless) => fields.find(({ caseless }) => caseless === isCaseless) ?? []);
}

/** The operators that compare with one value. */
const SINGLE = COMPARING.filter((name) => name !== 'in' && name !== 'null');

function filtersOf(field: Field, path: string, values: readonly JsonValue[]): readonly FilterRequest[] {
  const given = values.filter((value) => value !== null).slice(0, 3);
  const operands = field.caseless ? given.flatMap((value) => [value, inOtherCase(field, value)]) : given;
  const one = (operator: OperatorName, value: JsonValue): FilterRequest => ({ path, operator, value });
  const all = [
    ...SINGLE.flatMap((operator) => operands.map((value) => one(operator, value))),
    one('in', operands.slice(0, 2)),
    one('null', true),
    one('null', false),
    { ...one('null', true), written: '1' },
    ...operands.flatMap((value) =>
      typeof value === 'boolean' ? { ...one('eq', value), written: value ? 'True' : '0' } : [],
    ),
    ...operands.flatMap((value) => patterns(String(value)).map((pattern) => one('like', pattern))),
  ];
  return all.filter(({ operator }) => field.type.operators.includes(operator));
}

/** Values that cannot be one of the field's, operators that its type does not know, the same key twice. */
function badFilters({ name, type, ...field }: Field): readonly Query[] {
  const good = parameter(cnd(name), String(type.good(field, 1)));
  const unparsed = ['', 'x', '1x', '1e', '--1', 'TRUE'].filter((text) => type.parse(text) === undefined);
  const unknown = [...COMPARING, 'like', 'between', ''].filter(
    (operator) => !type.operators.some((one) => one === operator),
  );
  return [
    ...unparsed.map((text) => [parameter(cnd(name), text)]),
    ...unknown.map((operator) => [parameter(cnd(name, operator), 'x')]),
    ...['perhaps', 'TRUE'].map((text) => [parameter(cnd(name, 'null'), text)]),
    [good, good],
    [parameter(cnd(name, 'eq', 'x'), 'x')],
  ];
}

/** Up to two own fields of a related record that is there. */
function relatedFilters(scene: Scene, relation: Relation, source: Id): readonly FilterRequest[] {
  const [id] = targetsOf(scene, relation, source);
  const row = rowOf(scene.world, relation.target, id);
  const fields = [...relation.target.fields.values()].filter(({ type }) => type.operators.length > 0).slice(0, 2);
  return fields.flatMap((field) => {
    const value = row?.values.get(field) ?? null;
    return value === null || referenceName(value) !== undefined || !isShort(value)
      ? []
      : filtersOf(field, `${relation.name}.${field.name}`, [value]);
  });
}

const linkable = relations(({ toMany, link, target }) => !toMany && link.at === 'source' && target.identifier.inRecord);

const filterable = ({ type }: Pick<Context, 'type'>): readonly Field[] =>
  representative(comparable(type).filter(isSettable));

const unknownNames = (type: RecordType): readonly string[] => [
  'noSuchField',
  `${type.identifier.name}.x`,
  '__proto__',
  'constructor',
  ...relations(({ toMany }) => toMany)({ type }).map(({ name }) => name),
];

export const filterRules = table(
  'filters',
  rule('_cnd[{id}] each operator', canMake, (scene) => {
    const ids = several(scene, 3);
    const path = scene.type.identifier.name;
    for (const operator of SINGLE) list(scene, ids, { filters: [{ path, operator, ids: ids.slice(1, 2) }] });
    const joined = { path, operator: 'in', ids: ids.slice(1), joined: true } as const;
    send(scene, { method: 'GET', list: { filters: [joined] } });
    for (const value of [true, false]) list(scene, ids, { filters: [{ path, operator: 'null', value }] });
  }),
  each('_cnd[{}] each operator, both orders', canMake, filterable, (scene, field) => {
    const values = samplesOf(scene, field);
    const ids = values.map((value) => post(scene, { ...smallest(scene), [field.name]: value }));
    for (const filter of filtersOf(field, field.name, values)) list(scene, ids, { filters: [filter] });
    for (const descending of [false, true]) list(scene, ids, { order: [{ path: field.name, descending }] });
  }),
  each('_cnd[{}][like] long patterns', canMake, takingLong, (scene, { name }) => {
    const texts = [1, 2].map(() => `${LONG_TEXT} ${(scene.seeds.next += 1)}`);
    const ids = texts.map((text) => post(scene, { ...smallest(scene), [name]: text }));
    for (const value of longPatterns(texts[0] ?? ''))
      list(scene, ids, { filters: [{ path: name, operator: 'like', value }] });
  }),
  each(
    '_cnd[{}] what is refused',
    offers('list'),
    ({ type }) => representative(type.defaultVariant.fields),
    (scene, field) => {
      for (const wrong of badFilters(field)) send(scene, { method: 'GET', wrong });
    },
  ),
  each('_cnd[{}] and paths through it', canMake, linkable, (scene, relation) => {
    const { name, target, required } = relation;
    const targets = [obtain(scene, target), obtain(scene, target)];
    const bodies = [...targets.map((id) => linkTo(target, id)), ...(required ? [] : [null])];
    const all = bodies.map((body) => post(scene, { ...fullest(scene), [name]: body }));
    for (const path of [name, `${name}.${target.identifier.name}`]) {
      for (const operator of ['eq', 'ne'] as const)
        list(scene, all, { filters: [{ path, operator, ids: targets.slice(0, 1) }] });
      for (const value of [true, false]) list(scene, all, { filters: [{ path, operator: 'null', value }] });
      list(scene, all, { filters: [{ path, operator: 'in', ids: targets }] });
      list(scene, all, { order: [{ path, descending: true }] });
    }
    for (const filter of relatedFilters(scene, relation, all[1] ?? '')) list(scene, all, { filters: [filter] });
  }),
  single(offers('list'), (type) => unknownNames(type).map((name) => page([parameter(cnd(name), '1')]))),
);

// Groups of filters, and filters by the records of sets.

const GROUPS: readonly GroupRequest['group'][] = ['$any', '$all', '$none'];
const QUANTIFIERS = ['$some', '$none', '$every'] as const;

/** Groups of these conditions, one in another up to the third. */
function groupsOf([first, second]: readonly [ConditionRequest, ConditionRequest]): readonly ConditionRequest[] {
  const group = (name: GroupRequest['group'], ...items: GroupRequest['items']): GroupRequest => ({
    group: name,
    items,
  });
  return [
    ...GROUPS.map((name) => group(name, [first], [second])),
    ...GROUPS.map((name) => group(name, [first, second])),
    ...GROUPS.map((name) => group('$none', [group('$any', [group(name, [first], [second])])])),
  ];
}

/** What refuses to be read, of any type. */
function refused({ identifier: { name } }: RecordType): readonly Query[] {
  const inner = (...steps: readonly string[]): Query => [parameter(cnd(...steps), '1')];
  return [
    inner('$any'),
    inner('$any', '0'),
    inner('$some', '0', name),
    inner('$any', '0', 'limit'),
    inner('$any', '0', name, 'between'),
    inner('$any', '$any', '$any', '$any', name),
    [...inner('$any', '0', name), ...inner('$any', '', name)],
    [...inner('$any', '0', name), ...inner('$any', '0', name)],
  ];
}

const refusedSets = ({ name }: Relation): readonly Query[] => [
  [parameter(cnd(name), '1')],
  [parameter(cnd(name, '$sum'), '1')],
  [parameter(cnd(name, '$some'), '1')],
  [parameter(cnd(name, '$some', '0', 'noSuchField'), '1')],
  [parameter(cnd(name, '$count'), 'x')],
  [parameter(cnd(name, '$count', 'like'), '1')],
];

const sets = relations(({ toMany, required }) => toMany && !required);

/** Fields that can be null, and have a value that is short enough for an address. */
const clearable = ({ type }: Pick<Context, 'type'>): readonly Field[] =>
  comparable(type)
    .filter(
      (field) => field.nullable && isWritable(type, field) && isSettable(field) && field.type.operators.includes('gt'),
    )
    .filter((field) => String(field.type.good(field, 1)).length < 200)
    .slice(0, 2);

/** The value that a record of the set has in its first field that can be compared and is not null. */
function memberFilter({ world }: Scene, relation: Relation, source: Id): FilterRequest | undefined {
  const row = rowOf(world, relation.source, source);
  const member = row && related(world, relation, row)[0];
  const fields = comparable(relation.target)
    .filter(isSettable)
    .filter((field) => String(member?.values.get(field) ?? '').length < 200);
  const found = fields.map((field) => ({ path: field.name, value: member?.values.get(field) ?? null }));
  const known = found.find(({ value }) => value !== null && value !== '');
  return known && { ...known, operator: 'eq' };
}

export const conditionRules = table(
  'conditions',
  rule('groups of conditions', canMake, (scene) => {
    const ids = several(scene, 3);
    const path = scene.type.identifier.name;
    const own = (operator: 'eq' | 'ne', place: number): FilterRequest => ({
      path,
      operator,
      ids: ids.slice(place, place + 1),
    });
    for (const group of groupsOf([own('eq', 0), own('ne', 1)])) list(scene, ids, { filters: [group] });
  }),
  each('_cnd[{}] in groups, where it is null as well', canMake, clearable, (scene, field) => {
    const body = fullest(scene);
    const ids = [body, { ...fullest(scene), [field.name]: null }].map((one) => post(scene, one));
    const filter = (operator: 'eq' | 'gt'): FilterRequest => ({
      path: field.name,
      operator,
      value: body[field.name] ?? null,
    });
    for (const group of groupsOf([filter('eq'), filter('gt')])) list(scene, ids, { filters: [group] });
  }),
  each('_cnd[{}] some, none, every and the number of its records', canMake, sets, (scene, relation) => {
    const { name } = relation;
    const bodies = [2, 1, 0].map((count) => Array.from({ length: count }, () => childBody(scene, relation)));
    const ids = bodies.map((members) => post(scene, { ...fullest(scene), [name]: members }));
    for (const counted of ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const)
      list(scene, ids, { filters: [{ path: name, counted, value: 1 }] });
    list(scene, ids, { filters: [{ path: name, counted: 'in', value: [0, 2] }] });
    const filter = ids[0] === undefined ? undefined : memberFilter(scene, relation, ids[0]);
    if (!filter) return;
    const far = `${name}.${filter.path}`;
    const conditions: readonly ConditionRequest[][] = [
      [filter],
      [{ ...filter, operator: 'ne' }],
      [filter, { path: filter.path, operator: 'null', value: false }],
      [{ group: '$none', items: [[filter]] }],
    ];
    for (const quantifier of QUANTIFIERS)
      for (const inner of conditions) list(scene, ids, { filters: [{ path: name, quantifier, conditions: inner }] });
    list(scene, ids, { filters: [{ ...filter, path: far }] });
    list(scene, ids, { filters: [{ group: '$none', items: [[{ ...filter, path: far, operator: 'ne' }]] }] });
  }),
  single(offers('list'), (type) => refused(type).map((query) => page(query))),
  single(offers('list'), (type) =>
    sets({ type })
      .flatMap(refusedSets)
      .map((query) => page(query)),
  ),
);
