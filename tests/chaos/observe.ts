/** What a response says about the records of tests/fixtures/chaos. */
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import type { Seen, SetSeen, Sighting, State } from './history.ts';

/** Fields of a register that are written on their own. */
export const FIELDS = ['left', 'right', 'note'] as const;

export const LISTS = ['registers', 'accounts', 'ledgers', 'assemblies', 'memos'] as const;
/** Records that only come with an assembly. Their lists tell whether something was written in part. */
export const PARTS = ['parts', 'boxes'] as const;

interface Found {
  readonly sightings: Sighting[];
  readonly sets: SetSeen[];
  readonly torn: string[];
}

const stampOf = (record: JsonObject): State => record['stamp'] as State;
const pathOf = (type: string, record: JsonObject): string => `${type}/${record['id']}`;
const recordsIn = (value: JsonValue | undefined): readonly JsonObject[] => (value ?? []) as JsonObject[];

/** By type: what a record shows besides its own stamp. */
const shown: Readonly<Record<string, (record: JsonObject, found: Found) => void>> = {
  registers: (record, { sightings }) => {
    for (const field of FIELDS)
      // An older version does not show all of them.
      if (field in record)
        sightings.push({ object: `${pathOf('registers', record)}#${field}`, state: record[field] as State });
  },
  accounts: (record, found) => {
    const ledgers = recordsIn(record['ledgers']);
    if ('ledgers' in record)
      found.sets.push({
        of: pathOf('accounts', record),
        members: ledgers.map((ledger) => pathOf('ledgers', ledger)),
      });
    for (const ledger of ledgers) look('ledgers', ledger, found);
  },
  ledgers: (record, found) => {
    const account = record['account'] as JsonObject | undefined;
    if (account) look('accounts', account, found);
  },
  assemblies: (record, { torn }) => {
    if (!('parts' in record)) return;
    const others = [...recordsIn(record['parts']), ...recordsIn([record['box'] ?? null])];
    const isWhole = others.length === 4 && others.every((other) => other && stampOf(other) === stampOf(record));
    if (!isWhole) torn.push(JSON.stringify(record));
  },
};

function look(type: string, record: JsonObject, found: Found): void {
  const object = pathOf(type, record);
  const known = found.sightings.find((sighting) => sighting.object === object);
  if (known === undefined) found.sightings.push({ object, state: stampOf(record) });
  else if (known.state !== stampOf(record)) found.torn.push(JSON.stringify(record));
  shown[type]?.(record, found);
}

/** A record or a list. */
export function observe(type: string, text: string): Seen {
  const body = JSON.parse(text) as JsonObject | readonly JsonObject[];
  const found: Found = { sightings: [], sets: [], torn: [] };
  const isWatched = (LISTS as readonly string[]).includes(type);
  if (Array.isArray(body) && isWatched)
    found.sets.push({ of: type, members: body.map((record) => pathOf(type, record)) });
  for (const record of Array.isArray(body) ? (body as readonly JsonObject[]) : [body as JsonObject])
    look(type, record, found);
  return found;
}
