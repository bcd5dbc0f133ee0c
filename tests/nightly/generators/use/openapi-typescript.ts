/** openapi-typescript with openapi-fetch. */
import createClient from 'openapi-fetch';
import type { paths } from '../generated/openapi-typescript.d.ts';
import { must, nextCursor, type Outcome, outcomeOf, POSITIONS } from './outcome.ts';

export async function run(url: string): Promise<Outcome> {
  const client = createClient<paths>({ baseUrl: `${url}/api` });
  for (const position of POSITIONS) await client.POST('/tax-classes', { body: { position } });
  const filtered = must((await client.GET('/tax-classes', { params: { query: { '_cnd[position]': 2 } } })).data);
  const page = { '_cnd[limit]': [0, 2], '_cnd[orderBy]': ['position', 'desc'] };
  const first = await client.GET('/tax-classes', { params: { query: page } });
  const { headers } = first.response;
  const after = nextCursor(headers.get('link'));
  const second = await client.GET('/tax-classes', { params: { query: { ...page, after } } });
  const markup = must((await client.POST('/shipping-markups', { body: { zone: { zone_name: 'Europe' } } })).data);
  const { id } = must(filtered[0]);
  const at = { params: { path: { id } } };
  const got = await client.GET('/tax-classes/{id}', at);
  const tagged = { params: { path: { id }, header: { 'If-Match': got.response.headers.get('etag') ?? '' } } };
  const updated = await client.PUT('/tax-classes/{id}', { ...tagged, body: { position: 7 } });
  const outdated = await client.PUT('/tax-classes/{id}', { ...tagged, body: { position: 8 } });
  const deleted = await client.DELETE('/tax-classes/{id}', at);
  const gone = await client.GET('/tax-classes/{id}', at);
  return outcomeOf({
    filtered,
    first: must(first.data),
    second: must(second.data),
    total: headers.get('x-total-count'),
    zone: markup.zone?.zone_name,
    updated: updated.response,
    outdated: outdated.response,
    deleted: deleted.response,
    gone: gone.response,
  });
}
