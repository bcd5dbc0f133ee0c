/** openapi-typescript-codegen with its fetch client, which keeps headers to itself: they are seen where it fetches. */
import {
  ApiError,
  OpenAPI,
  ShippingMarkupService,
  TaxClassService,
} from '../generated/openapi-typescript-codegen/index.ts';
import { must, nextCursor, type Outcome, outcomeOf, POSITIONS } from './outcome.ts';

let last: Response | undefined;

function watchFetch(): void {
  const original = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    last = await original(...request);
    return last;
  };
}

const headerOf = (name: string): string | null => must(last).headers.get(name);

async function statusOf(call: Promise<unknown>): Promise<{ readonly status: number }> {
  try {
    await call;
    return must(last);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

export async function run(url: string): Promise<Outcome> {
  watchFetch();
  OpenAPI.BASE = `${url}/api`;
  for (const position of POSITIONS) await TaxClassService.createTaxClass({ requestBody: { position } });
  const filtered = await TaxClassService.listTaxClasses({ cndPosition: 2 });
  const page = { cndLimit: [0, 2], cndOrderBy: ['position', 'desc'] };
  const first = await TaxClassService.listTaxClasses(page);
  const [total, after] = [headerOf('x-total-count'), nextCursor(headerOf('link'))];
  const second = await TaxClassService.listTaxClasses({ ...page, after });
  const markup = await ShippingMarkupService.createShippingMarkup({ requestBody: { zone: { zone_name: 'Europe' } } });
  const { id } = must(filtered[0]);
  await TaxClassService.getTaxClass({ id });
  const ifMatch = headerOf('etag') ?? '';
  const updated = await statusOf(TaxClassService.updateTaxClass({ id, ifMatch, requestBody: { position: 7 } }));
  const outdated = await statusOf(TaxClassService.updateTaxClass({ id, ifMatch, requestBody: { position: 8 } }));
  const deleted = await statusOf(TaxClassService.deleteTaxClass({ id }));
  const gone = await statusOf(TaxClassService.getTaxClass({ id }));
  const zone = markup.zone?.zone_name;
  return outcomeOf({ filtered, first, second, total, zone, updated, outdated, deleted, gone });
}
