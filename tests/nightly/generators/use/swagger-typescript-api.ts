/** swagger-typescript-api with its fetch client, which throws what is not a success. */
import { Api } from '../generated/swagger-typescript-api.ts';
import { must, nextCursor, type Outcome, outcomeOf, POSITIONS } from './outcome.ts';

const answered = (request: Promise<Response>): Promise<Response> => request.catch((refused: Response) => refused);

export async function run(url: string): Promise<Outcome> {
  const { taxClasses, shippingMarkups } = new Api({ baseUrl: `${url}/api` });
  for (const position of POSITIONS) await taxClasses.createTaxClass({ position });
  const filtered = (await taxClasses.listTaxClasses({ '_cnd[position]': 2 })).data;
  const page = { '_cnd[limit]': [0, 2], '_cnd[orderBy]': ['position', 'desc'] };
  const first = await taxClasses.listTaxClasses(page);
  const second = await taxClasses.listTaxClasses({ ...page, after: nextCursor(first.headers.get('link')) });
  const markup = (await shippingMarkups.createShippingMarkup({ zone: { zone_name: 'Europe' } })).data;
  const { id } = must(filtered[0]);
  const got = await taxClasses.getTaxClass(id);
  const tagged = { headers: { 'If-Match': got.headers.get('etag') ?? '' } };
  return outcomeOf({
    filtered,
    first: first.data,
    second: second.data,
    total: first.headers.get('x-total-count'),
    zone: markup.zone?.zone_name,
    updated: await answered(taxClasses.updateTaxClass(id, { position: 7 }, tagged)),
    outdated: await answered(taxClasses.updateTaxClass(id, { position: 8 }, tagged)),
    deleted: await answered(taxClasses.deleteTaxClass(id)),
    gone: await answered(taxClasses.getTaxClass(id)),
  });
}
