/** kubb with its fetch client, which does not say what it sends unless it is told. */
import { setConfig } from '../generated/kubb/.kubb/fetch.ts';
import {
  createShippingMarkup,
  createTaxClass,
  deleteTaxClass,
  getTaxClass,
  listTaxClasses,
  updateTaxClass,
} from '../generated/kubb/index.ts';
import { must, nextCursor, type Outcome, outcomeOf, POSITIONS } from './outcome.ts';

export async function run(url: string): Promise<Outcome> {
  setConfig({ baseURL: `${url}/api`, headers: { 'Content-Type': 'application/json' } });
  for (const position of POSITIONS) await createTaxClass({ data: { position } });
  const { data: filtered } = await listTaxClasses({ params: { '_cnd[position]': 2 } });
  const params = { '_cnd[limit]': [0, 2], '_cnd[orderBy]': ['position', 'desc'] };
  const first = await listTaxClasses({ params });
  const after = nextCursor(first.headers.get('link'));
  const second = await listTaxClasses({ params: { ...params, after } });
  const { data: markup } = await createShippingMarkup({ data: { zone: { zone_name: 'Europe' } } });
  const { id } = must(filtered[0]);
  const got = await getTaxClass({ id });
  const headers = { 'If-Match': got.headers.get('etag') ?? '' };
  const updated = await updateTaxClass({ id, data: { position: 7 }, headers });
  const outdated = await updateTaxClass({ id, data: { position: 8 }, headers });
  const deleted = await deleteTaxClass({ id });
  const gone = await getTaxClass({ id });
  return outcomeOf({
    filtered,
    first: first.data,
    second: second.data,
    total: first.headers.get('x-total-count'),
    zone: markup.zone?.zone_name,
    updated,
    outdated,
    deleted,
    gone,
  });
}
