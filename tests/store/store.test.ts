/** The shipped descriptors and the running service against the published interface, which was typed in by hand. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JsonValue } from '../../engine/json/json.ts';
import type { Model } from '../../engine/model/model.ts';
import { checkSchema } from '../../engine/validation/check-schema.ts';
import { type Answer, ask as askAt } from '../support/ask.ts';
import { keyedSchema, keyOf, withKeys } from '../support/keyed.ts';
import { loadModel } from '../support/model.ts';
import { startTestServer } from '../support/server.ts';
import { describeStore, shippedFiles, shippedSchema } from '../support/shipped.ts';
import { type RawDescriptor, readDescriptors, table } from './descriptors.ts';
import { DECIMALS, LENGTHS, REFUSED, UNIQUE, UNIQUE_OR_NULL } from './facts.ts';
import {
  answered,
  identifierOf,
  NOTIFICATION_VARIANTS,
  OBJECTS,
  OPEN_TYPES,
  PARTIAL,
  RESOURCES,
} from './specification.ts';

describeStore('the descriptors', () => {
  const isIn = (folder: string) => (file: string) => dirname(file) === folder;
  const shipped = readDescriptors(shippedFiles.filter(isIn('schema')));
  const related = readDescriptors(shippedFiles.filter(isIn('schema/related')));
  const descriptorOf = (type: string): RawDescriptor => {
    const descriptor = shipped.get(type) ?? related.get(type);
    if (!descriptor) throw new Error(`no descriptor of ${type}`);
    return descriptor;
  };

  test('have no fault and no warning', () => {
    expect(checkSchema(shippedSchema()).diagnostics).toEqual([]);
  });

  test.each(shippedFiles)('%s tells editors where the grammar is', (file) => {
    const grammar = /^# yaml-language-server: \$schema=(.+descriptor\.schema\.json)\n/.exec(readFileSync(file, 'utf8'));
    expect(existsSync(join(dirname(file), grammar?.[1] ?? ''))).toBe(true);
  });

  test.each(Object.keys(OBJECTS))('%s has the fields of the specification, in their order', (type) => {
    const { fields = {}, relations = {}, open = false } = descriptorOf(type);
    const order = Object.keys(OBJECTS[type] ?? {});
    expect(table(descriptorOf(type))).toEqual(answered(type));
    expect(Object.keys(fields)).toEqual(order.filter((name) => name in fields));
    expect(Object.keys(relations)).toEqual(order.filter((name) => name in relations));
    expect(open).toBe(false);
  });

  test.each(OPEN_TYPES)('%s has an identifier and is open', (type) => {
    expect(table(descriptorOf(type))).toEqual({ id: 'integer' });
    expect(descriptorOf(type).open).toBe(true);
  });

  test.each(Object.entries(RESOURCES))('%s has its operations', (type, { operations }) => {
    expect([...descriptorOf(type).operations].toSorted()).toEqual([...operations].toSorted());
  });

  test('related types have no operations', () => {
    expect(
      [...related.values()].filter(({ type, operations }) => !(type in RESOURCES) && operations.length > 0),
    ).toEqual([]);
  });

  test('relations show whole records, except those that the specification shows in part', () => {
    const partial = [...shipped.values(), ...related.values()].flatMap(({ type, relations = {} }) =>
      Object.entries(relations).flatMap(([name, relation]) =>
        relation.fields ? [[`${type}.${name}`, [identifierOf(relation.type), ...relation.fields]]] : [],
      ),
    );
    expect(Object.fromEntries(partial)).toEqual(PARTIAL);
  });

  test('Notification has its variants', () => {
    expect(descriptorOf('Notification').variants).toEqual({ default: 'A', omit: NOTIFICATION_VARIANTS });
  });
});

/** Names that can only come from the store: those of types, and compound names of fields and relations. */
const storeNames: ReadonlySet<string> = new Set(
  [...readDescriptors(shippedFiles).values()]
    .flatMap(({ type, fields, relations }) => [type, ...Object.keys({ ...fields, ...relations })])
    .filter((name) => /_|[a-z][A-Z]/.test(name)),
);

describeStore.each(['engine', 'studio'])('%s/', (folder) => {
  test('knows no name of the store', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules'))
      .map((file) => join(folder, file));
    const known = files.flatMap((file) =>
      (readFileSync(file, 'utf8').match(/[\p{L}_][\p{L}\p{N}_-]*/gu) ?? [])
        .filter((word) => storeNames.has(word))
        .map((word) => `${file}: ${word}`),
    );
    expect(known).toEqual([]);
  });
});

describeStore.each(['integer', 'uuid', 'string'] as const)('the service, with keys of type %s', (kind) => {
  let server: Awaited<ReturnType<typeof startTestServer>>;
  let model: Model;
  beforeAll(async () => {
    const schemaDirectory = kind === 'integer' ? shippedSchema() : keyedSchema(shippedSchema(), kind);
    model = loadModel(schemaDirectory);
    server = await startTestServer({ schemaDirectory });
  });
  afterAll(() => server.close());

  let keys = 0;
  /** The same request, with keys where clients bring them. */
  function ask(request: string, body?: unknown): Promise<Answer> {
    const [, path] = /^POST \/api\/([\w-]+)$/.exec(request) ?? [];
    const type = [...model.types.values()].find((one) => one.path === path);
    const isKeyed = kind === 'string' && type !== undefined;
    const sent = isKeyed ? withKeys(body as JsonValue, type, () => `new-${(keys += 1)}`) : body;
    return askAt(server.url, request, sent);
  }
  const seeded = (number: number): string =>
    kind === 'integer' ? String(number) : encodeURIComponent(keyOf(kind, number));
  const record = async (request: string, body?: unknown) => (await ask(request, body)).body as Record<string, unknown>;
  const expectStatus = async (request: string, status: number, body?: unknown): Promise<void> => {
    const answer = await ask(request, body);
    const received = answer.status === status ? undefined : answer.body;
    expect({ request, sent: body, status: answer.status, received }).toEqual({ request, sent: body, status });
  };

  test.each(LENGTHS)('$path $field has at most $length characters', async ({ path, body, length }) => {
    await expectStatus(`POST ${path}`, 201, body('ü'.repeat(length)));
    await expectStatus(`POST ${path}`, 422, body('ü'.repeat(length + 1)));
  });

  test.each(DECIMALS)(
    '$path $field has at most $whole digits, and $fraction after the point',
    async ({ path, body, whole, fraction }) => {
      const digits = (count: number): string => (count === 0 ? '' : `.${'9'.repeat(count)}`);
      await expectStatus(`POST ${path}`, 201, body('9'.repeat(whole) + digits(fraction)));
      await expectStatus(`POST ${path}`, 422, body('9'.repeat(whole + 1)));
      await expectStatus(`POST ${path}`, 422, body(`0${digits(fraction + 1)}`));
    },
  );

  test.each(REFUSED)('%s: POST %s %j', (_why, path, body) => expectStatus(`POST ${path}`, 422, body));

  test.each([...UNIQUE.map((row) => [...row, 409] as const), ...UNIQUE_OR_NULL.map((row) => [...row, 201] as const)])(
    'POST %s %j twice: 201, %i',
    async (path, body, status) => {
      await expectStatus(`POST ${path}`, 201, body);
      await expectStatus(`POST ${path}`, status, body);
    },
  );

  test('GET /api/notifications lists the mails of a shop by position', async () => {
    const { body } = await ask('GET /api/notifications');
    const records = body as readonly { readonly templatesDirectory: string; readonly position: number }[];
    expect(records.length).toBeGreaterThanOrEqual(18);
    expect(records.map(({ templatesDirectory }) => templatesDirectory)).toContain('order_created');
    expect(records).toEqual([...records].toSorted((one, other) => one.position - other.position));
  });

  test.each(Object.entries(NOTIFICATION_VARIANTS))(
    'GET /api/notifications/1?variant=%s lacks %j',
    async (variant, lacks) => {
      const expected = Object.keys(answered('Notification')).filter(
        (name) => !lacks.some((lacking) => lacking === name),
      );
      expect(Object.keys(await record(`GET /api/notifications/${seeded(1)}?variant=${variant}`)).toSorted()).toEqual(
        expected.toSorted(),
      );
    },
  );

  test('PUT /api/notifications/4 with the templates of another one', async () => {
    const { templatesDirectory } = await record(`GET /api/notifications/${seeded(3)}`);
    await expectStatus(`PUT /api/notifications/${seeded(4)}`, 409, { templatesDirectory });
    await expectStatus('POST /api/notifications', 405, { templatesDirectory: 'new' });
  });

  test('DELETE /api/tax-classes/{id} with rates is refused; a shipping method outlives its tax class', async () => {
    const { id: taken } = await record('POST /api/tax-classes', {});
    await expectStatus('POST /api/sales-tax-rates', 201, { taxClass: { id: taken } });
    await expectStatus(`DELETE /api/tax-classes/${taken}`, 409);
    const { id } = await record('POST /api/tax-classes', {});
    const { markup_id } = await record('POST /api/shipping-markups', {
      shipping_method: { code: 'POST', taxClass: { id } },
    });
    await expectStatus(`DELETE /api/tax-classes/${id}`, 200);
    const markup = await record(`GET /api/shipping-markups/${markup_id}?include=shipping_method.taxClass`);
    expect(markup['shipping_method']).toMatchObject({ code: 'POST', taxClass: null });
  });
});
