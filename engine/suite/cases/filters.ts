/** Each operator on each field, each field as the order of a list, and paths through to-one relations. */
import { COMPARING, type OperatorName } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { Field, RecordType, Relation } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context, representative } from '../context.ts';
import { cnd, parameter } from '../query-text.ts';
import type { FilterRequest } from '../reference/lists.ts';
import { related } from '../reference/links.ts';
import { type Id, idValue, rowOf } from '../reference/world.ts';
import { freshValue } from '../samples.ts';
import { collectionPath } from '../addresses.ts';
import { fullBody, obtain, smallBody } from '../obtain.ts';
import { list, post } from '../requests.ts';
import { refused, type Scenario } from '../scenario.ts';

const GROUP = 'filters';
const MAX_EDGES = 5;

/** Null, values at the edges and two others. Unique fields keep away from what other records may have. */
const samplesOf = (field: Field, { seeds }: Context): readonly JsonValue[] => [
  ...(field.nullable ? [null] : []),
  ...(field.unique ? [] : field.type.edges(field).filter(isShort).slice(0, MAX_EDGES)),
  freshValue(field, seeds),
  freshValue(field, seeds),
];

/** Long texts make long addresses, which services refuse. */
const isShort = (value: JsonValue): boolean => JSON.stringify(value).length < 200;

/** Patterns that find a text, and some that must not. */
function patterns(text: string): string[] {
  const characters = [...text]
    .slice(0, 40)
    .filter((character) => character !== '*')
    .join('')
    .toWellFormed();
  const [head, tail] = [[...characters].slice(0, 3).join(''), [...characters].slice(-3).join('')];
  return [
    `${head}*`,
    `*${tail}`,
    `*${[...characters].slice(1, 4).join('')}*`,
    `${head.toUpperCase()}*`,
    `${characters.toLowerCase()}*${tail.toUpperCase()}`,
    `*${characters}*${'x'.repeat(40)}*`,
    '*',
    '%',
    `_${[...characters].slice(1).join('')}`,
    `${characters}x`,
  ];
}

/** The operators that compare with one value. */
const SINGLE = COMPARING.filter((name) => name !== 'in' && name !== 'null');

function filtersOf(field: Field, path: string, values: readonly JsonValue[]): FilterRequest[] {
  const operands = values.filter((value) => value !== null).slice(0, 3);
  const one = (operator: OperatorName, value: JsonValue): FilterRequest => ({ path, operator, value });
  const all = [
    ...SINGLE.flatMap((operator) => operands.map((value) => one(operator, value))),
    one('in', operands.slice(0, 2)),
    one('null', true),
    one('null', false),
    ...operands.flatMap((value) => patterns(String(value)).map((pattern) => one('like', pattern))),
  ];
  return all.filter(({ operator }) => field.type.operators.includes(operator));
}

function fieldCase(context: Context, field: Field): Case[] {
  const { type } = context;
  return caseOf(
    context,
    GROUP,
    `GET ${collectionPath(type)}?${cnd(field.name)} each operator, both orders`,
    (scenario) => {
      const values = samplesOf(field, context);
      const ids = values.map((value) => post(scenario, type, { ...smallBody(scenario, type), [field.name]: value }));
      for (const filter of filtersOf(field, field.name, values)) list(scenario, type, ids, { filters: [filter] });
      for (const descending of [false, true]) list(scenario, type, ids, { order: [{ path: field.name, descending }] });
    },
  );
}

/** Values that cannot be one of the field's, operators that its type does not know, the same key twice. */
function refusedCase(context: Context, field: Field): Case[] {
  const { type } = context;
  const good = parameter(cnd(field.name), String(field.type.good(field, 1)));
  const unparsed = ['', 'x', '1x', '1e', '--1', 'TRUE'].filter((text) => field.type.parse(text) === undefined);
  const unknown = ([...COMPARING, 'like', 'between', ''] as const).filter(
    (name) => !field.type.operators.some((one) => one === name),
  );
  const queries = [
    ...unparsed.map((text) => [parameter(cnd(field.name), text)]),
    ...unknown.map((name) => [parameter(cnd(field.name, name), 'x')]),
    [parameter(cnd(field.name, 'null'), 'perhaps')],
    [good, good],
    [parameter(cnd(field.name, 'eq', 'x'), 'x')],
  ];
  return caseOf(context, GROUP, `GET ${collectionPath(type)}?${cnd(field.name)} what is refused`, (scenario) => {
    for (const query of queries)
      refused(scenario, { method: 'GET', path: collectionPath(type, query) }, 400, { code: 'invalid-query' });
  });
}

function identifierCase(context: Context): Case[] {
  const { type } = context;
  return caseOf(
    context,
    GROUP,
    `GET ${collectionPath(type)}?${cnd(type.identifier.name)} each operator`,
    (scenario) => {
      const ids = Array.from({ length: 3 }, () => post(scenario, type, fullBody(scenario, type)));
      const [, middle] = ids;
      if (middle === undefined) return;
      const path = type.identifier.name;
      for (const operator of SINGLE) list(scenario, type, ids, { filters: [{ path, operator, ids: [middle] }] });
      for (const value of [true, false]) list(scenario, type, ids, { filters: [{ path, operator: 'null', value }] });
    },
  );
}

const linkable = (relation: Relation): boolean =>
  !relation.toMany && relation.link.at === 'source' && relation.target.identifier.inRecord;

/** Up to two own fields of the related record, taken from a record that is there. */
function relatedFilters(scenario: Scenario, relation: Relation, source: Id): FilterRequest[] {
  const row = rowOf(scenario.reference.world, relation.source, source);
  const [target] = row === undefined ? [] : related(scenario.reference.world, relation, row);
  const fields = [...relation.target.fields.values()].filter((field) => field.type.operators.length > 0).slice(0, 2);
  return fields.flatMap((field) => {
    const value = target?.values.get(field) ?? null;
    return value === null || !isShort(value) ? [] : filtersOf(field, `${relation.name}.${field.name}`, [value]);
  });
}

function relationCase(context: Context, relation: Relation): Case[] {
  const { type } = context;
  return caseOf(
    context,
    GROUP,
    `GET ${collectionPath(type)}?${cnd(relation.name)} and paths through it`,
    (scenario) => {
      const targets = [obtain(scenario, relation.target), obtain(scenario, relation.target)];
      const sources = targets.map((id) =>
        post(scenario, type, {
          ...fullBody(scenario, type),
          [relation.name]: { [relation.target.identifier.name]: idValue(id) },
        }),
      );
      const [first, second] = sources;
      if (first === undefined || second === undefined) return;
      const all = relation.required
        ? sources
        : [...sources, post(scenario, type, { ...fullBody(scenario, type), [relation.name]: null })];
      const paths = [relation.name, `${relation.name}.${relation.target.identifier.name}`];
      for (const path of paths) {
        for (const operator of ['eq', 'ne'] as const)
          list(scenario, type, all, { filters: [{ path, operator, ids: targets.slice(0, 1) }] });
        for (const value of [true, false]) list(scenario, type, all, { filters: [{ path, operator: 'null', value }] });
        list(scenario, type, all, { filters: [{ path, operator: 'in', ids: targets }] });
        list(scenario, type, all, { order: [{ path, descending: true }] });
      }
      for (const filter of relatedFilters(scenario, relation, second)) list(scenario, type, all, { filters: [filter] });
    },
  );
}

function unknownCase(context: Context): Case[] {
  const { type } = context;
  const toMany = [...type.relations.values()].filter((relation) => relation.toMany).map(({ name }) => name);
  const names = ['noSuchField', `${type.identifier.name}.x`, '__proto__', 'constructor', ...toMany];
  return names.flatMap((name) =>
    caseOf(context, GROUP, `GET ${collectionPath(type, [parameter(cnd(name), '1')])}`, (scenario) => {
      refused(scenario, { method: 'GET', path: collectionPath(type, [parameter(cnd(name), '1')]) }, 400, {
        code: 'invalid-query',
      });
    }),
  );
}

const writable = (type: RecordType): Field[] => type.defaultVariant.fields.filter((field) => !field.readOnly);

export function filters(context: Context): readonly Case[] {
  const { type } = context;
  if (!type.operations.has('list')) return [];
  const creatable = type.operations.has('create') && type.identifier.inRecord;
  const filterable = representative(writable(type).filter((field) => field.type.operators.length > 0));
  return [
    ...(creatable ? identifierCase(context) : []),
    ...(creatable ? filterable.flatMap((field) => fieldCase(context, field)) : []),
    ...representative(type.defaultVariant.fields).flatMap((field) => refusedCase(context, field)),
    ...(creatable
      ? [...type.relations.values()].filter(linkable).flatMap((relation) => relationCase(context, relation))
      : []),
    ...unknownCase(context),
  ];
}
