/** Real requests, whose responses are compared with the document by validators that others made. */
import { resolve } from 'node:path';
import { exchange } from '../support/exchange.ts';

interface Sent {
  readonly title: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** In this order, on a service that has no tax classes. */
const REQUESTS: readonly Sent[] = [
  { title: 'POST /tax-classes', body: { position: 10, providerOneVATRate: '19.00' } },
  { title: 'POST /tax-classes', body: {} },
  { title: 'GET /tax-classes' },
  { title: 'GET /tax-classes?_cnd[position]=10&_cnd[limit]=0&_cnd[limit]=5&_cnd[orderBy]=position&_cnd[orderBy]=desc' },
  { title: 'GET /tax-classes/ID' },
  { title: 'PUT /tax-classes/ID', body: { position: 20 } },
  { title: 'PATCH /tax-classes/ID', body: { position: null } },
  { title: 'PUT /tax-classes/ID', body: { position: 30 }, headers: { 'if-match': '"outdated"' } },
  { title: 'PUT /tax-classes/ID', body: { position: '30' } },
  { title: 'PUT /tax-classes/ID', body: { positon: 30 } },
  { title: 'GET /tax-classes?_cnd[position]=x' },
  { title: 'GET /tax-classes/9007199254740991' },
  { title: 'DELETE /tax-classes/ID' },
  { title: 'POST /shipping-markups', body: { markup_flat: '4.90', zone: { zone_name: 'North', zone_elements: [{}] } } },
  { title: 'GET /shipping-markups' },
  { title: 'POST /sales-tax-rates', body: { rate: '7.00', tax_class: { tax_class_id: 99 } } },
  { title: 'GET /sales-tax-rates' },
  { title: 'POST /newsletter-subscribers', body: { email: 'ada@example.com' } },
  { title: 'GET /newsletter-subscribers' },
  { title: 'POST /newsletter-subscribers', body: { email: 'ada@example.com' } },
  { title: 'POST /global-tabs', body: {} },
  { title: 'GET /global-tabs' },
  { title: 'POST /content-images', body: {} },
  { title: 'GET /content-images' },
  { title: 'POST /tmp-vars', body: {} },
  { title: 'GET /tmp-vars' },
  { title: 'GET /notifications' },
];

interface Answered {
  readonly method: string;
  readonly path: string;
  readonly request: object | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Throws if the response is not as the document says. */
type Check = (answered: Answered) => void;

const CHECKERS: Readonly<Record<'jest-openapi' | 'openapi-enforcer', (document: object) => Promise<Check>>> = {
  'jest-openapi': async (document) => {
    const { default: jestOpenApi } = (await load('jest-openapi')) as { default: (document: object) => void };
    jestOpenApi(document);
    return ({ method, path, status, headers, body }) => {
      const response = { status, headers, data: body, request: { method, path: `/api${path}` }, config: {} };
      (expect(response) as unknown as { toSatisfyApiSpec(): void }).toSatisfyApiSpec();
    };
  },
  'openapi-enforcer': async (document) => {
    const enforcer = ((await load('openapi-enforcer')) as { default: Enforcer }).default;
    const api = await enforcer(structuredClone(document), { hideWarnings: true });
    return ({ method, path, request, status, headers, body }) => {
      const sent = { method, path, ...(request === undefined || status >= 400 ? {} : { body: request }) };
      const [operation, error] = api.request(sent, { allowOtherQueryParameters: true });
      // What the service refuses, the document may refuse as well.
      if (operation === undefined && status >= 400) return;
      if (operation === undefined) throw new Error(String(error));
      const [, fault] = operation.response(status, body, headers);
      if (fault !== undefined) throw new Error(`${method} ${path}, ${status}: ${String(fault)}`);
    };
  },
};

type Enforcer = (document: object, options: object) => Promise<EnforcedApi>;

interface EnforcedApi {
  request(sent: object, options: object): readonly [EnforcedRequest | undefined, unknown];
}

interface EnforcedRequest {
  response(status: number, body: unknown, headers: object): readonly [unknown, unknown];
}

/** A package of this folder. */
const load = (name: string): Promise<unknown> => import(resolve('tests/generators/node_modules', name));

/** Returns how many responses were compared. */
export async function expectDescribed(checker: keyof typeof CHECKERS, url: string, document: object): Promise<number> {
  const check = await CHECKERS[checker](document);
  let id = 0;
  for (const { title, body, headers: more = {} } of REQUESTS) {
    const [method = '', path = ''] = title.replace('ID', String(id)).split(' ');
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const { status, headers, text } = await exchange(url, `${method} /api${path}`, {
      headers: { ...type, ...more },
      ...sent,
    });
    const answered = JSON.parse(text) as { readonly id?: number };
    if (title === 'POST /tax-classes' && status === 201) id = answered.id ?? id;
    const known = { 'content-type': String(headers['content-type']) };
    check({ method: method.toLowerCase(), path, request: body, status, headers: known, body: answered });
  }
  return REQUESTS.length;
}
