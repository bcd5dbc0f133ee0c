/** A field that a role may send and not read stands in the bodies of the OpenAPI document, and in no record; a field that it may not send is read-only. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadRoles, type Role } from '../../engine/access/roles.ts';
import { createBinder } from '../../engine/access/rules.ts';
import { describeType } from '../../engine/describe/describe.ts';
import type { JsonObject } from '../../engine/json/json.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { seenModel } from '../../engine/model/rights.ts';
import { createDatabase } from '../support/databases.ts';
import { loadModel } from '../support/model.ts';
import { as, startService } from './service.ts';

type Schema = JsonObject & { readonly required?: readonly string[]; readonly properties: Record<string, JsonObject> };

/** The OpenAPI document, as the role gets it. */
async function documentFor(role: string, schema: string, access: string) {
  const database = await createDatabase();
  const service = await startService(schema, database, access);
  const { text } = await service.send('GET /openapi.json', as({ name: 'a', role, claims: {} }));
  await service.close();
  await database.remove();
  return JSON.parse(text) as {
    components: { schemas: Record<string, Schema> };
    paths: Record<string, { post?: { requestBody: { content: Record<string, JsonObject> } } }>;
  };
}

test('the booking page sends the slot of an appointment that it cannot read', async () => {
  const files = 'docs/examples/access/practice';
  const { components, paths } = await documentFor('anonymous', `${files}/schema`, `${files}/access`);
  const { required, properties } = components.schemas['NewAppointment'] ?? {};
  expect(Object.keys(properties ?? {}).toSorted()).toEqual(['id', 'name', 'phone', 'reason', 'slot']);
  expect(required?.toSorted()).toEqual(['name', 'phone', 'slot']);
  expect(components.schemas['Slot']?.properties).not.toHaveProperty('appointment');
  const { content } = paths['/api/appointments']?.post?.requestBody ?? {};
  expect(JSON.stringify(content)).toContain('"slot":{"id":1}');
});

test('parts that are only sent need no link to their owner', async () => {
  const access = mkdtempSync(join(tmpdir(), 'access-'));
  const role =
    'role: desk\nread: { Branch: true, Product: true }\ncreate: { Order: { only: [number, branch, lines] } }';
  writeFileSync(join(access, 'desk.yaml'), role);
  const { components } = await documentFor('desk', 'docs/examples/access/shop/schema', access);
  const order = components.schemas['NewOrder'];
  expect(Object.keys(order?.properties ?? {}).toSorted()).toEqual(['branch', 'id', 'lines', 'number']);
  expect(order?.required?.toSorted()).toEqual(['branch', 'number']);
  const line = components.schemas['OrderLinesInput'];
  expect(Object.keys(line?.properties ?? {}).toSorted()).toEqual(['id', 'product', 'quantity']);
  expect(JSON.stringify(line?.['anyOf'])).toContain('["quantity","product"]');
});

test('a relation that a role reads and may never send is told as read-only', async () => {
  const files = 'docs/examples/access/practice';
  const { components } = await documentFor('vet', `${files}/schema`, `${files}/access`);
  const { slot, state } = components.schemas['AppointmentInput']?.properties ?? {};
  expect([slot?.['readOnly'], state?.['readOnly']]).toEqual([true, undefined]);
  expect(slot?.['description']).toBe('When. Read-only: leave it out.');
  const model = loadModel(`${files}/schema`);
  const { roles } = loadRoles(`${files}/access`, model);
  const toldOf = (name: string): JsonObject => {
    const rights = createBinder(roles.get(name) as Role, model, () => undefined)({ sub: 'a' });
    const type = seenModel(model, rights).types.get('Appointment') as RecordType;
    return describeType(type)['relations'] as JsonObject;
  };
  expect(toldOf('vet')).toMatchObject({ slot: { readOnly: true } });
  // A new record can have the link.
  expect(JSON.stringify([toldOf('anonymous'), toldOf('accountant')])).not.toContain('readOnly');
});

test('what neither is read nor may be sent has no name', async () => {
  const access = mkdtempSync(join(tmpdir(), 'access-'));
  writeFileSync(
    join(access, 'writer.yaml'),
    'role: writer\nread: { Order: { except: [author, note] }, Branch: true }\nwrite: { Order: true }',
  );
  const document = await documentFor('writer', 'tests/fixtures/roles/schema', access);
  expect(document.components.schemas['NewOrder']?.properties).toHaveProperty('note');
  expect(JSON.stringify(document)).not.toContain('"author"');
});
