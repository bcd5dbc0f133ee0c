/** Rules that the oracle of the suites once had otherwise than the service: for each a body, and the places that both must name. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { JsonObject } from '../../engine/json.ts';
import { answer as oracle } from '../../engine/suite/oracle.ts';
import { createWorld } from '../../engine/suite/world.ts';
import { ask } from '../support/ask.ts';
import { loadModel } from '../support/model.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const SCHEMA = 'tests/fixtures/nested';
const model = loadModel(SCHEMA);
let server: TestServer;

beforeAll(async () => void (server = await startTestServer({ schemaDirectory: SCHEMA })));
afterAll(() => server.close());

interface Case {
  readonly type: string;
  readonly path: string;
  /** Its identifier is that of the record which it makes. */
  readonly body: JsonObject;
  readonly pointers: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  'a value that does not fit its relation says nothing, so that no other place contradicts it': {
    type: 'Owner',
    path: 'owners',
    body: {
      id: 7,
      rank: 1,
      badge: 'none',
      friend: { id: 7, badge: null, friend: { id: 7, badge: { number: 1 } } },
    },
    pointers: ['/badge', '/friend/badge', '/friend/friend/badge'],
  },
  'an empty key is told where it stands, before the keys that follow it': {
    type: 'Thing',
    path: 'things',
    body: {
      id: 7,
      '': 1,
      more: 2,
      owner: { rank: 1, things: [{ id: 7, '': 3, more: 4 }] },
    },
    pointers: ['/', '/more', '/owner/things/0/', '/owner/things/0/more'],
  },
};

it.each(Object.entries(cases))('%s', async (_, { type: name, path, body, pointers }) => {
  const type = model.types.get(name);
  if (!type) throw new Error(`no type ${name}`);
  const { expect: said } = oracle(createWorld(), { type, method: 'POST', body });
  const answer = await ask(server.url, `POST /api/${path}`, body);
  const { errors = [] } = answer.body as { errors?: { pointer: string }[] };
  expect({ status: answer.status, pointers: errors.map(({ pointer }) => pointer) }).toEqual({ status: 422, pointers });
  expect(said.problem?.pointers).toEqual(pointers);
});
