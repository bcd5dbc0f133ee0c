/** The example of a host application whose users have tokens, as the page about Express shows it. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { fileOf, Reader, stepsOf } from './page.ts';

const NAMES = { ada: new Set(['Poem']), bob: new Set<string>() };

test('a user of the app has the rights of a token, and nobody else gets in', async () => {
  const reader = new Reader();
  for (const step of stepsOf(readFileSync('docs/start/express.md', 'utf8')))
    if (fileOf(step.block) !== undefined) await reader.follow(step);
  for (const name of ['express', 'express-session'])
    symlinkSync(resolve('node_modules', name), join(reader.folder, 'node_modules', name));
  mkdirSync(join(reader.folder, 'secrets'));
  const tokens = Object.fromEntries(Object.keys(NAMES).map((name) => [name, createToken()]));
  const lines = Object.entries(NAMES).map(([name, write]) =>
    tokenLine({ name, read: new Set(['Poem']), write }, tokens[name] ?? ''),
  );
  writeFileSync(join(reader.folder, 'secrets/tokens.json'), JSON.stringify(tokens));
  writeFileSync(join(reader.folder, 'secrets/records.tokens'), lines.join('\n'));
  const running = spawn(process.execPath, ['staff.mjs'], {
    cwd: reader.folder,
    env: { ...process.env, PORT: '0', SECRET: 'x' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [port] = (await once(running.stdout, 'data')) as [Buffer];
    const url = `http://127.0.0.1:${String(port).trim()}`;
    const logIn = async (user: string): Promise<Record<string, string>> => {
      const body = new URLSearchParams({ user });
      const { headers, status } = await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' });
      expect([status, headers.get('location')]).toEqual([302, '/studio']);
      return { cookie: headers.get('set-cookie')?.split(';')[0] ?? '' };
    };
    const statusOf = async (path: string, headers: Record<string, string>, poem?: string): Promise<number> => {
      const body = poem === undefined ? {} : { method: 'POST', body: JSON.stringify({ title: poem }) };
      const type = { 'content-type': 'application/json' };
      return (await fetch(url + path, { ...body, headers: { ...headers, ...type } })).status;
    };
    const [ada, bob, other] = [await logIn('ada'), await logIn('bob'), await logIn('eve')];
    expect(await statusOf('/api/poems', ada, 'The Raven')).toBe(201);
    expect(await statusOf('/studio/model.json', ada)).toBe(200);
    expect(await statusOf('/api/poems/1', bob)).toBe(200);
    expect(await statusOf('/api/poems', bob, 'Lenore')).toBe(403);
    for (const headers of [{}, other, { authorization: `Bearer ${tokens['ada']}` }])
      expect(await statusOf('/api/poems/1', headers)).toBe(401);
    // The path that a guard in front would miss.
    expect(await statusOf('/api/%70oems/1', ada)).toBe(200);
  } finally {
    running.kill();
    await once(running, 'exit');
    await reader.close();
  }
});
