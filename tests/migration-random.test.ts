/** From any schema to any other: what can be applied ends in exactly the tables of the new one, with every record. */
import * as fc from 'fast-check';
import type { Descriptor } from '../engine/descriptor/descriptor.ts';
import type { JsonObject } from '../engine/json.ts';
import { resolveModel } from '../engine/model/resolve.ts';
import { ask } from './support/ask.ts';
import { watchDatabase } from './support/database.ts';
import { createProject, type Project } from './support/project.ts';
import { randomSchema, yamlOf } from './support/random-schema.ts';

type Schema = readonly Descriptor[];

const filesOf = (schema: Schema) => Object.fromEntries(schema.map((one) => [`${one.type}.yaml`, yamlOf(one)]));

/** Files of the other schema that are not in this one are taken away. */
const replaced = (schema: Schema, before: Schema) => ({
  ...Object.fromEntries(before.map(({ type }) => [`${type}.yaml`, null])),
  ...filesOf(schema),
});

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

async function counts(project: Project, schema: Schema): Promise<Readonly<Record<string, number>>> {
  return project.serving(async (url) => {
    const each = [...resolveModel(schema).types.values()].map(async ({ name, path }) => {
      const { body } = await ask(url, `GET /api/${path}?include=`);
      return [name, Array.isArray(body) ? body.length : -1] as const;
    });
    return Object.fromEntries(await Promise.all(each));
  });
}

async function contents({ database }: Project): Promise<string> {
  const watch = await watchDatabase(database);
  const text = await watch.contents();
  await watch.close();
  return text;
}

interface Plan {
  readonly steps: readonly { readonly id: string; readonly state: string }[];
  readonly drift: readonly unknown[];
}

const planOf = async (project: Project): Promise<Plan> => JSON.parse((await project.run('plan', '--json')).out);

async function migrate(project: Project, from: Schema, to: Schema): Promise<boolean> {
  const before = await counts(project, from);
  const untouched = await contents(project);
  project.write(replaced(to, from));
  const { steps } = await planOf(project);
  const isBlocked = steps.some(({ state }) => state === 'blocked');
  const allowed = steps.filter(({ state }) => state !== 'ready').flatMap(({ id }) => ['--allow', id]);
  const { code, err } = await project.run('apply', ...allowed);
  expect([code, isBlocked ? '' : err]).toEqual([isBlocked ? 1 : 0, '']);
  if (isBlocked) {
    expect(await contents(project)).toBe(untouched);
    project.write(replaced(from, to));
    return false;
  }
  expect(await planOf(project)).toEqual({ steps: [], drift: [] });
  const kept = to.filter(({ type }) => type in before).map(({ type }) => type);
  const after = await counts(project, to);
  expect(kept.map((type) => [type, after[type]])).toEqual(kept.map((type) => [type, before[type]]));
  return true;
}

test('random schemas over random records, there and back', async () => {
  const outcomes = { applied: 0, blocked: 0 };
  await fc.assert(
    fc.asyncProperty(randomSchema, randomSchema, async (first, second) => {
      const project = await createProject(filesOf(first));
      try {
        await project.serving((url) => fill(url, first));
        const isApplied = await migrate(project, first, second);
        outcomes[isApplied ? 'applied' : 'blocked']++;
        if (!isApplied) return;
        await project.serving((url) => fill(url, second));
        await migrate(project, second, first);
      } finally {
        await project.remove();
      }
    }),
    {
      numRuns: Number(process.env['RUNS'] ?? 40),
      ...(process.env['SEED'] ? { seed: Number(process.env['SEED']) } : {}),
    },
  );
  expect(outcomes.applied).toBeGreaterThan(5);
}, 300_000);
