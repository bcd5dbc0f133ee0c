/** GET of many records: a page where there is a limit, else the whole list. */
import type { ListQuery } from '../../query/list-query.ts';
import type { Answer } from '../answer.ts';
import { JSON_TYPE } from '../answer.ts';
import { pageTag } from '../entity-tag.ts';
import type { Exchange, Operation } from '../exchange.ts';
import { gather } from '../gather.ts';
import { pageLinks } from '../links.ts';
import { listPreferences, type Preferences } from '../preferences.ts';
import { readAnswer } from '../record-answer.ts';
import type { Service } from '../service.ts';

export function list(service: Service): Operation {
  return (exchange) => {
    const query = service.queries.list(exchange.target.query);
    const preferences = listPreferences(exchange.request.headers.prefer);
    const answer = query.limit === undefined ? wholeAnswer : pageAnswer;
    return answer(service, exchange, query, preferences);
  };
}

async function pageAnswer(
  { type, path, store }: Service,
  { request, target }: Exchange,
  query: ListQuery,
  { uncounted, applied }: Preferences,
): Promise<Answer> {
  const page = await store.page(query, !uncounted);
  const links = pageLinks(target.base + path, target.query, query, page);
  const tag = type.preconditions === 'off' ? undefined : pageTag(page.body, page.total, links);
  return readAnswer(request, page.body, tag, { ...totalHeader(page.total), Link: links, ...applied });
}

async function wholeAnswer(
  { type, store }: Service,
  { request }: Exchange,
  query: ListQuery,
  { uncounted, applied }: Preferences,
): Promise<Answer> {
  const { total, chunks } = await store.stream(query, !uncounted);
  const body = await gather(chunks);
  const headers = { ...totalHeader(total), ...applied };
  if (typeof body !== 'string') return { status: 200, headers: { 'Content-Type': JSON_TYPE, ...headers }, body };
  const tag = type.preconditions === 'off' ? undefined : pageTag(body, total, '');
  return readAnswer(request, body, tag, headers);
}

const totalHeader = (total: number | undefined): Readonly<Record<string, string>> =>
  total === undefined ? {} : { 'X-Total-Count': String(total) };
