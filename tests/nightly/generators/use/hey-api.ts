/** @hey-api/openapi-ts with its fetch client. */
import { client } from '../generated/hey-api/client.gen.ts';
import {
  createShippingMarkup,
  createTaxClass,
  deleteTaxClass,
  getTaxClass,
  listTaxClasses,
  updateTaxClass,
} from '../generated/hey-api/sdk.gen.ts';
import { must, nextCursor, type Outcome, outcomeOf, POSITIONS } from './outcome.ts';

export async function run(url: string): Promise<Outcome> {
  client.setConfig({ baseUrl: `${url}/api` });
  for (const position of POSITIONS) await createTaxClass({ body: { position } });
  const filtered = must((await listTaxClasses({ query: { '_cnd[position]': 2 } })).data);
  const page = { '_cnd[limit]': [0, 2] as [number, number], '_cnd[orderBy]': ['position', 'desc'] };
  const first = await listTaxClasses({ query: page });
  const { headers } = must(first.response);
  const second = await listTaxClasses({ query: { ...page, after: nextCursor(headers.get('link')) } });
  const markup = must((await createShippingMarkup({ body: { zone: { zone_name: 'Europe' } } })).data);
  const { id } = must(filtered[0]);
  const got = must((await getTaxClass({ path: { id } })).response);
  const change = { path: { id }, body: { position: 7 }, headers: { 'If-Match': got.headers.get('etag') ?? '' } };
  const updated = must((await updateTaxClass(change)).response);
  const outdated = must((await updateTaxClass({ ...change, body: { position: 8 } })).response);
  const deleted = must((await deleteTaxClass({ path: { id } })).response);
  const gone = must((await getTaxClass({ path: { id } })).response);
  return outcomeOf({
    filtered,
    first: must(first.data),
    second: must(second.data),
    total: headers.get('x-total-count'),
    zone: markup.zone?.zone_name,
    updated,
    outdated,
    deleted,
    gone,
  });
}
