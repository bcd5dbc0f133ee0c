/** Pages by cursor: forward to the end and back, right while records come and go. */
import type { RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { cnd, listQuery } from '../query-text.ts';
import type { OrderRequest } from '../reference/lists.ts';
import type { Id } from '../reference/world.ts';
import { collectionPath } from '../addresses.ts';
import { fullBody } from '../obtain.ts';
import { post, remove } from '../requests.ts';
import { refused, type Scenario, step } from '../scenario.ts';

const GROUP = 'paging';
const SIZE = 2;
const COUNT = 5;

/** One walk through a list. */
interface Walk {
  readonly scenario: Scenario;
  readonly type: RecordType;
  readonly order: readonly OrderRequest[] | undefined;
  readonly all: readonly Id[];
}

const own = ({ type, all }: Walk) => ({ path: type.identifier.name, operator: 'in' as const, ids: all });

/** The records of the walk that are there now, as the list shows them. */
function records(walk: Walk, from = 0) {
  const { scenario, type, order } = walk;
  return scenario.reference.list(type, {
    filters: [own(walk)],
    ...(order ? { order } : {}),
    offset: from,
    limit: SIZE,
  });
}

/** Asks for the page that begins at a place of the walk; `path` is how. */
function page(walk: Walk, path: string, from: number, links: Readonly<Record<string, string | null>>): void {
  step(walk.scenario, { method: 'GET', path }, { status: 200, links, body: records(walk, from).body });
}

function firstPath(walk: Walk): string {
  const request = { filters: [own(walk)], ...(walk.order ? { order: walk.order } : {}), offset: 0, limit: SIZE };
  return collectionPath(walk.type, listQuery(request));
}

function startWalk(scenario: Scenario, type: RecordType, order: readonly OrderRequest[] | undefined): Walk {
  const all = Array.from({ length: COUNT }, () => post(scenario, type, fullBody(scenario, type)));
  return { scenario, type, order, all };
}

function thereAndBack(context: Context, order: readonly OrderRequest[] | undefined, title: string): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `GET ${collectionPath(type)} page by page ${title}`, (scenario) => {
    const walk = startWalk(scenario, type, order);
    page(walk, firstPath(walk), 0, { first: 'first', prev: null, next: 'second' });
    page(walk, '{+second}', SIZE, { first: 'first', prev: 'back', next: 'third' });
    page(walk, '{+third}', 2 * SIZE, { first: 'first', prev: 'middle', next: null });
    page(walk, '{+middle}', SIZE, { next: 'third again' });
    page(walk, '{+back}', 0, { prev: null });
    page(walk, '{+first}', 0, { prev: null, next: 'second' });
  });
}

/** What was read already goes: the next page is the one that was promised. */
function comingAndGoing(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('delete')) return [];
  return caseOf(context, GROUP, `GET ${collectionPath(type)} page by page while records go`, (scenario) => {
    const walk = startWalk(scenario, type, undefined);
    page(walk, firstPath(walk), 0, { next: 'second' });
    const [first] = records(walk).ids;
    if (first !== undefined) remove(scenario, type, first);
    page(walk, '{+second}', SIZE - 1, { next: 'third' });
    page(walk, '{+third}', 2 * SIZE - 1, { next: null });
  });
}

const LIMIT = ['_cnd[limit]=0', '_cnd[limit]=2'];

function refusals(context: Context): Case[] {
  const { type } = context;
  const queries = [
    ['after=x'],
    [...LIMIT, 'after=x'],
    [...LIMIT, 'before='],
    [...LIMIT, 'after=x', 'before=y'],
    ['_cnd[limit]=1', '_cnd[limit]=2', 'after=x'],
  ];
  const forms = queries.flatMap((query) =>
    caseOf(context, GROUP, `GET ${collectionPath(type, query)}`, (scenario) => {
      refused(scenario, { method: 'GET', path: collectionPath(type, query) }, 400, { code: 'invalid-query' });
    }),
  );
  return type.operations.has('create') && type.identifier.inRecord ? [...forms, ...otherList(context)] : forms;
}

/** A cursor is bound to the list that it comes from. */
function otherList(context: Context): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `GET ${collectionPath(type)} with the cursor of another list`, (scenario) => {
    const walk = startWalk(scenario, type, undefined);
    page(walk, firstPath(walk), 0, { next: 'second' });
    const path = `{+second}&${cnd(type.identifier.name, 'ne')}=1`;
    refused(scenario, { method: 'GET', path }, 400, { code: 'invalid-query' });
  });
}

/** The default order, and a field that may be null, downwards. */
export function paging(context: Context): readonly Case[] {
  const { type } = context;
  if (!type.operations.has('list')) return [];
  const field = type.defaultVariant.fields.find(
    (one) => one.nullable && !one.readOnly && one.type.operators.length > 0,
  );
  const creatable = type.operations.has('create') && type.identifier.inRecord;
  return [
    ...(creatable ? thereAndBack(context, undefined, 'in its default order') : []),
    ...(creatable && field
      ? thereAndBack(context, [{ path: field.name, descending: true }], `by ${field.name} desc`)
      : []),
    ...(creatable ? comingAndGoing(context) : []),
    ...refusals(context),
  ];
}
