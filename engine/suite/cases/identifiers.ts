/** Identifiers that are missing, malformed, taken, given by the client, or somebody else's. */
import { MAX_GIVEN_IDENTIFIER, type RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { collectionPath, guard, itemPath, MISSING_ID } from '../addresses.ts';
import { doors, withBody } from '../doors.ts';
import { fullBody } from '../obtain.ts';
import { accepted, get, post, put, remove } from '../requests.ts';
import { refused, step } from '../scenario.ts';
import { idValue } from '../reference/world.ts';

const GROUP = 'identifiers';
const MALFORMED = [
  '0',
  '-1',
  '1.5',
  '1e3',
  'abc',
  '+1',
  '9007199254740992',
  '1%2F2',
  '%20',
  '1;2',
  '%D9%A3',
  "1'--",
] as const;
const NOT_GIVEN = [0, -1, 1.5, '1', true, [], {}, MAX_GIVEN_IDENTIFIER + 1, 1e300] as const;

/** The requests for one record. */
const itemDoors = (type: RecordType) => doors(type).filter(({ path }) => path === itemPath(type, MISSING_ID));

function malformed(context: Context): Case[] {
  const { type } = context;
  return itemDoors(type).flatMap((door) =>
    caseOf(context, GROUP, `${door.method} ${itemPath(type, '…')} with malformed identifiers`, (scenario) => {
      for (const text of MALFORMED) {
        const request = { ...withBody(door), path: `${collectionPath(type)}/${text}` };
        refused(scenario, request, 400, { code: 'invalid-identifier', parameters: ['id'] });
      }
    }),
  );
}

function missing(context: Context): Case[] {
  const { type } = context;
  return itemDoors(type).flatMap((door) =>
    caseOf(context, GROUP, `${door.method} ${door.path} that no record has`, (scenario) =>
      refused(scenario, withBody(door), 404, { code: 'record-not-found' }),
    ),
  );
}

/** An identifier in the body of POST: used where it is free, null as if absent, 409 where it is taken. */
function given(context: Context): Case[] {
  const { type } = context;
  const { name, inRecord } = type.identifier;
  if (!type.operations.has('create') || !inRecord) return [];
  const taken = caseOf(context, GROUP, `POST ${collectionPath(type)} with an identifier that is taken`, (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    const body = { ...fullBody(scenario, type), [name]: idValue(id) };
    refused(scenario, { method: 'POST', path: collectionPath(type), body }, 409, { code: 'identifier-conflict' });
    get(scenario, type, id);
  });
  const free = caseOf(
    context,
    GROUP,
    `POST ${collectionPath(type)} with an identifier that is free, or null`,
    (scenario) => {
      const id = post(scenario, type, { ...fullBody(scenario, type), [name]: null });
      if (!type.operations.has('delete')) return;
      remove(scenario, type, id);
      const body = fullBody(scenario, type);
      const again = accepted(scenario.reference.create(type, { ...body, [name]: idValue(id) }));
      const location = itemPath(type, id);
      const sent = { method: 'POST', path: collectionPath(type), body: { ...body, [name]: idValue(id) } };
      step(scenario, sent, { status: 201, headers: { location }, body: again.body }, again.changes);
      post(scenario, type, fullBody(scenario, type));
    },
  );
  return [...taken, ...free];
}

function refusedInBody(context: Context): Case[] {
  const { type } = context;
  const { name, inRecord } = type.identifier;
  if (!type.operations.has('create')) return [];
  const values = inRecord ? NOT_GIVEN : [1];
  return caseOf(context, GROUP, `POST ${collectionPath(type)} with ${name} that no record may have`, (scenario) => {
    for (const value of values) {
      const body = { ...fullBody(scenario, type), [name]: value };
      refused(scenario, { method: 'POST', path: collectionPath(type), body }, 422, {
        code: 'invalid-body',
        pointers: [`/${name}`],
      });
    }
  });
}

/** The identifier may stand in the body of PUT only if it is the record's own. */
function inUpdates(context: Context): Case[] {
  const { type } = context;
  const { name, inRecord } = type.identifier;
  if (!type.operations.has('create') || !type.operations.has('update') || !inRecord) return [];
  return caseOf(context, GROUP, `PUT ${itemPath(type, '…')} with ${name} in the body`, (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    const other = post(scenario, type, fullBody(scenario, type));
    put(scenario, type, id, { [name]: idValue(id) });
    for (const value of [idValue(other), MISSING_ID, 'x', 0]) {
      const body = { [name]: value };
      refused(scenario, { method: 'PUT', path: itemPath(type, id), body, ...guard(type) }, 422, {
        pointers: [`/${name}`],
      });
    }
    get(scenario, type, other);
  });
}

export const identifiers = (context: Context): readonly Case[] => [
  ...malformed(context),
  ...missing(context),
  ...given(context),
  ...refusedInBody(context),
  ...inUpdates(context),
];
