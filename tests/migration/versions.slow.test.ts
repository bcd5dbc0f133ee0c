/**
 * Three versions of random descriptors on one database, started, crashed, applied and asked in any order: a start loses no
 * record, a refused one changes nothing, and no instance answers with an error of its own.
 */
import type { Descriptor } from '../../engine/descriptor/descriptor.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { resolveModel } from '../../engine/model/resolve.ts';
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings.ts';
import { StartError } from '../../engine/start-error.ts';
import { ask } from '../support/ask.ts';
import { watchDatabase } from '../support/database.ts';
import { databaseKinds } from '../support/databases.ts';
import { createProject, type Project, runCommand } from '../support/project.ts';
import { randomSchema, yamlOf } from '../support/random-schema.ts';
import { drawn } from '../support/sample.ts';
import fc from '../support/fast-check.ts';

const VERSIONS = 3;
const EXPECTED: ReadonlySet<number> = new Set([200, 201, 400, 404, 405, 409, 422, 503]);

interface Action {
  readonly kind: 'start' | 'restart' | 'stop' | 'ask' | 'apply' | 'back' | 'rename';
  readonly version: number;
  readonly seed: number;
}

const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom('start', 'start', 'restart', 'restart', 'stop', 'ask', 'ask', 'ask', 'apply', 'back', 'rename'),
  version: fc.nat(VERSIONS - 1),
  seed: fc.nat(9),
});

const OPTIONS: Partial<Record<Action['kind'], readonly string[]>> = { back: ['--back'], rename: ['--rename-columns'] };

/** What this test finds out about the versions, for the report of a failure. */
class Deployment {
  readonly #project: Project;
  readonly #versions: readonly Project[];
  readonly #types: readonly (readonly RecordType[])[];
  readonly #running = new Map<number, Serving>();
  readonly starts = { served: 0, refused: 0 };

  constructor(project: Project, versions: readonly Project[], schemas: readonly (readonly Descriptor[])[]) {
    this.#project = project;
    this.#versions = versions;
    this.#types = schemas.map((schema) => [...resolveModel(schema).types.values()]);
  }

  environmentOf(version: number): Readonly<Record<string, string>> {
    return { ...this.#versions[version]?.environment, DATABASE_URL: this.#project.database.url, LOG_LEVEL: 'silent' };
  }

  async contents(): Promise<string> {
    // SQLite has no file before.
    if (this.starts.served === 0) return '';
    const watch = await watchDatabase(this.#project.database);
    const text = await watch.contents();
    await watch.close();
    return text;
  }

  /** How many rows each table has. */
  async #rows(): Promise<ReadonlyMap<string, number>> {
    const rows = new Map<string, number>();
    let table = '';
    for (const line of (await this.contents()).split('\n'))
      if (/^\w+$/.test(line)) rows.set((table = line), 0);
      else if (line !== '') rows.set(table, (rows.get(table) ?? 0) + 1);
    return new Map([...rows].filter(([name]) => !name.startsWith('_records_')));
  }

  async start(version: number): Promise<void> {
    await this.stop(version);
    const [rows, before] = [await this.#rows(), await this.contents()];
    try {
      this.#running.set(version, await serve(readSettings(this.environmentOf(version))));
      this.starts.served += 1;
    } catch (error) {
      expect(error).toBeInstanceOf(StartError);
      expect(await this.contents()).toBe(before);
      this.starts.refused += 1;
    }
    const after = await this.#rows();
    const kept = [...rows].filter(([name]) => after.has(name));
    expect(kept.map(([name]) => [name, after.get(name)])).toEqual(kept);
    // The rows of a set move as a whole when its table gets another name.
    const gone = [...rows].flatMap(([name, count]) => (after.has(name) ? [] : count));
    const fresh = [...after].flatMap(([name, count]) => (rows.has(name) ? [] : count));
    for (const count of gone)
      expect(fresh.splice(fresh.indexOf(count), fresh.includes(count) ? 1 : 0)).toEqual([count]);
  }

  /** While clients write to the other instances: what these acknowledge is there afterwards. */
  async restart(version: number): Promise<void> {
    // In one process, a change of tables in SQLite would wait for a write that waits for it.
    if (this.#project.database.kind === 'sqlite') return this.start(version);
    await this.stop(version);
    const over = new AbortController();
    const others = [...this.#running].map(async ([other, serving]) => {
      const acknowledged: string[] = [];
      for (let seed = 10; !over.signal.aborted; seed += 1)
        for (const type of this.#types[other] ?? []) {
          const made = await this.#send(serving, `POST /api/${type.path}`, bodyOf(type, seed));
          if (made) acknowledged.push(`/api/${type.path}/${String(made['id'])}`);
        }
      return { serving, acknowledged };
    });
    const serving = await serve(readSettings(this.environmentOf(version))).catch((error: unknown) => {
      expect(error).toBeInstanceOf(StartError);
    });
    if (serving) this.#running.set(version, serving);
    over.abort();
    for (const { serving: other, acknowledged } of await Promise.all(others))
      for (const path of acknowledged) {
        const { status } = await ask(other.url, `GET ${path}`);
        // 503: its table is no longer what this version can read.
        expect([path, status === 503 ? 200 : status]).toEqual([path, 200]);
      }
  }

  async stop(version: number): Promise<void> {
    await this.#running.get(version)?.close();
    this.#running.delete(version);
  }

  /** Reads and writes everything once. */
  async ask(version: number, seed: number): Promise<void> {
    const serving = this.#running.get(version);
    if (!serving) return;
    for (const type of this.#types[version] ?? []) {
      const list = await this.#send(serving, `GET /api/${type.path}`);
      const made = await this.#send(serving, `POST /api/${type.path}`, bodyOf(type, seed));
      const [first] = Array.isArray(list) ? (list as readonly JsonObject[]) : [];
      const id = (made ?? first)?.['id'];
      if (typeof id !== 'number') continue;
      const shown = (await this.#send(serving, `GET /api/${type.path}/${id}`)) as JsonObject | undefined;
      const some = Object.fromEntries(Object.entries(bodyOf(type, seed + 1)).slice(0, 1 + (seed % 2)));
      await this.#send(serving, `PATCH /api/${type.path}/${id}`, some);
      // Values that newer rules refuse may stand in a record.
      if (shown && seed % 3 === 0) await this.#send(serving, `PUT /api/${type.path}/${id}`, shown);
      if (seed % 4 === 0) await this.#send(serving, `DELETE /api/${type.path}/${id}`);
    }
    const ready = await fetch(`${serving.url}/health/ready`);
    expect([200, 503]).toContain(ready.status);
  }

  async #send(serving: Serving, title: string, body?: unknown): Promise<JsonObject | undefined> {
    const answer = await ask(serving.url, title, body);
    if (!EXPECTED.has(answer.status)) throw new Error(JSON.stringify([title, body, answer.status, answer.body]));
    return answer.status < 300 ? (answer.body as JsonObject) : undefined;
  }

  /** Everything that the plan asks for is allowed. */
  async apply(version: number, ...options: readonly string[]): Promise<void> {
    const environment = this.environmentOf(version);
    const planned = options.filter((option) => option !== '--rename-columns');
    const plan = await runCommand('plan', ['--json', ...planned], environment);
    if (plan.out === '') return;
    const { steps } = JSON.parse(plan.out) as { steps: readonly { id: string; state: string }[] };
    const allowed = steps.filter(({ state }) => state !== 'ready').flatMap(({ id }) => ['--allow', id]);
    const before = await this.contents();
    const { code, err } = await runCommand('apply', [...options, ...allowed], environment);
    const isPossible = steps.every(({ state }) => state !== 'blocked');
    if (code !== 0) expect(await this.contents()).toBe(before);
    if (code !== 0 && isPossible) expect(err).toMatch(/--back|records were written/);
    if (code !== 0) return;
    const again = JSON.parse((await runCommand('plan', ['--json', ...planned], environment)).out);
    expect(again).toMatchObject({ steps: [], drift: [] });
  }

  async end(): Promise<void> {
    for (const version of this.#running.keys()) await this.stop(version);
    for (const project of [this.#project, ...this.#versions]) await project.remove();
  }
}

/** Values that the descriptors accept, and a link. */
function bodyOf(type: RecordType, seed: number): JsonObject {
  const fields = [...type.fields.values()].filter(({ readOnly }) => !readOnly);
  const links = [...type.relations.values()].filter(({ toMany, owned }) => !toMany && !owned && seed % 2 === 0);
  return {
    ...(type.open && seed % 3 === 0 ? { field0: seed, other: { a: seed } } : {}),
    ...Object.fromEntries(fields.map((field) => [field.name, field.type.good(field, seed)])),
    ...Object.fromEntries(links.map(({ name }) => [name, seed % 4 === 0 ? { id: 1 } : null])),
  };
}

const filesOf = (schema: readonly Descriptor[]) =>
  Object.fromEntries(schema.map((one) => [`${one.type}.yaml`, yamlOf(one)]));

/** Without checks: which of them a version knows depends on the fields that it has. */
const unchecked = randomSchema.map((types) => types.map((type) => ({ ...type, checks: [] })));
const schemas = fc.tuple(unchecked, unchecked, unchecked);

test.each(databaseKinds)('three versions in any order (%s)', async (kind) => {
  const starts = { served: 0, refused: 0 };
  const numRuns = drawn(kind === 'sqlite' ? 15 : 6);
  await fc.assert(
    fc.asyncProperty(schemas, fc.array(action, { minLength: 8, maxLength: 20, size: 'max' }), async (all, actions) => {
      const versions = [];
      for (const schema of all) versions.push(await createProject(filesOf(schema)));
      const deployment = new Deployment(await createProject({}, undefined, kind), versions, all);
      try {
        await deployment.start(0);
        for (const seed of [1, 2, 3]) await deployment.ask(0, seed);
        for (const { kind: what, version, seed } of actions) {
          if (what === 'start') await deployment.start(version);
          else if (what === 'restart') await deployment.restart(version);
          else if (what === 'stop') await deployment.stop(version);
          else if (what === 'ask') await deployment.ask(version, seed);
          else await deployment.apply(version, ...(OPTIONS[what] ?? []));
        }
        for (const version of [0, 1, 2]) await deployment.ask(version, 4);
      } finally {
        await deployment.end();
      }
      starts.served += deployment.starts.served;
      starts.refused += deployment.starts.refused;
    }),
    { numRuns, endOnFailure: true },
  );
  expect(starts.served).toBeGreaterThan(numRuns);
});
