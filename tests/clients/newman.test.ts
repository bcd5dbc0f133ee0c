/** newman with a collection that openapi-to-postmanv2 makes of the document, as Postman imports it. */
import { convertV2 } from 'openapi-to-postmanv2';
import { run } from 'newman';
import { startTestServer, type TestServer } from '../support/server.ts';

interface Entry {
  readonly key: string;
  disabled?: boolean;
}

interface Item {
  readonly name: string;
  readonly item?: readonly Item[];
  readonly request?: { readonly method: string; readonly url: { readonly query?: readonly Entry[] } };
}

interface Sent {
  readonly request: string;
  readonly status: number;
  readonly text: string;
}

let server: TestServer;
let collection: { readonly item: readonly Item[] };

beforeAll(async () => {
  server = await startTestServer();
  const data = await (await fetch(`${server.url}/openapi.json`)).text();
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
}, 60_000);
afterAll(() => server.close());

/** Every request, in the order of the collection. */
function runCollection(sent: object): Promise<readonly Sent[]> {
  const answers: Sent[] = [];
  return new Promise((resolve, reject) => {
    run({ collection: sent, envVar: [{ key: 'baseUrl', value: server.url }] })
      .on('request', (error, { request, response }) => {
        if (error) return reject(error);
        const path = decodeURIComponent(request.url.getPathWithQuery());
        answers.push({ request: `${request.method} ${path}`, status: response.code, text: response.text() });
      })
      .on('done', (error) => (error ? reject(error) : resolve(answers)));
  });
}

const requestsOf = (items: readonly Item[]): readonly Item[] =>
  items.flatMap((item) => (item.item ? requestsOf(item.item) : [item]));

test('every request of the collection succeeds, on an empty database, in its order', async () => {
  const answers = await runCollection(collection);
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
    item: lists.filter(({ name }) => name.includes('by conditions')),
  });
  expect(answers).toHaveLength(8);
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(answers.every(({ request }) => request.includes('_cnd[limit]=0&_cnd[limit]=10&_cnd[orderBy]='))).toBe(true);
});

test('a fault is shown', async () => {
  const create = requestsOf(collection.item).find(({ name }) => name === 'Add new tax class');
  const faulty = structuredClone(create) as unknown as { request: { body: { raw: string } } };
  faulty.request.body.raw = '{"position":"first"}';
  const [answer] = await runCollection({ ...collection, item: [faulty] });
  expect(answer?.status).toBe(422);
  expect(JSON.parse(answer?.text ?? '')).toMatchObject({ errors: [{ pointer: '/position' }] });
});
