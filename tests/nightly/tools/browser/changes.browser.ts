/** Streams of changes as Chromium and curl read them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { runStudio } from './studio-page.ts';

const { server, visit } = runStudio({
  files: { 'note.yaml': 'type: Note\nhistory: true\nfields: { text: { type: string } }\n' },
});

const write = async (text: string): Promise<void> => {
  const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text }) };
  expect((await fetch(`${server.url}/api/notes`, sent)).status).toBe(201);
};

const heard = '[...document.body.dataset.heard.trim().split(" ")].join()';

test('EventSource hears of each change, and misses nothing while the browser is offline', async () => {
  const { page, close } = await visit();
  await page.goto(`${server.url}/docs/clients`);
  await page.evaluate(`(() => {
    document.body.dataset.heard = '';
    const source = new EventSource('/api/$changes?after=now&values=true');
    source.onopen = () => (document.body.dataset.opened = Number(document.body.dataset.opened ?? 0) + 1);
    source.addEventListener('change', ({ data, lastEventId }) => {
      const change = JSON.parse(data);
      if (change.cursor === lastEventId) document.body.dataset.heard += change.new.text + ' ';
    });
  })()`);
  await page.waitForSelector('body[data-opened="1"]', { state: 'attached' });
  await write('a');
  await write('b');
  await page.waitForSelector('body[data-heard="a b "]', { state: 'attached' });
  await page.context().setOffline(true);
  await write('c');
  await page.context().setOffline(false);
  await write('d');
  await page.waitForSelector('body[data-heard="a b c d "]', { state: 'attached' });
  expect(await page.evaluate(heard)).toBe('a,b,c,d');
  await close();
});

test('curl -N prints each change when it comes', async () => {
  const curl = spawn('curl', ['-sN', '-H', 'Accept: text/event-stream', `${server.url}/api/$changes?after=now`]);
  let text = '';
  curl.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  await once(curl.stdout, 'data');
  await write('e');
  while (!text.includes('"operation":"create"}\n\n')) await once(curl.stdout, 'data');
  expect(text).toMatch(/^:\nid: \S+\n\nevent: change\nid: (\S+)\ndata: \{"cursor":"\1",/);
  curl.kill();
});
