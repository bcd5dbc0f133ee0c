/** Reads that any deployment answers, whatever it holds: each form of a request gets what the first form got. */
import type { RecordType } from '../../model/model.ts';
import type { Case, Step } from '../case.ts';
import { type Context, representative } from '../context.ts';
import { cnd, parameter, type Query } from '../query-text.ts';
import { collectionPath } from '../addresses.ts';

const GROUP = 'reads';

const read = (type: RecordType, query: Query): Step => ({
  request: { method: 'GET', path: collectionPath(type, query) },
  expect: { status: 200, headers: { 'x-total-count': '{total}' }, body: { $ref: 'answer' } },
  changes: [],
});

/** Requests that mean the same. */
function alike(type: RecordType, title: string, forms: readonly Query[]): Case {
  const steps = forms.map((form) => read(type, form));
  return {
    type: type.name,
    group: GROUP,
    title: `GET ${collectionPath(type)} ${title}`,
    steps,
    cleanup: [],
    leaves: {},
  };
}

function orderedBy(type: RecordType, name: string): Case {
  const key = (...steps: readonly string[]) => cnd('orderBy', ...steps);
  const page = ['_cnd[limit]=0', '_cnd[limit]=3'];
  const forms = [
    [parameter(key(), name), parameter(key(), 'desc')],
    [parameter(key(''), name), parameter(key(''), 'DESC')],
    [parameter(key('1'), 'desc'), parameter(key('0'), name)],
    [parameter(key('0', '0'), name), parameter(key('0', '1'), 'desc')],
  ];
  return alike(
    type,
    `by ${name} desc, in each form`,
    forms.map((form) => [...page, ...form]),
  );
}

const page = (type: RecordType): Case =>
  alike(type, 'the first three, in each form', [
    ['_cnd[limit]=0', '_cnd[limit]=3'],
    ['_cnd[limit][]=0', '_cnd[limit][]=3'],
    ['_cnd[limit][1]=3', '_cnd[limit][0]=0'],
    ['_cnd[limit][1]=3'],
    ['_cnd%5Blimit%5D%5B1%5D=3'],
  ]);

/** The page of no record changes with how many there are. */
function known(type: RecordType): Case {
  const path = collectionPath(type, ['_cnd[limit]=0', '_cnd[limit]=0']);
  const etag = type.preconditions === 'off' ? null : '"{tag}"';
  const first = { status: 200, headers: { etag, 'x-total-count': '{total}' }, links: { first: 'first' }, body: [] };
  const again = { method: 'GET', path, headers: { 'if-none-match': '"{tag}"' } };
  return {
    type: type.name,
    group: GROUP,
    title: `GET ${path} once more, If-None-Match`,
    steps: [
      { request: { method: 'GET', path }, expect: first, changes: [] },
      ...(etag === null
        ? []
        : [{ request: again, expect: { status: 304, headers: { etag }, empty: true as const }, changes: [] }]),
      { request: { method: 'GET', path: '{+first}' }, expect: first, changes: [] },
    ],
    cleanup: [],
    leaves: {},
  };
}

export function reads({ type }: Context): readonly Case[] {
  if (!type.operations.has('list')) return [];
  const fields = representative(type.defaultVariant.fields.filter((field) => field.type.operators.length > 0));
  return [
    page(type),
    known(type),
    ...[type.identifier.name, ...fields.map(({ name }) => name)].map((name) => orderedBy(type, name)),
  ];
}
