/** The other media types of lists. */
import type { RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { cnd } from '../query-text.ts';
import { collectionPath } from '../addresses.ts';
import { fullBody } from '../obtain.ts';
import { post } from '../requests.ts';
import { refused, step } from '../scenario.ts';

const GROUP = 'formats';
const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';
const NOTHING = '_cnd[limit][1]=0';

/** One record is one line, which is JSON by itself. */
function lines(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('create') || !type.identifier.inRecord) return [];
  return caseOf(context, GROUP, `GET ${collectionPath(type)} as ${NDJSON}`, (scenario) => {
    const ids = [post(scenario, type, fullBody(scenario, type))];
    const own = { path: type.identifier.name, operator: 'in', ids } as const;
    const [record] = scenario.reference.list(type, { filters: [own] }).body;
    if (record === undefined) throw new Error('the record that was made is not listed');
    const path = collectionPath(
      type,
      ids.map((id) => `${cnd(own.path, 'in')}={${id}}`),
    );
    const request = { method: 'GET', path, headers: { accept: NDJSON } };
    step(scenario, request, { status: 200, headers: { 'content-type': NDJSON, 'x-total-count': '1' }, body: record });
  });
}

const namesOf = ({ identifier, defaultVariant }: RecordType): string =>
  [...(identifier.inRecord ? [identifier.name] : []), ...defaultVariant.fields.map(({ name }) => name)].join(',');

/** A table begins with its names; relations have no place in it. */
function table(context: Context): Case[] {
  const { type } = context;
  const names = namesOf(type);
  const [relation] = type.relations.keys();
  const headers = { accept: CSV };
  return caseOf(context, GROUP, `GET ${collectionPath(type)} as ${CSV}`, (scenario) => {
    if (names !== '') {
      const request = { method: 'GET', path: collectionPath(type, [NOTHING]), headers };
      const expected = { 'content-type': `${CSV}; charset=utf-8; header=present` };
      step(scenario, request, { status: 200, headers: expected, body: `${names}\r\n` });
    }
    if (relation === undefined) return;
    const path = collectionPath(type, [`include=${encodeURIComponent(relation)}`]);
    refused(scenario, { method: 'GET', path, headers }, 400, { code: 'invalid-query', parameters: ['include'] });
  });
}

export const formats = (context: Context): readonly Case[] =>
  context.type.operations.has('list') ? [lines, table].flatMap((make) => make(context)) : [];
