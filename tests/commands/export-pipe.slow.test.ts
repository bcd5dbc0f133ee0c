/** Commands whose output goes to a pipe or a device, `export` to a pipe, and `import` from one. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createReadStream, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createProject, type Project } from '../support/project.ts';
import { useCompiled } from '../support/compiled.ts';
import { some } from '../support/whole.ts';

const ITEM = 'type: Item\nfields:\n  name: { type: string }\nseed: [{ id: 1, name: a }, { id: 2, name: b }]\n';

const compiled = useCompiled();
let project: Project;
beforeAll(async () => {
  project = await createProject({ 'item.yaml': ITEM });
  await project.starts();
});
afterAll(() => project.remove());

const exportTo = (file: string) => compiled.run('engine/cli.js', ['export', file], project.environment);

const expectExport = (out: string): void => {
  const lines = out.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual(
    expect.objectContaining({ type: 'Item', fields: { name: 'b' } }),
  );
};

test.each(some(['-', '/dev/stdout']))(
  'export %s writes to standard output, and its report to standard error',
  async (name) => {
    const { ended, out, err } = exportTo(name);
    expect(await ended).toBe(0);
    expectExport(out());
    expect(err()).toMatch(/^Wrote \d+ lines\n$/);
  },
);

test('export writes to a named pipe, which stays', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pipe-'));
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const read = text(createReadStream(pipe));
  expect(await exportTo(pipe).ended).toBe(0);
  expectExport(await read);
  expect(readdirSync(directory)).toEqual(['pipe']);
});

test.each(some(['-', '/dev/stdin']))('import %s says why a pipe is not read', async (name) => {
  const { ended, err } = compiled.run('engine/cli.js', ['import', name], project.environment);
  expect(await ended).toBe(1);
  expect(err()).toContain(`${name} is a pipe. An import reads it twice: make a file of it. `);
});

describe('standard output that cannot be written ends commands with 1', () => {
  const shell = (line: string) => {
    const cli = `"${process.execPath}" "${join(compiled.directory, 'engine/cli.js')}"`;
    const { status, stderr } = spawnSync('sh', ['-c', line.replace('records', cli)], {
      env: { PATH: process.env['PATH'], ...project.environment },
      encoding: 'utf8',
    });
    return [status, stderr];
  };

  test.each(some(['export -', '--help', 'check', 'describe --json', 'plan', 'token someone'], 2))(
    'records %s >/dev/full',
    (line) => {
      const fault = 'Standard output cannot be written: ENOSPC: no space left on device, write\n';
      expect(shell(`records ${line} >/dev/full`)).toEqual([1, fault]);
    },
  );

  test.each(some(['export -', '--help', 'describe --json']))(
    'records %s, whose reader has gone, says nothing',
    (line) => {
      expect(shell(`(sleep 1; records ${line}; echo $? >&2) | true`)).toEqual([0, '1\n']);
    },
  );
});
