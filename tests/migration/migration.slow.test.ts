/** Changes of descriptors over records: the plan, its effect, and nothing else. */
import { readModel } from '../../engine/commands/command.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { planFor } from '../../engine/storage/migrate/apply.ts';
import { servedModel } from '../../engine/storage/migrate/served.ts';
import { fieldScenarios } from './fields.ts';
import { relationScenarios } from './relations.ts';
import { rowOf, type Scenario } from './scenario.ts';
import { typeScenarios } from './types.ts';
import { ask } from '../support/ask.ts';
import { createProject, type Project } from '../support/project.ts';
import { contents } from './books.ts';

interface PlanJson {
  readonly steps: readonly {
    readonly id: string;
    readonly state: string;
    readonly older?: string;
    readonly records: readonly { count: number; identifiers: readonly number[]; says: string }[];
  }[];
  readonly drift: readonly unknown[];
}

const projects: Project[] = [];
afterEach(async () => {
  for (const project of projects.splice(0)) await project.remove();
});

async function projectOf(before: Scenario['before'], records: Scenario['records']): Promise<Project> {
  const project = await createProject(named(before));
  projects.push(project);
  await project.serving(async (url) => {
    for (const [path, body] of records.map((row) => rowOf(row, ' '))) {
      const answer = await ask(url, `POST /api/${path}`, body);
      expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
    }
  });
  return project;
}

const named = <T>(files: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(files).map(([type, text]) => [`${type}.yaml`, text]));

async function planOf(project: Project): Promise<PlanJson & { readonly code: number }> {
  const { code, out } = await project.run('plan', '--json');
  return { code, ...(JSON.parse(out) as PlanJson) };
}

/** What `apply` is told to make, though records lose something, or only to be tidy. */
const allowing = ({ steps }: PlanJson): readonly string[] =>
  steps.filter(({ state }) => state !== 'ready').flatMap(({ id }) => ['--allow', id]);

const keptIn = ({ steps }: PlanJson): readonly string[] =>
  steps.filter(({ state }) => state === 'kept').map(({ id }) => id);

async function answered(url: string, request: string): Promise<unknown> {
  const [, head = request, body] = /^(\S+ \S+) (\{.*\})$/.exec(request) ?? [];
  const answer = await ask(url, head, body === undefined ? undefined : JSON.parse(body));
  return answer.body;
}

const scenarios = [...fieldScenarios, ...relationScenarios, ...typeScenarios];

describe.each(scenarios)('$title', ({ before, records, after, steps, says = [], impossible, reads = [] }) => {
  test('is planned, allowed, applied, and done', async () => {
    const project = await projectOf(before, records);
    project.write(named(after));
    const plan = await planOf(project);
    const shown = plan.steps.filter(({ id }) => !/^(rebuild-table|widen-field):/.test(id));
    expect(shown.map(({ state, id }) => `${state} ${id}`)).toEqual(steps);
    expect(
      (await project.run('plan')).out
        .split('\n')
        .filter((line) => /^ +\d+ records?:/.test(line))
        .map((line) => line.trim()),
    ).toEqual(says);
    const open = plan.steps.filter(({ state }) => state !== 'ready' && state !== 'kept');
    const made = plan.steps.filter(({ state }) => state !== 'kept');
    expect(plan.code).toBe(open.length > 0 ? 1 : made.length > 0 ? 2 : 0);

    const untouched = await contents(project);
    if (open.length > 0) {
      const refused = await project.run('apply');
      expect([refused.code, refused.out]).toEqual([1, '']);
      await expect(project.starts()).rejects.toThrow('The descriptors differ from the tables');
      if (impossible) expect(await project.run('apply', ...allowing(plan))).toMatchObject({ code: 1, out: '' });
      expect(await contents(project)).toBe(untouched);
      if (impossible) return;
    } else {
      await project.starts();
      const kept = await planOf(project);
      expect([kept.code, kept.steps.map(({ id }) => id)]).toEqual([0, keptIn(plan)]);
    }
    const left = await planOf(project);
    if (left.steps.length > 0) expect(await project.run('apply', ...allowing(left))).toMatchObject({ code: 0 });
    await project.serving(async (url) => {
      for (const [request, body] of reads.map((row) => rowOf(row)))
        expect([request, await answered(url, request)]).toEqual([request, expectation(body)]);
    });
    expect(await planOf(project)).toMatchObject({ code: 0, steps: [], drift: [] });
    const all = [...plan.steps, ...left.steps];
    // Where case is ignored from now on, older instances ignore it too.
    const isFolded = all.some(({ id }) => id.startsWith('add-caseless'));
    const told = new Set(
      all.flatMap(({ id, older }) => (isFolded && id.startsWith('add-unique') ? [] : (older ?? []))),
    );
    const worst = OUTCOMES.findLast((one) => told.has(one));
    // An open type takes a new field for one of its keys.
    const isOpen = Object.values(before).some((text) => text.includes('open: true'));
    expect(await olderOutcome(project, before, after)).toBe(worst === 'read' && isOpen ? undefined : worst);
  });
});

const OUTCOMES = ['read', 'refuse'] as const;

/** The state of an instance with the previous descriptors. */
async function olderOutcome(project: Project, before: Scenario['before'], after: Scenario['after']) {
  const added = Object.keys(after).filter((type) => before[type] === undefined);
  project.write({ ...named(before), ...named(Object.fromEntries(added.map((type) => [type, null]))) });
  const model = readModel(project.directory);
  const driver = await databaseAt(project.database.url).open();
  try {
    const { model: mapped, applied } = await planFor(model, driver);
    const served = servedModel(mapped, applied);
    if (served.incompatible.some(({ isReadable }) => !isReadable)) return 'refuse';
    return served.incompatible.length > 0 ? 'read' : undefined;
  } finally {
    await driver.close();
  }
}

const expectation = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'status' in body ? expect.objectContaining(body) : body;
