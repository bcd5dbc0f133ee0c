import { createToken, parseTypes, tokenLine } from '../../engine/access/tokens.ts';
import { llmsText } from '../../engine/pages/docs.ts';
import { exchange } from '../support/exchange.ts';
import { loadModel } from '../support/model.ts';
import { manyTypes } from '../support/schemas.ts';
import { startTestServer } from '../support/server.ts';

test('is short, and all of its addresses work', async () => {
  await using server = await startTestServer();
  const { text } = await exchange(server.url, 'GET /llms.txt');
  expect(text.length).toBeLessThan(5000);
  const paths = [...text.matchAll(/\]\(([^)]+)\)|GET (\/[^`]+)`/g)].map(([, link, request]) => link ?? request ?? '');
  expect(paths).toEqual(expect.arrayContaining(['/mcp', '/openapi.json', '/docs/clients', '/api/tax-classes']));
  for (const path of paths) {
    // Of some types, no list is offered.
    const { status } = await exchange(server.url, `${/mcp|\/api\/[^?]*$/.test(path) ? 'OPTIONS' : 'GET'} ${path}`);
    expect([path, [200, 204].includes(status)]).toEqual([path, true]);
  }
});

test('lists what the token may do, and nothing without a token', async () => {
  const token = createToken();
  const line = tokenLine({ name: 'reader', read: parseTypes('TaxClass'), write: new Set() }, token);
  const publicUrl = 'https://shop.example/records';
  await using server = await startTestServer({ settings: { tokens: line, publicUrl, mcp: false } });
  const headers = { authorization: `Bearer ${token}` };
  const { text } = await exchange(server.url, 'GET /llms.txt', { headers });
  expect(text).toContain('Authorization: Bearer TOKEN');
  expect(text).toMatch(/^- \[TaxClass\]\(https:\/\/shop\.example\/records\/api\/tax-classes\): .* \(list, get\)$/m);
  expect(text.match(/^- \[\w+\]/gm)).toEqual(['- [TaxClass]']);
  expect(text).not.toContain('/mcp');
  const stranger = (await exchange(server.url, 'GET /llms.txt')).text;
  expect(stranger).toContain('## Begin');
  expect(stranger).not.toMatch(/TaxClass|tax-classes/);
});

test('lists at most a hundred types', () => {
  const text = llmsText(loadModel(manyTypes(300)), { title: 'Many', guarded: false, agents: true }, '');
  expect(text.match(/^- \[Kind\d+\]/gm)).toHaveLength(100);
  expect(text).toContain('- and 200 more');
});
