/** orval with its fetch client: the address of the service is in what it generates. */
import {
  createShippingMarkup,
  createTaxClass,
  deleteTaxClass,
  getTaxClass,
  listTaxClasses,
  updateTaxClass,
} from '../generated/orval.ts';
import { must, nextCursor, type Outcome, outcomeOf, POSITIONS } from './outcome.ts';

/** Of the answers that the type allows, those with this status. */
function having<R extends { readonly status: number }, S extends R['status']>(
  answer: R,
  status: S,
): Extract<R, { status: S }> {
  if (answer.status === status) return answer as Extract<R, { status: S }>;
  throw new Error(`the answer is ${answer.status}`);
}

export async function run(): Promise<Outcome> {
  for (const position of POSITIONS) await createTaxClass({ position });
  const filtered = having(await listTaxClasses({ '_cnd[position]': 2 }), 200).data;
  const page = { '_cnd[limit]': [0, 2], '_cnd[orderBy]': ['position', 'desc'] };
  const first = having(await listTaxClasses(page), 200);
  const second = having(await listTaxClasses({ ...page, after: nextCursor(first.headers.get('link')) }), 200);
  const markup = having(await createShippingMarkup({ zone: { zone_name: 'Europe' } }), 201).data;
  const { id } = must(filtered[0]);
  const got = await getTaxClass(id);
  const tagged = { headers: { 'If-Match': got.headers.get('etag') ?? '' } };
  const updated = await updateTaxClass(id, { position: 7 }, tagged);
  const outdated = await updateTaxClass(id, { position: 8 }, tagged);
  const deleted = await deleteTaxClass(id);
  const gone = await getTaxClass(id);
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
