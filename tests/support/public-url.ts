/** A service with PUBLIC_URL, and a client that goes where its responses point. */
import type { IncomingHttpHeaders } from 'node:http';
import { useServer } from './server.ts';

const PUBLIC_URL = 'https://records.localhost/store/records';
export const HOST = { host: 'records.localhost' };
export const PREFIX = '/store/records';
export const JSON_TYPE = { 'content-type': 'application/json' };

export const usePublicServer = (): ReturnType<typeof useServer> => useServer({ settings: { publicUrl: PUBLIC_URL } });

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Requests as clients send them: their paths begin with the prefix. */
export type Ask = (title: string, headers?: Record<string, string>, body?: string) => Promise<Got>;

/** Goes where the service says, as generated clients and people do. */
export async function follow(ask: Ask): Promise<void> {
  const made = await ask(`POST ${PREFIX}/api/tax-classes`, JSON_TYPE, '{"position":1}');
  const location = String(made.headers.location);
  expect([made.status, location]).toEqual([201, expect.stringMatching(/^\/store\/records\/api\/tax-classes\/\d+$/)]);
  const change = { ...JSON_TYPE, 'if-match': String(made.headers.etag) };
  expect((await ask(`PUT ${location}`, change, '{"position":2}')).status).toBe(200);
  expect((await ask(`PUT ${location}`, change, '{"position":3}')).status).toBe(412);
  const lost = await ask(`GET ${PREFIX}/api/tax-classes/999`);
  expect([lost.status, JSON.parse(lost.text).instance]).toEqual([404, `${PREFIX}/api/tax-classes/999`]);
  await ask(`POST ${PREFIX}/api/tax-classes`, JSON_TYPE, '{"position":9}');
  for (const path of ['tax-classes?_cnd%5Blimit%5D=0,1', 'tax-classes/$summary?by=position&_cnd%5Blimit%5D=0,1']) {
    const first = await ask(`GET ${PREFIX}/api/${path}`);
    const [, next = ''] = /<([^>]*)>; rel="next"/.exec(String(first.headers.link)) ?? [];
    expect(next).toMatch(/^\/store\/records\/api\/tax-classes[/?]/);
    expect(JSON.parse((await ask(`GET ${next}`)).text)).toHaveLength(1);
  }
  const document = await ask(`GET ${PREFIX}/openapi.json`);
  expect(JSON.parse(document.text).servers).toEqual([expect.objectContaining({ url: PUBLIC_URL })]);
  const simple = await ask(`GET ${PREFIX}/openapi.json?profile=simple`);
  expect(JSON.parse(simple.text).servers).toEqual([expect.objectContaining({ url: `${PUBLIC_URL}/api` })]);
  expect((await ask(`GET ${PREFIX}/openapi.yaml`)).text).toContain(`url: ${PUBLIC_URL}\n`);
  for (const page of ['/', '/docs', '/docs/clients']) {
    const { status, text } = await ask(`GET ${PREFIX}${page}`);
    expect([page, status, /(?:href|src)="\//.exec(text)]).toEqual([page, 200, null]);
    if (page !== '/docs/clients') expect(text).not.toContain('127.0.0.1');
  }
  expect((await ask(`GET ${PREFIX}/`)).text).toContain(`<code>${PUBLIC_URL}/api/tax-classes</code>`);
  const moved = await ask(`GET ${PREFIX}/docs/`);
  expect([moved.status, moved.headers.location]).toEqual([308, '../docs']);
}
