/** One seed: random types and records, and roles that read part of them, beside services that have nothing else. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Descriptor, FieldDescriptor } from '../../../engine/descriptor/descriptor.ts';
import type { JsonObject, JsonValue } from '../../../engine/json/json.ts';
import type { Model, RecordType } from '../../../engine/model/model.ts';
import { type Call, MISSING_ID, requestOf } from '../../oracle/call.ts';
import { type Draw, drawBody } from '../../oracle/random-operations.ts';
import { drawList, drawView } from '../../oracle/random-queries.ts';
import { fill, writeJson } from '../../oracle/template.ts';
import { type Id, rowsOf, type World } from '../../oracle/world.ts';
import { createDatabase, type DatabaseKind } from '../../support/databases.ts';
import fc from '../../support/fast-check.ts';
import { loadModel } from '../../support/model.ts';
import { randomOf } from '../../support/random.ts';
import { randomSchema, readModel, writeSchema } from '../../support/random-schema.ts';
import { type Answer, as, type Service, startService } from '../service.ts';
import { type DrawnRole, drawRole } from './drawn-role.ts';
import { reduce } from './reduced.ts';
import { copySeen, readWorld } from './tables.ts';

export interface Size {
  readonly schemas: number;
  readonly roles: number;
  readonly requests: number;
}

/** Values that a copy of the rows could not keep, and rules that refuse too many bodies, are left out. */
function plain(descriptor: Descriptor): Descriptor {
  const isPlain = ({ generated, readOnly, default: value }: FieldDescriptor): boolean =>
    generated === undefined && !readOnly && value !== 'now';
  const fields = Object.fromEntries(Object.entries(descriptor.fields ?? {}).filter(([, field]) => isPlain(field)));
  const isKept = (name: string): boolean =>
    Object.hasOwn(fields, name.split(' ')[0] ?? '') || Object.hasOwn(descriptor.relations ?? {}, name);
  const { label, ...rest } = descriptor;
  return {
    ...rest,
    ...(typeof label === 'string' && isKept(label) ? { label } : {}),
    fields,
    checks: [],
    order: (descriptor.order ?? []).filter(isKept),
    unique: (descriptor.unique ?? []).filter((members) => members.every(isKept)),
  };
}

async function worldOf(service: Service, model: Model): Promise<World> {
  const values = new Map<RecordType, readonly Readonly<Record<string, JsonValue>>[]>();
  for (const type of model.types.values()) {
    const { text } = await service.send(`GET /api/${encodeURIComponent(type.path)}?include=`);
    values.set(type, JSON.parse(text) as readonly JsonObject[]);
  }
  return readWorld(service.database, model, values);
}

const RECORDS = 25;

async function fillTables(service: Service, model: Model, draw: Draw): Promise<World> {
  const types = [...model.types.values()];
  let world = await worldOf(service, model);
  for (let count = 0; count < RECORDS; count += 1) {
    const type = types[draw(types.length)];
    if (type === undefined) break;
    const { body: drawn } = drawBody(world, draw, type, undefined);
    const { [type.identifier.name]: _, ...body } = drawn as JsonObject;
    const text = writeJson(fill(body, new Map()));
    const { status } = await service.send(
      `POST /api/${encodeURIComponent(type.path)}`,
      { 'content-type': 'application/json' },
      text,
    );
    if (status === 201) world = await worldOf(service, model);
  }
  return world;
}

/** A list or a record; names and identifiers may be those that the role does not see. */
function drawCall(world: World, model: Model, draw: Draw): Call | undefined {
  const types = [...model.types.values()];
  const type = types[draw(Math.max(1, types.length))];
  if (type === undefined) return undefined;
  if (draw(3) > 0) return { type, method: 'GET', ...drawList(world, draw, type) };
  const ids: readonly Id[] = [...rowsOf(world, type).keys()];
  return { type, method: 'GET', id: ids[draw(ids.length + 1)] ?? MISSING_ID, view: drawView(draw, type) };
}

const COMPARED = ['content-type', 'x-total-count', 'link', 'etag', 'allow'] as const;

/** What a client sees of a response. */
const seenOf = ({ status, headers, text }: Answer): JsonObject => ({
  status,
  ...Object.fromEntries(COMPARED.map((name) => [name, String(headers[name] ?? '')])),
  text,
});

interface Compared {
  readonly whole: Service;
  readonly reduced: Service;
  readonly role: DrawnRole;
  readonly name: string;
}

async function compareCalls(calls: readonly (Call | undefined)[], { whole, reduced, role, name }: Compared) {
  const identity = { name: 'someone', role: name, claims: role.claims };
  let compared = 0;
  for (const call of calls) {
    if (call === undefined) continue;
    const { method, path } = requestOf(call);
    const title = `${method} ${path}`;
    const [answer, expected] = [await whole.send(title, as(identity)), await reduced.send(title)];
    // SQLite limits how deep the conditions of a role and of a query can be nested together.
    if (answer.status === 400 && expected.status === 200 && whole.database.kind === 'sqlite') continue;
    compared += 1;
    try {
      expect(seenOf(answer)).toEqual(seenOf(expected));
    } catch (error) {
      throw new Error(
        `${title}\n${JSON.stringify(role.descriptor, null, 1)}\n${JSON.stringify(identity)}\n${String(error)}`,
        {
          cause: error,
        },
      );
    }
  }
  return compared;
}

/** Whether parts of parts lead back to a type. Conditions of such types are not supported. */
function ownsItself(model: Model): boolean {
  const below = (type: RecordType, above: readonly RecordType[]): boolean =>
    above.includes(type) ||
    [...type.relations.values()].some(({ owned, target }) => owned && below(target, [...above, type]));
  return [...model.types.values()].some((type) => below(type, []));
}

/** Throws the first request that a role and the service without the rest answer differently. Returns how many were compared. */
export async function compareReads(
  seed: number,
  kind: DatabaseKind,
  { schemas, roles, requests }: Size,
): Promise<number> {
  let compared = 0;
  for (const [index, drawn] of fc.sample(randomSchema, { seed, numRuns: schemas }).entries()) {
    const draw = randomOf(seed * 1000 + index + 1);
    const descriptors = drawn.map(plain);
    const directory = writeSchema(descriptors);
    if (readModel(directory) === undefined) continue;
    const model = loadModel(directory);
    if (ownsItself(model)) continue;
    const database = await createDatabase(kind);
    const access = mkdtempSync(join(tmpdir(), 'access-'));
    try {
      const open = await startService(directory, database);
      const world = await fillTables(open, model, draw);
      await open.close();
      const all = Array.from({ length: roles }, () => drawRole(model, world, draw));
      for (const [at, { descriptor }] of all.entries())
        writeFileSync(join(access, `role${at}.yaml`), JSON.stringify({ ...descriptor, role: `role${at}` }, null, 1));
      const whole = await startService(directory, database, access);
      try {
        for (const [at, role] of all.entries())
          compared += await besideReduced(
            descriptors,
            { whole, role, name: `role${at}` },
            { world, model, draw, requests },
          );
      } finally {
        await whole.close();
      }
    } finally {
      rmSync(directory, { recursive: true });
      rmSync(access, { recursive: true });
      await database.remove();
    }
  }
  return compared;
}

interface Drawing {
  readonly world: World;
  readonly model: Model;
  readonly draw: Draw;
  readonly requests: number;
}

async function besideReduced(
  descriptors: readonly Descriptor[],
  compared: Omit<Compared, 'reduced'>,
  { world, model, draw, requests }: Drawing,
): Promise<number> {
  const { role, whole } = compared;
  if (role.seen.size === 0) return 0;
  const directory = writeSchema(reduce(descriptors, role.seen));
  const database = await createDatabase(whole.database.kind);
  try {
    const seen = loadModel(directory);
    const reduced = await startService(directory, database);
    try {
      await copySeen(whole.database, database, seen, role.seen);
      const few = await worldOf(reduced, seen);
      const calls = Array.from({ length: requests }, () =>
        draw(3) === 0 ? drawCall(world, model, draw) : drawCall(few, seen, draw),
      );
      return await compareCalls(calls, { ...compared, reduced });
    } finally {
      await reduced.close();
    }
  } finally {
    rmSync(directory, { recursive: true });
    await database.remove();
  }
}
