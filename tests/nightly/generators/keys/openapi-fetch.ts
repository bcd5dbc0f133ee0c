/** Keys that clients bring, by openapi-typescript with openapi-fetch. */
import createClient from 'openapi-fetch';
import type { paths } from '../generated/openapi-typescript.d.ts';
import { must } from '../use/outcome.ts';

const KEY = 'A/7 50% $ü';
const ORDER = '0192f0c1-2b3c-7d4e-8f90-a1b2c3d4e5f6';

export async function run(url: string) {
  const client = createClient<paths>({ baseUrl: `${url}/api` });
  const currency = must((await client.GET('/currencies/{id}', { params: { path: { id: 'EUR' } } })).data);
  const customer = must(
    (await client.POST('/customers', { body: { key: KEY, name: 'Ada', currency: { code: currency.code } } })).data,
  );
  const order = await client.POST('/orders', { body: { id: ORDER, number: '1', customer: { key: customer.key } } });
  const again = await client.POST('/orders', { body: { id: ORDER, number: '2' } });
  const made = must((await client.POST('/orders', { body: { number: '3' } })).data);
  const at = { params: { path: { id: KEY } } };
  const renamed = await client.PATCH('/customers/{id}', { ...at, body: { name: 'Bea' } });
  const found = await client.GET('/orders', { params: { query: { '_cnd[customer]': KEY } } });
  const gone = await client.DELETE('/orders/{id}', { params: { path: { id: made.id } } });
  return {
    key: customer.key,
    currency: customer.currency?.code,
    order: order.data?.id,
    again: again.response.status,
    isOfService: made.id !== ORDER && made.id.length === ORDER.length,
    renamed: renamed.data?.name,
    found: found.data?.map(({ number }) => number),
    gone: gone.response.status,
  };
}
