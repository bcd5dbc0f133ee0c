/** What a client takes, and what it says that a body is: refused with what would do instead. */
import { collectionPath } from '../addresses.ts';
import type { Case, Request } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { doors, takesBody, withBody, withHeaders } from '../doors.ts';
import { refused, step } from '../scenario.ts';

const GROUP = 'media types';

const NOT_ACCEPTED = ['text/html', 'application/json;q=0', 'image/*'] as const;
const PATCHES = 'application/merge-patch+json, application/json';

function notAcceptable(context: Context, door: Request): Case[] {
  return NOT_ACCEPTED.flatMap((accept) =>
    caseOf(context, GROUP, `${door.method} ${door.path} accept: ${accept}`, (scenario) => {
      const problem = { code: 'not-acceptable', headers: ['Accept'] } as const;
      refused(scenario, withHeaders(withBody(door), { accept }), 406, problem);
    }),
  );
}

const NO_BODIES = ['text/plain', 'application/x-www-form-urlencoded', 'application/xml'] as const;

const unsupportedTypes = ({ method }: Request): readonly string[] =>
  method === 'PATCH' ? NO_BODIES : [...NO_BODIES, 'application/merge-patch+json'];

function unsupported(context: Context, door: Request): Case[] {
  const takes = door.method === 'PATCH' ? { 'accept-patch': PATCHES } : { accept: 'application/json' };
  return unsupportedTypes(door).flatMap((type) =>
    caseOf(context, GROUP, `${door.method} ${door.path} content-type: ${type}`, (scenario) => {
      const request = withHeaders(withBody(door), { 'content-type': type });
      const problem = { code: 'unsupported-media-type', headers: ['Content-Type'] } as const;
      step(scenario, request, { status: 415, headers: takes, problem });
    }),
  );
}

/** Bodies come as they are. */
function encoded(context: Context, door: Request): Case[] {
  return caseOf(context, GROUP, `${door.method} ${door.path} content-encoding: gzip`, (scenario) => {
    const request = withHeaders(withBody(door), { 'content-encoding': 'gzip' });
    const problem = { code: 'unsupported-media-type', headers: ['Content-Encoding'] } as const;
    step(scenario, request, { status: 415, headers: { 'accept-encoding': 'identity' }, problem });
  });
}

/** Of several that a client takes, the one that it likes best. */
function preferred(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('list')) return [];
  const path = collectionPath(type, ['_cnd[limit][1]=0']);
  return caseOf(context, GROUP, `GET ${path} in the media type that is liked best`, (scenario) => {
    const expected = [
      ['*/*', 'application/json'],
      ['text/csv;q=0.5, application/x-ndjson', 'application/x-ndjson'],
      ['application/*;q=0.2, application/x-ndjson;q=0.1, text/html', 'application/json'],
    ] as const;
    for (const [accept, got] of expected)
      step(scenario, { method: 'GET', path, headers: { accept } }, { status: 200, headers: { 'content-type': got } });
  });
}

export const mediaTypes = (context: Context): readonly Case[] => [
  ...doors(context.type).flatMap((door) => notAcceptable(context, door)),
  ...doors(context.type)
    .filter(takesBody)
    .flatMap((door) => [...unsupported(context, door), ...encoded(context, door)]),
  ...preferred(context),
];
