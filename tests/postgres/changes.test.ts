/** Changes of tables on PostgreSQL take the time they need, and leave nothing behind if they fail. */
import type { Client } from 'pg';
import { ask } from '../support/ask.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connectTo } from '../support/databases.ts';
import { openBuild } from '../support/compiled.ts';
import { until } from '../support/leaving.ts';
import { administer, onServer, startInstance } from '../support/postgres.ts';
import { createProject, type Project, type Ran, runCommand } from '../support/project.ts';

const BEFORE = 'type: Thing\nfields:\n  name: { type: string }\n';
const AFTER = 'type: Thing\nfields:\n  name: { type: string, index: true }\n';
/** Works on the index for hours. */
const SLOW = `
  create function slow() returns event_trigger language plpgsql as $$ begin perform pg_sleep(36000); end $$;
  create event trigger slow on ddl_command_end when tag in ('CREATE INDEX') execute function slow()`;
const sleepers = `from pg_stat_activity where wait_event = 'PgSleep'`;

onServer('a change of tables', () => {
  let cluster: Cluster;
  let databases = 0;
  let project: Project;
  let environment: Readonly<Record<string, string>>;
  let client: Client;
  const all = async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await client.query<Record<string, unknown>>(sql)).rows;
  const apply = (): Promise<Ran> => runCommand('apply', [], environment);

  beforeAll(async () => void (cluster = await startCluster()));
  afterAll(async () => {
    await cluster?.remove();
  });
  beforeEach(async () => {
    const name = `changed_${(databases += 1)}`;
    await administer(cluster.url, `create database ${name}`, async () => undefined, 'select 1');
    const url = new URL(cluster.url);
    url.pathname = name;
    project = await createProject({ 'thing.yaml': BEFORE });
    environment = { ...project.environment, DATABASE_URL: url.href };
    await apply();
    client = await connectTo(url.href);
    project.write({ 'thing.yaml': AFTER });
  });
  afterEach(async () => {
    await client.end();
    await project.remove();
  });

  it('does not end with STATEMENT_TIMEOUT, nor do the rows that it looks at', async () => {
    await client.query(SLOW.replace('36000', '1'));
    const instance = await startInstance(environment['DATABASE_URL'] ?? '', {
      schemaDirectory: project.directory,
      statementTimeout: 100,
    });
    await instance.close();
    expect(
      await all(`select 1 from pg_indexes where schemaname = current_schema() and indexdef like '%(name%'`),
    ).toHaveLength(1);
  });

  it('needs no right but that to the schema of its own', async () => {
    const name = `limited_${databases}`;
    await client.query(`
      revoke all on database changed_${databases} from public; create role ${name} login;
      grant connect on database changed_${databases} to ${name}; create schema authorization ${name};
      alter role ${name} in database changed_${databases} set search_path = '${name}'`);
    const url = new URL(environment['DATABASE_URL'] ?? '');
    url.username = name;
    const limited = { ...environment, DATABASE_URL: url.href };
    for (const text of [BEFORE, AFTER]) {
      project.write({ 'thing.yaml': text });
      expect(await runCommand('apply', [], limited)).toMatchObject({ code: 0 });
      expect(await runCommand('plan', [], limited)).toMatchObject({ code: 0, err: '' });
    }
    await client.query(`drop index ${name}.things_name_index; create index mine on ${name}.things (id)`);
    const { out } = await runCommand('plan', ['--json'], limited);
    expect(JSON.parse(out)).toMatchObject({
      drift: [{ table: 'things', differences: ['index things_name_index is missing'] }],
      others: ['index mine of things'],
    });
  });

  it('that takes null from a field answers 503 to the null that waited for it', async () => {
    project.write({ 'thing.yaml': BEFORE });
    const { url, close } = await startInstance(environment['DATABASE_URL'] ?? '', {
      schemaDirectory: project.directory,
    });
    await client.query(SLOW.replace('36000', '0.3').replace('CREATE INDEX', 'ALTER TABLE'));
    const create = (): Promise<number> => ask(url, 'POST /api/things', {}).then(({ status }) => status);
    // A plan that finds no null is refused if one is written in the meantime.
    const sent = [Promise.resolve(await create())];
    const post = setInterval(() => sent.push(create()), 30);
    project.write({ 'thing.yaml': 'type: Thing\nfields:\n  name: { type: string, nullable: false, default: none }\n' });
    const applied = await runCommand('apply', ['--allow', 'fill-field:Thing.name'], environment);
    clearInterval(post);
    const statuses = new Set(await Promise.all(sent));
    await close();
    expect([applied.code, applied.err]).toEqual([0, expect.anything()]);
    expect([...statuses].toSorted()).toEqual([201, 503]);
  });

  it('whose process is killed ends in the server too', async () => {
    await client.query(SLOW);
    const compiled = openBuild();
    try {
      const { child } = compiled.run('engine/cli.js', ['apply'], environment);
      await until(async () => (await all(`select 1 ${sleepers}`)).length === 1);
      child.kill('SIGKILL');
      await until(async () => (await all(`select 1 ${sleepers}`)).length === 0);
    } finally {
      await compiled.stop();
    }
  });
});
