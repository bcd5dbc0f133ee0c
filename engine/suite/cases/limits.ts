/** How much a request may hold: at the limit it is looked at, beyond it is refused before anything else. */
import type { Case, Request } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { doors, takesBody, withBody, withHeaders } from '../doors.ts';
import { refused } from '../scenario.ts';

const GROUP = 'limits';

function tooLarge(context: Context, door: Request, bytes: number): Case[] {
  const body = { ...door, body: {}, padTo: bytes + 1 };
  return caseOf(context, GROUP, `${door.method} ${door.path} of ${bytes} bytes and one more`, (scenario) => {
    refused(scenario, body, 413, { code: 'content-too-large' });
    if (door.method !== 'PUT') return;
    const chunked = withHeaders(body, { 'transfer-encoding': 'chunked' });
    refused(scenario, chunked, 413, { code: 'content-too-large' });
    refused(scenario, { ...body, padTo: bytes }, 404, { code: 'record-not-found' });
  });
}

/** A body of many small parts, which is not too large in bytes. */
function tooMuch(context: Context, door: Request, what: string, text: string): Case[] {
  const { bodyLimit = Infinity } = context.deployment;
  if (text.length > bodyLimit) return [];
  return caseOf(context, GROUP, `${door.method} ${door.path} with ${what}`, (scenario) =>
    refused(scenario, { ...door, text }, 413, { code: 'content-too-large' }),
  );
}

const keysText = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;

/** What is nested too deep is no JSON that is read to its end. */
function tooDeep(context: Context, door: Request, levels: number): Case[] {
  const nested = (count: number): string => `${'{"k":'.repeat(count)}1${'}'.repeat(count)}`;
  return caseOf(context, GROUP, `${door.method} ${door.path} of ${levels} levels and one more`, (scenario) =>
    refused(scenario, { ...door, text: nested(levels + 1) }, 400, { code: 'invalid-json' }),
  );
}

const itemsText = (count: number): string => `{"k":[${Array.from({ length: count }, () => 1).join(',')}]}`;

function longUrl(context: Context, door: Request, limit: number): Case[] {
  const filled = (length: number): string => `${door.path}?${'a'.repeat(length - door.path.length - 1)}`;
  if (door.path.length + 2 > limit) return [];
  return caseOf(context, GROUP, `${door.method} ${door.path} in ${limit} characters and one more`, (scenario) => {
    refused(scenario, withBody({ ...door, path: filled(limit + 1) }), 414, { code: 'uri-too-long' });
    refused(scenario, withBody({ ...door, path: filled(limit) }), 400, { code: 'invalid-query' });
  });
}

export function limits(context: Context): readonly Case[] {
  const { bodyLimit, bodyKeys, bodyItems, bodyDepth, urlLimit } = context.deployment;
  const all = doors(context.type);
  const writing = all.filter(takesBody);
  const [first] = writing;
  return [
    ...(bodyLimit === undefined ? [] : writing.flatMap((door) => tooLarge(context, door, bodyLimit))),
    ...(bodyKeys === undefined || first === undefined
      ? []
      : tooMuch(context, first, `${bodyKeys} keys and one more`, keysText(bodyKeys + 1))),
    ...(bodyItems === undefined || first === undefined
      ? []
      : tooMuch(context, first, `an array of ${bodyItems} items and one more`, itemsText(bodyItems + 1))),
    ...(bodyDepth === undefined || first === undefined ? [] : tooDeep(context, first, bodyDepth)),
    ...(urlLimit === undefined ? [] : all.flatMap((door) => longUrl(context, door, urlLimit))),
  ];
}
