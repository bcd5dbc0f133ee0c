/** newman with a collection that openapi-to-postmanv2 makes of the document, as Postman imports it. */
import { convertV2 } from 'openapi-to-postmanv2';
import { run } from 'newman';
import { nextCursor } from './next-page.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

interface Entry {
  readonly key: string;
  readonly value?: string;
  disabled?: boolean;
}

interface Item {
  readonly name: string;
  readonly item?: readonly Item[];
  readonly request?: {
    readonly method: string;
    readonly url: { readonly path: readonly string[]; readonly query: Entry[] };
  };
}

interface Parameter {
  readonly name: string;
  readonly style?: string;
}

interface Sent {
  readonly request: string;
  readonly status: number;
  readonly text: string;
  readonly link: string | undefined;
}

let server: TestServer;
let document: {
  readonly paths: Readonly<
    Record<string, { readonly delete?: { readonly parameters: readonly { readonly $ref?: string }[] } }>
  >;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
};
let collection: { readonly item: readonly Item[] };

beforeAll(async () => {
  server = await startTestServer();
  const data = await (await fetch(`${server.url}/openapi.json`)).text();
  document = JSON.parse(data);
  collection = await new Promise((resolve, reject) => {
    // Parameters that may be left out stand in the collection, to be switched on.
    const options = {
      folderStrategy: 'Tags',
      parametersResolution: 'Example',
      enableOptionalParameters: false,
    } as const;
    convertV2({ type: 'string', data }, options, (error, result) => {
      const [made] = result?.output ?? [];
      if (made === undefined) reject(error ?? new Error(result?.reason));
      else resolve(made.data as never);
    });
  });
});
afterAll(() => server.close());

/** Every request, in the order of the collection. */
function runCollection(sent: object): Promise<readonly Sent[]> {
  const answers: Sent[] = [];
  return new Promise((resolve, reject) => {
    run({ collection: sent, envVar: [{ key: 'baseUrl', value: server.url }] })
      .on('request', (error, { request, response }) => {
        if (error) return reject(error);
        const path = decodeURIComponent(request.url.getPathWithQuery());
        const link = response.headers.get('Link');
        answers.push({ request: `${request.method} ${path}`, status: response.code, text: response.text(), link });
      })
      .on('done', (error) => (error ? reject(error) : resolve(answers)));
  });
}

const requestsOf = (items: readonly Item[]): readonly Item[] =>
  items.flatMap((item) => (item.item ? requestsOf(item.item) : [item]));

function filterAt(path: readonly string[]): string {
  const parameters = document.paths[`/${path.join('/')}`]?.delete?.parameters ?? [];
  const named = parameters.map(({ $ref = '' }) => document.components.parameters[$ref.split('/').at(-1) ?? '']);
  return named.find((parameter) => parameter?.style === 'deepObject')?.name ?? '';
}

/** The document cannot say that DELETE of many needs one filter, whichever it is. This one finds nothing: later requests need the record. */
function withFilters(items: readonly Item[]): readonly Item[] {
  const copy = structuredClone(items);
  for (const { name, request } of requestsOf(copy))
    if (/^Delete .* by conditions$/.test(name))
      request?.url.query.push({ key: filterAt(request.url.path), value: '2' });
  return copy;
}

test('every request of the collection succeeds, on an empty database, in its order', async () => {
  const answers = await runCollection({ ...collection, item: withFilters(collection.item) });
  expect(answers).toHaveLength(requestsOf(collection.item).length);
  expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
  expect(answers.map(({ request }) => request)).toMatchSnapshot();
});

/** Ticks the boxes of these parameters. */
function switchedOn(items: readonly Item[], isOn: (key: string) => boolean): readonly Item[] {
  const copy = structuredClone(items);
  for (const { request } of requestsOf(copy))
    for (const entry of request?.url.query ?? []) if (isOn(entry.key)) entry.disabled = false;
  return copy;
}

test('lists take their page and order', async () => {
  const lists = requestsOf(switchedOn(collection.item, (key) => /^_cnd\[(limit|orderBy)\]$/.test(key)));
  const answers = await runCollection({
    ...collection,
    item: lists.filter(({ name }) => /^Retrieve .* by conditions$/.test(name)),
  });
  expect(answers).toHaveLength(8);
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(answers.every(({ request }) => request.includes('_cnd[limit]=0&_cnd[limit]=10&_cnd[orderBy]='))).toBe(true);
});

/** As much of a request as people fill in by hand. */
interface Form {
  readonly url: { query: Entry[]; variable: Entry[] };
  readonly body: { raw: string };
}

const typed = (key: string, value: string): Entry => ({ key, value });

/** One request of the collection, filled in. */
async function filledIn(name: string, fill: (form: Form) => void): Promise<Sent> {
  const found = requestsOf(collection.item).find((item) => item.name === name);
  const copy = structuredClone(found) as unknown as { readonly request: Form };
  fill(copy.request);
  const [answer] = await runCollection({ ...collection, item: [copy] });
  if (answer === undefined) throw new Error(`${name} was not sent`);
  return answer;
}

test('creates, lists with all parameters, updates, shows a fault, deletes', async () => {
  const ids: number[] = [];
  for (const weight of ['0.5', '1.5', '2.5']) {
    const body = JSON.stringify({ min_weight: weight, zone: { zone_name: weight } });
    const made = await filledIn('Add new shipping markup', (form) => (form.body.raw = body));
    expect(made.status).toBe(201);
    ids.push(JSON.parse(made.text).markup_id);
  }

  const list = (...more: readonly Entry[]): Promise<Sent> => {
    const shown = [typed('include', 'zone'), typed('fields', 'min_weight,zone.zone_name')];
    const filters = [typed('_cnd[min_weight][gte]', '1'), ...ids.map((id) => typed('_cnd[markup_id][in]', String(id)))];
    const page = ['0', '1'].map((value) => typed('_cnd[limit]', value));
    const order = ['min_weight', 'desc'].map((value) => typed('_cnd[orderBy]', value));
    return filledIn('Retrieve shipping markups by conditions', (form) => {
      form.url.query = [...page, ...order, ...filters, ...shown, ...more];
    });
  };
  const first = await list();
  const second = await list(typed('after', nextCursor(first.link)));
  expect([first, second].map(({ text }) => JSON.parse(text)[0].zone.zone_name)).toEqual(['2.5', '1.5']);
  const varied = await filledIn('Retrieve notifications by conditions', (form) => {
    form.url.query = [typed('variant', 'C'), typed('_cnd[limit][1]', '1')];
  });
  expect(Object.keys(JSON.parse(varied.text)[0])).not.toContain('position');

  const write = (name: string, raw = ''): Promise<Sent> =>
    filledIn(name, (form) => {
      form.url.variable = [typed('id', String(ids[0]))];
      if (raw !== '') form.body.raw = raw;
    });
  const updated = await write('Update shipping markup by id', '{"markup_flat":"4.90"}');
  expect(JSON.parse(updated.text)).toMatchObject({ min_weight: '0.5', markup_flat: '4.90' });
  const refused = await write('Update shipping markup by id', '{"markup_flat":"much"}');
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([422, { errors: [{ pointer: '/markup_flat' }] }]);
  expect(JSON.parse(refused.text).message).toContain('"markup_flat" must be a decimal number');
  expect((await write('Delete shipping markup by id')).text).toBe(updated.text);
  expect((await write('Retrieve shipping markup by id')).status).toBe(404);
});
