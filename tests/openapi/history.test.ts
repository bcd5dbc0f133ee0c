/** The paths of the log of changes in the OpenAPI document, which the responses must match. */
import { Ajv2020 } from 'ajv/dist/2020';
import type { JsonObject } from '../../engine/json/json.ts';
import { ask } from '../support/ask.ts';
import { useProjects } from '../support/project.ts';

const newProject = useProjects();

const FILES = {
  'order.yaml':
    'type: Order\nhistory: true\nfields: { total: { type: decimal }, secret: { type: string, sensitive: true } }\nrelations: { tags: { kind: manyToMany, type: Tag } }\n',
  'tag.yaml': 'type: Tag\nidentifier: { type: string, name: key }\n',
};

interface Document {
  readonly paths: Readonly<Record<string, { readonly [method in 'get' | 'post']?: { readonly responses: Responses } }>>;
  readonly components: JsonObject;
}
type Responses = Readonly<
  Record<string, { readonly content: Readonly<Record<string, { readonly schema: JsonObject }>> }>
>;

test('paths, and what they answer', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    const document = (await ask(url, 'GET /openapi.json')).body as Document;
    const paths = Object.keys(document.paths).filter((path) => path.includes('$') && !path.endsWith('$summary'));
    expect(paths.toSorted()).toEqual([
      '/api/$changes',
      '/api/orders/$deleted',
      '/api/orders/{id}/$history',
      '/api/orders/{id}/$restore',
    ]);
    const { post } = document.paths['/api/orders/{id}/$restore'] ?? {};
    const statuses = [
      '200',
      '204',
      '400',
      '401',
      '403',
      '404',
      '406',
      '409',
      '412',
      '414',
      '422',
      '429',
      '500',
      '503',
      '504',
      '507',
    ];
    expect(Object.keys(post?.responses ?? {})).toEqual(statuses);
    const simple = (await ask(url, 'GET /openapi.json?profile=simple')).body as Document;
    expect(Object.keys(simple.paths).filter((path) => path.includes('$'))).toEqual([]);
    await ask(url, 'POST /api/tags', { key: 'x' });
    await ask(url, 'POST /api/orders', { total: '1', secret: 's', tags: [{ key: 'x' }] });
    await ask(url, 'PATCH /api/orders/1', { total: '2' });
    await ask(url, 'POST /api/orders', { total: '1' });
    await ask(url, 'DELETE /api/orders/2');
    const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, int64: true, int32: true } });
    ajv.addSchema({ $id: 'https://example.com/document', components: document.components });
    for (const [path, title] of [
      ['/api/orders/{id}/$history', 'GET /api/orders/1/$history'],
      ['/api/orders/$deleted', 'GET /api/orders/$deleted'],
      ['/api/$changes', 'GET /api/$changes'],
      ['/api/$changes', 'GET /api/$changes?values=true'],
    ] as const) {
      const { schema } = document.paths[path]?.get?.responses['200']?.content['application/json'] ?? {};
      const text = JSON.stringify(schema).replaceAll('"#/', '"https://example.com/document#/');
      const { status, body } = await ask(url, title);
      const isValid = ajv.validate(JSON.parse(text) as JsonObject, body);
      expect([title, status, isValid, ajv.errors]).toEqual([title, 200, true, null]);
    }
  });
});
