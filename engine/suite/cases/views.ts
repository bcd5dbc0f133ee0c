/** What answers show: relations one level deep, `include`, `fields`, and what of them is refused. */
import { MAX_INCLUDE_DEPTH, type RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { parameter } from '../query-text.ts';
import type { ViewRequest } from '../reference/views.ts';
import { collectionPath, itemPath, MISSING_ID } from '../addresses.ts';
import { get, list, post, put, remove } from '../requests.ts';
import { refused } from '../scenario.ts';
import { nestedBody } from '../nested-samples.ts';

const GROUP = 'views';

/** Every relation path up to some depth, in the order of the descriptors. */
function relationPaths(type: RecordType, depth: number): string[] {
  if (depth === 0) return [];
  return [...type.relations.values()].flatMap(({ name, target }) => [
    name,
    ...relationPaths(target, depth - 1).map((path) => `${name}.${path}`),
  ]);
}

const MAX_PATHS = 12;

/** Views worth asking for: nothing, each relation alone, two levels, the deepest path, some fields here and there. */
function viewsOf(type: RecordType): ViewRequest[] {
  const relations = [...type.relations.values()];
  const paths = relationPaths(type, 2).slice(0, MAX_PATHS);
  const deepest = relationPaths(type, MAX_INCLUDE_DEPTH)
    .filter((path) => path.split('.').length === MAX_INCLUDE_DEPTH)
    .slice(0, 3);
  const own = type.defaultVariant.fields.map(({ name }) => name);
  const nested = relations.flatMap(({ name, fields }) => fields.slice(0, 1).map((field) => `${name}.${field.name}`));
  const [first] = own;
  return [
    { include: [] },
    ...(relations.length > 0 ? [{ include: relations.map(({ name }) => name) }] : []),
    ...paths.map((path) => ({ include: [path] })),
    ...(paths.length > 0 ? [{ include: paths }] : []),
    ...deepest.map((path) => ({ include: [path] })),
    ...(first === undefined ? [] : [{ fields: [first] }]),
    ...(own.length > 1 ? [{ fields: own.slice(1) }] : []),
    ...nested.map((path) => ({ fields: [...own.slice(0, 1), path] })),
    ...(relations[0] ? [{ include: [relations[0].name], fields: [...own.slice(0, 1), relations[0].name] }] : []),
  ];
}

const titleOf = (type: RecordType, { include, fields }: ViewRequest): string => {
  const query = [
    ...(include ? [`include=${include.join(',')}`] : []),
    ...(fields ? [`fields=${fields.join(',')}`] : []),
  ];
  return `${itemPath(type, '…')}?${query.join('&')}`;
};

/** Each operation answers in the view that is asked for. */
function shown(context: Context, view: ViewRequest): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `GET ${titleOf(type, view)}`, (scenario) => {
    const id = post(scenario, type, nestedBody(scenario, type), view);
    get(scenario, type, id, view);
    if (type.identifier.inRecord) list(scenario, type, [id], { view });
    if (type.operations.has('update')) put(scenario, type, id, {}, view);
    if (type.operations.has('delete')) remove(scenario, type, id, view);
  });
}

/** Written back to the same address, query included, an answer changes nothing. */
function roundTrip(context: Context, view: ViewRequest): Case[] {
  const { type } = context;
  if (!type.operations.has('update')) return [];
  return caseOf(context, GROUP, `PUT ${titleOf(type, view)} what GET answered`, (scenario) => {
    const id = post(scenario, type, nestedBody(scenario, type), view);
    const body = scenario.reference.get(type, id, view) ?? {};
    get(scenario, type, id, view);
    put(scenario, type, id, body, view);
    get(scenario, type, id);
  });
}

function refusals(context: Context): Case[] {
  const { type } = context;
  const field = type.defaultVariant.fields[0]?.name ?? type.identifier.name;
  const tooDeep = relationPaths(type, MAX_INCLUDE_DEPTH + 1).find((path) => path.split('.').length > MAX_INCLUDE_DEPTH);
  const queries = [
    ['include', 'noSuchRelation'],
    ['include', field],
    ['include', ','],
    ['fields', 'noSuchField'],
    ['fields', `${field}.x`],
    ['variant', 'noSuchVariant'],
    ...(tooDeep === undefined ? [] : [['include', tooDeep]]),
  ] as const;
  const targets = [
    ...(type.operations.has('list') ? [collectionPath(type)] : []),
    ...(type.operations.has('get') ? [itemPath(type, MISSING_ID)] : []),
  ];
  return targets.flatMap((path) =>
    queries.flatMap(([key = '', value = '']) =>
      caseOf(context, GROUP, `GET ${path}?${key}=${value}`, (scenario) => {
        const request = { method: 'GET', path: `${path}?${parameter(key, value)}` };
        refused(scenario, request, 400, { code: 'invalid-query', parameters: [key] });
      }),
    ),
  );
}

export function views(context: Context): readonly Case[] {
  const { type } = context;
  const all = type.operations.has('create') ? viewsOf(type) : [];
  return [
    ...all.flatMap((view) => shown(context, view)),
    ...[{}, ...all].flatMap((view) => (type.operations.has('create') ? roundTrip(context, view) : [])),
    ...refusals(context),
  ];
}
