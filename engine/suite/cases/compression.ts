/** Long answers are made smaller for who takes that, under a tag of their own that means the same record. */
import { collectionPath } from '../addresses.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { reading, withHeaders } from '../doors.ts';
import { fullBody } from '../obtain.ts';
import { listQuery } from '../query-text.ts';
import { post } from '../requests.ts';
import { step, Unreachable } from '../scenario.ts';

const GROUP = 'compression';

/** In characters: whoever compresses at all does so with this. */
const LONG = 4096;
const MOST_RECORDS = 25;
const VARY = 'Accept-Encoding';

/** What a client takes, and what it gets. */
const CHOICES = [
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['gzip;q=0.5, br', 'br'],
  ['deflate, gzip', 'gzip'],
  ['identity', null],
  ['gzip;q=0', null],
  ['deflate', null],
] as const;

function lists(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('create') || !type.operations.has('list') || !type.identifier.inRecord) return [];
  return caseOf(context, GROUP, `GET ${collectionPath(type)} of many records, compressed`, (scenario) => {
    const first = post(scenario, type, fullBody(scenario, type));
    const count = Math.ceil(LONG / JSON.stringify(scenario.reference.get(type, first)).length);
    if (count > MOST_RECORDS) throw new Unreachable(`records of ${type.name} are short`);
    const others = Array.from({ length: count }, () => post(scenario, type, fullBody(scenario, type)));
    const own = { path: type.identifier.name, operator: 'in', ids: [first, ...others] } as const;
    const page = { filters: [own], offset: 0, limit: own.ids.length };
    const { body } = scenario.reference.list(type, page);
    const path = collectionPath(type, listQuery(page));
    const tagged = type.preconditions !== 'off';
    const tagOf = (coding: string | null): string => (coding === null ? '"{tag}"' : `"{tag}-${coding}"`);
    step(scenario, { method: 'GET', path }, { status: 200, headers: { etag: tagged ? tagOf(null) : null }, body });
    for (const [taken, coding] of CHOICES) {
      const headers = { 'content-encoding': coding, vary: VARY, etag: tagged ? tagOf(coding) : null };
      step(scenario, { method: 'GET', path, headers: { 'accept-encoding': taken } }, { status: 200, headers, body });
    }
    if (!tagged) return;
    const known = { 'accept-encoding': 'gzip', 'if-none-match': tagOf('gzip') };
    step(
      scenario,
      { method: 'GET', path, headers: known },
      { status: 304, headers: { etag: tagOf('gzip') }, empty: true },
    );
  });
}

/** A refusal of many words, which any service can answer. */
function refusals(context: Context): Case[] {
  const door = reading(context.type);
  if (door === undefined) return [];
  const names = Array.from({ length: 40 }, (_, index) => `noSuchParameter${index}`);
  const path = `${door.path}?${names.map((name) => `${name}=1`).join('&')}`;
  return caseOf(context, GROUP, `GET ${door.path} refused at length, compressed`, (scenario) => {
    const problem = { code: 'invalid-query', parameters: names } as const;
    for (const [taken, coding] of CHOICES) {
      const request = withHeaders({ ...door, path }, { 'accept-encoding': taken });
      step(scenario, request, { status: 400, headers: { 'content-encoding': coding, vary: VARY }, problem });
    }
  });
}

export const compression = (context: Context): readonly Case[] => [...lists(context), ...refusals(context)];
