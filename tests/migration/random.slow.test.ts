/** From any schema to any other: what can be applied ends in exactly the tables of the new one, with every record; alike on each database. */
import { rmSync } from 'node:fs';
import type { Descriptor } from '../../engine/descriptor/descriptor.ts';
import type { JsonObject } from '../../engine/json.ts';
import { resolveModel } from '../../engine/model/resolve.ts';
import { createClient } from '../oracle/client.ts';
import { collectionPath } from '../oracle/call.ts';
import { ask } from '../support/ask.ts';
import { type DatabaseKind, databaseKinds } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { randomSchema, readModel, writeSchema, yamlOf } from '../support/random-schema.ts';
import { createRenamer } from '../support/renamed.ts';
import { drawn } from '../support/sample.ts';
import fc from '../support/fast-check.ts';
import { contents } from './books.ts';

type Schema = readonly Descriptor[];

const filesOf = (schema: Schema) => Object.fromEntries(schema.map((one) => [`${one.type}.yaml`, yamlOf(one)]));

/** Some defaults that are drawn break a check that is drawn. */
const validSchema = randomSchema.filter((schema) => {
  const directory = writeSchema(schema);
  const model = readModel(directory);
  rmSync(directory, { recursive: true });
  return model !== undefined;
});

/** Files of the other schema that are not in this one are taken away. */
const replaced = (schema: Schema, before: Schema) => ({
  ...Object.fromEntries(before.map(({ type }) => [`${type}.yaml`, null])),
  ...filesOf(schema),
});

/** What `default: now` and `generated` fill in: no value of `fill` has milliseconds. */
const NOW = /\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z/g;

/** Two records of each type; those that the type refuses for other reasons are left out. */
async function fill(url: string, schema: Schema): Promise<void> {
  for (const type of resolveModel(schema).types.values()) {
    for (const seed of [1, 2]) {
      const fields = [...type.fields.values()].map((field) => [field.name, field.type.good(field, seed)] as const);
      const links = [...type.relations.values()]
        .filter(({ toMany, owned }) => !toMany && !owned)
        .map(({ name }) => [name, { id: 1 }] as const);
      const open = type.open ? { field0: seed, other: { b: seed, a: [seed] } } : {};
      const body: JsonObject = { ...open, ...Object.fromEntries(fields) };
      const { status } = await ask(url, `POST /api/${type.path}`, { ...body, ...Object.fromEntries(links) });
      if (status !== 201) await ask(url, `POST /api/${type.path}`, body);
    }
  }
}

interface Answered {
  /** How many records each type has. */
  readonly counts: Readonly<Record<string, number>>;
  /** Every list, as it is answered. */
  readonly lists: readonly string[];
}

async function answered(project: Project, schema: Schema): Promise<Answered> {
  const model = resolveModel(schema);
  const rename = createRenamer(model);
  return project.serving(async (url) => {
    const client = createClient(url);
    const counts: Record<string, number> = {};
    const lists: string[] = [];
    for (const type of model.types.values()) {
      const sent = { method: 'GET', path: collectionPath(type), headers: {}, text: undefined };
      const answer = await client.send(sent);
      const { length = -1 } = JSON.parse(answer.text) as { readonly length?: number };
      counts[type.name] = length;
      lists.push(rename(sent, answer).replaceAll(NOW, 'now'));
    }
    client.close();
    return { counts, lists };
  });
}

interface Plan {
  readonly steps: readonly { readonly id: string; readonly state: string }[];
  readonly drift: readonly unknown[];
}

const planOf = async (project: Project): Promise<Plan> =>
  JSON.parse((await project.run('plan', '--back', '--json')).out);

interface Outcome {
  readonly isApplied: boolean;
  /** Each step, and whether it may be made. Left out is what one does of its own accord: SQLite rebuilds tables, PostgreSQL widens limits. */
  readonly steps: readonly string[];
  readonly after: Answered;
}

async function migrate(project: Project, from: Schema, to: Schema): Promise<Outcome> {
  const before = await answered(project, from);
  const untouched = await contents(project);
  project.write(replaced(to, from));
  const plan = await planOf(project);
  const steps = plan.steps
    .map(({ id, state }) => `${id} ${state}`)
    .filter((step) => !/^(rebuild-table|widen-field):/.test(step));
  const isBlocked = plan.steps.some(({ state }) => state === 'blocked');
  const allowed = plan.steps.filter(({ state }) => state !== 'ready').flatMap(({ id }) => ['--allow', id]);
  const { code, err } = await project.run('apply', '--back', ...allowed);
  expect([code, isBlocked || code === 0 ? '' : err]).toEqual([isBlocked ? 1 : 0, '']);
  if (isBlocked) {
    expect(await contents(project)).toBe(untouched);
    project.write(replaced(from, to));
    return { isApplied: false, steps, after: before };
  }
  expect(await planOf(project)).toMatchObject({ steps: [], drift: [] });
  const kept = to.filter(({ type }) => type in before.counts).map(({ type }) => type);
  const after = await answered(project, to);
  expect(kept.map((type) => [type, after.counts[type]])).toEqual(kept.map((type) => [type, before.counts[type]]));
  return { isApplied: true, steps, after };
}

/** There, and back where that is possible. */
async function thereAndBack(kind: DatabaseKind, first: Schema, second: Schema): Promise<readonly Outcome[]> {
  const project = await createProject(filesOf(first), undefined, kind);
  try {
    await project.serving((url) => fill(url, first));
    const there = await migrate(project, first, second);
    if (!there.isApplied) return [there];
    await project.serving((url) => fill(url, second));
    return [there, await migrate(project, second, first)];
  } finally {
    await project.remove();
  }
}

/** Both databases take several times as long as one: some schemas stand for the rest. */
const numRuns = drawn(databaseKinds.length > 1 ? 8 : 40);

test('random schemas over random records, there and back', async () => {
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(validSchema, validSchema, async (first, second) => {
      const outcomes: (readonly Outcome[])[] = [];
      for (const kind of databaseKinds) outcomes.push(await thereAndBack(kind, first, second));
      const [one = [], ...others] = outcomes;
      for (const other of others) expect(other).toEqual(one);
      if (one[0]?.isApplied) applied += 1;
    }),
    { numRuns },
  );
  expect(applied).toBeGreaterThan(numRuns / 8);
});
