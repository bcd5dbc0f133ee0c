/** Model -> OpenAPI 3.1: plain data, the same for the same Model. */
import { freezeGraph } from '../model/draft.ts';
import type { JsonObject } from '../json.ts';
import type { Model, RecordType } from '../model/model.ts';
import { creationExample, withExample } from './examples.ts';
import { HEADERS } from './header-parts.ts';
import { createNames, type Names } from './names.ts';
import { EMPTY_RESPONSES, pathMethods } from './operations.ts';
import { identifierParameter, SHARED_PARAMETERS } from './parameters.ts';
import { createProblemResponses, PROBLEM_EXAMPLES, PROBLEM_SCHEMAS, type ProblemResponses } from './problem-answers.ts';
import { readSchemas } from './read-schemas.ts';
import { type Components, needed } from './refs.ts';
import { GUIDE } from './guide.ts';
import { creationSchema, inputSchemas } from './write-schemas.ts';

export interface About {
  readonly title: string;
  readonly version: string;
}

const ROOT = '/api/';

export function createDocument(model: Model, { title, version }: About): JsonObject {
  const names = createNames();
  const types = [...model.types.values()];
  const served = types.filter(({ operations }) => operations.size > 0);
  // Types that are served come first, so that they have their own names.
  for (const type of served) names.record(type);
  const problems = createProblemResponses();
  const paths = Object.fromEntries(served.flatMap((type) => pathsOf(type, names, problems)));
  const components = { ...componentsOf(types, names), responses: { ...EMPTY_RESPONSES, ...problems.all() } };
  return freezeGraph({
    openapi: '3.1.0',
    info: {
      title,
      version,
      summary: 'Records behind a REST interface',
      description: GUIDE,
      contact: { name: `Maintainers of ${title}` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'Where this document comes from' }],
    // The service knows no access control of its own.
    security: [],
    tags: served.map(({ name, description }) => ({ name, description: description || `Records of type ${name}.` })),
    paths,
    components: needed(paths, components),
  });
}

function pathsOf(
  type: RecordType,
  names: Names,
  problems: ProblemResponses,
): readonly (readonly [string, JsonObject])[] {
  const collection = ROOT + encodeURIComponent(type.path);
  const item = { parameters: [identifierParameter(type)] };
  const all = [
    [collection, pathMethods(type, 'collection', names, problems), {}],
    [`${collection}/{id}`, pathMethods(type, 'item', names, problems), item],
  ] as const;
  return all
    .filter(([, methods]) => Object.keys(methods).length > 0)
    .map(([path, methods, shared]) => [path, { ...shared, ...methods }]);
}

function componentsOf(types: readonly RecordType[], names: Names): Omit<Components, 'responses'> {
  const creations = types.map((type) => [names.creation(type), creationBody(type, names)] as const);
  return {
    schemas: {
      ...PROBLEM_SCHEMAS,
      ...Object.assign({}, ...types.map((type) => readSchemas(type, names))),
      ...Object.assign({}, ...types.map((type) => inputSchemas(type, names))),
    },
    parameters: SHARED_PARAMETERS,
    headers: HEADERS,
    requestBodies: Object.fromEntries(creations),
    examples: PROBLEM_EXAMPLES,
  };
}

function creationBody(type: RecordType, names: Names): JsonObject {
  const media = withExample(creationSchema(type, names), 'A new record.', creationExample(type));
  return { required: true, content: { 'application/json': media } };
}
