/** What is refused before any record is looked at: unknown names, malformed JSON, media types, and which fault comes first. */
import type { Case, ExpectedProblem, Request } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { collectionPath, itemPath, MISSING_ID } from '../addresses.ts';
import { doors, takesBody, withBody } from '../doors.ts';
import { fullBody } from '../obtain.ts';
import { refused } from '../scenario.ts';

const GROUP = 'errors';

function one(context: Context, request: Request, status: number, problem: ExpectedProblem, note = ''): Case[] {
  const { method, path, text = '', headers = {} } = request;
  const { 'if-match': _, ...shown } = headers;
  const named = [method, path, ...Object.entries(shown).map((entry) => entry.join(': ')), text, note].filter(
    (part) => part !== '',
  );
  return caseOf(context, GROUP, named.join(' '), (scenario) => refused(scenario, request, status, problem));
}

/** Nothing is ignored in silence: each operation names the parameter that it does not know. */
function unknownParameters(context: Context): Case[] {
  return doors(context.type).flatMap((door) => {
    const request = { ...withBody(door), path: `${door.path}?noSuchParameter=1` };
    return one(context, request, 400, { code: 'invalid-query', parameters: ['noSuchParameter'] });
  });
}

const LIST_ONLY = [
  '_cnd[limit][1]=1',
  '_cnd[orderBy]=x',
  '_cnd=1',
  '_cnd[]=1',
  '_cnd[x',
  'limit=1',
  'orderBy=x',
  'include=&include=',
  '%',
  '%ff=1',
] as const;

function misplacedParameters(context: Context): Case[] {
  const item = doors(context.type).filter(({ path }) => path !== collectionPath(context.type));
  return item.flatMap((door) =>
    LIST_ONLY.slice(0, 2).flatMap((query) =>
      one(context, { ...withBody(door), path: `${door.path}?${query}` }, 400, { code: 'invalid-query' }),
    ),
  );
}

function malformedParameters(context: Context): Case[] {
  const list = doors(context.type).find(
    ({ method, path }) => method === 'GET' && path === collectionPath(context.type),
  );
  if (list === undefined) return [];
  return LIST_ONLY.slice(2).flatMap((query) =>
    one(context, { ...withBody(list), path: `${list.path}?${query}` }, 400, { code: 'invalid-query' }),
  );
}

const BAD_JSON = ['', '{', '{"a":1,}', 'nothing', '{"a":01}', "{'a':1}", '{"a":1}x', '\u0000'] as const;
const NOT_OBJECTS = ['null', '[]', '1', '"x"', 'true'] as const;

function bodies(context: Context): Case[] {
  return doors(context.type)
    .filter(takesBody)
    .flatMap((door) => [
      ...BAD_JSON.flatMap((text) =>
        one(context, { ...door, text }, 400, { code: 'invalid-json' }, text === '' ? '(no body)' : ''),
      ),
      ...NOT_OBJECTS.flatMap((text) => one(context, { ...door, text }, 422, { code: 'invalid-body', pointers: [''] })),
    ]);
}

/** Keys that the type does not know, `__proto__` among them. */
function unknownKeys(context: Context): Case[] {
  const { type } = context;
  if (type.open) return [];
  const near = [...type.fields.keys()].map((name) => `${name}x`).slice(0, 2);
  const texts = ['noSuchKey', '__proto__', 'constructor', 'a/b~c', ...near].map(
    (key) => [key, `{${JSON.stringify(key)}:1}`] as const,
  );
  return doors(type)
    .filter(({ method }) => method === 'PUT')
    .flatMap((door) =>
      texts.flatMap(([key, text]) => {
        const pointers = [`/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`];
        return one(context, { ...door, text }, 422, { code: 'invalid-body', pointers });
      }),
    );
}

/** path, then Accept, then Content-Type, then query and JSON, then body, then record. */
function precedence(context: Context): Case[] {
  const { type } = context;
  const door = doors(type).find(({ method }) => method === 'PUT');
  if (door === undefined) return [];
  const request = (path: string, text: string, headers: Record<string, string> = {}) => ({
    ...door,
    path,
    text,
    headers: { ...door.headers, ...headers },
  });
  const unknown = '{"noSuchKey":1}';
  return [
    ...one(
      context,
      request(`/api/${type.path}-none/x?nope=1`, '{', { accept: 'text/html' }),
      404,
      { code: 'path-not-found' },
      'the path first',
    ),
    ...one(
      context,
      request(door.path, '{', { accept: 'text/html', 'content-type': 'text/plain' }),
      406,
      { code: 'not-acceptable' },
      'then Accept',
    ),
    ...one(
      context,
      request(`${door.path}?nope=1`, '{', { 'content-type': 'text/plain' }),
      415,
      { code: 'unsupported-media-type' },
      'then Content-Type',
    ),
    ...one(context, request(`${door.path}?nope=1`, unknown), 400, { code: 'invalid-query' }, 'then the query'),
    ...(type.open ? [] : one(context, request(door.path, unknown), 422, { code: 'invalid-body' }, 'then the body')),
    ...one(context, request(door.path, '{}'), 404, { code: 'record-not-found' }, 'then the record'),
  ];
}

function allFaults(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  const bad = type.defaultVariant.fields
    .filter((field) => !field.readOnly)
    .flatMap((field) => {
      const [value] = field.type.bad(field);
      return value === undefined ? [] : [[field.name, value] as const];
    });
  if (bad.length === 0 || bad.length > 100) return [];
  return caseOf(context, GROUP, `POST ${collectionPath(type)} with a fault in each field`, (scenario) => {
    const body = { ...fullBody(scenario, type), ...Object.fromEntries(bad) };
    refused(scenario, { method: 'POST', path: collectionPath(type), body }, 422, {
      pointers: bad.map(([name]) => `/${name}`),
    });
  });
}

function paths(context: Context): Case[] {
  const { type } = context;
  const unknown = [
    `/api/${type.path}-none`,
    `${itemPath(type, MISSING_ID)}/more`,
    `/api`,
    `/api/${type.path.toUpperCase()}X`,
  ];
  return unknown.flatMap((path) =>
    one(context, { method: 'GET', path: encodeURI(decodeURI(path)) }, 404, { code: 'path-not-found' }),
  );
}

export const errors = (context: Context): readonly Case[] =>
  [
    paths,
    unknownParameters,
    misplacedParameters,
    malformedParameters,
    bodies,
    unknownKeys,
    precedence,
    allFaults,
  ].flatMap((make) => make(context));
