/** Open records keep unknown keys. A field that a variant or a relation leaves out is not an unknown key: it is refused. */
import type { JsonObject } from '../../engine/json/json.ts';
import { ask } from '../support/ask.ts';
import { useServer } from '../support/server.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/schemas/open-hidden' });

const unknown = (pointer: string, key: string) => ({ pointer, code: 'unknown-key', message: `Unknown key "${key}"` });

it.each<[string, JsonObject, number, unknown]>([
  ['POST /api/parcels', { label: 'a', weight: '1.5', note: true }, 201, undefined],
  ['POST /api/parcels?variant=plain', { weight: '1.5', note: true }, 422, [unknown('/weight', 'weight')]],
  ['POST /api/parcels?variant=plain', { weight: { not: 'even a decimal' } }, 422, [unknown('/weight', 'weight')]],
  ['POST /api/boxes', { parcels: [{ label: 'a', note: true }] }, 201, undefined],
  ['POST /api/boxes', { parcels: [{ weight: true }] }, 422, [unknown('/parcels/0/weight', 'weight')]],
  ['POST /api/boxes', { id: 'a key like any other' }, 201, undefined],
])('%s %j: %i', async (request, body, status, errors) => {
  const answer = await ask(server.url, request, body);
  expect({ status: answer.status, errors: (answer.body as JsonObject)['errors'] }).toEqual({ status, errors });
});
