/** Model -> OpenAPI 3.1 document: deterministic plain data. */
import { freezeGraph } from '../model/resolve.ts';
import { isObject, type JsonObject } from '../json/json.ts';
import type { Model, RecordType } from '../model/model.ts';
import type { HttpDialectName } from '../settings/settings.ts';
import { filterSchemas } from './filters.ts';
import { identifierParameter, SHARED_PARAMETERS, typeParameters } from './parameters.ts';
import { type Components, createNames, needed, type SchemaNames } from './names.ts';
import { type Bounds, boundsOf, type DocumentLimits } from './limits.ts';
import { pathMethods, SHARED_RESPONSES, typeExamples, typeResponses } from './operations.ts';
import { DRY_RUN_SCHEMAS, HEADERS, SUMMARY_SCHEMAS, TEXT_SCHEMAS } from './shared.ts';
import { createProblemResponses, PROBLEM_EXAMPLES, PROBLEM_SCHEMAS } from './problems.ts';
import { simplified } from './simple.ts';
import { inputSchemas, itemSchema, newSchema, readSchemas } from './schemas.ts';

export interface About {
  readonly title: string;
  readonly version: string;
  /** Those of the service; without them, the document has those of the descriptors alone. */
  readonly limits?: DocumentLimits;
  /** Other interfaces that the service has. */
  readonly dialects?: readonly HttpDialectName[];
}

const ROOT = '/api/';

/** All there is, or what generators need that know less. */
export const PROFILES = ['full', 'simple'] as const;
export type Profile = (typeof PROFILES)[number];

export function createDocument(
  model: Model,
  { title, version, limits, dialects = [] }: About,
  profile: Profile = 'full',
): JsonObject {
  const names = createNames();
  const types = [...model.types.values()];
  const served = types.filter(({ operations }) => operations.size > 0);
  // Types with paths come first, so that they get their own names.
  for (const type of served) names.record(type);
  const problems = createProblemResponses();
  const bounds = boundsOf(limits);
  const paths = Object.fromEntries(served.flatMap((type) => pathsOf(type, { names, problems, bounds })));
  const updated = served.map((type) => typeResponses(type, names));
  const responses = Object.assign({}, SHARED_RESPONSES, ...updated, problems.all());
  const components = { ...componentsOf(types, names, bounds, profile === 'simple'), responses };
  const document: JsonObject = {
    openapi: '3.1.0',
    info: {
      title,
      version,
      summary: 'Records behind a REST interface',
      description: GUIDE + otherInterfaces(dialects),
      contact: { name: `Maintainers of ${title}` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'Where this document comes from' }],
    // Replaced by `secured` if requests need tokens.
    security: [],
    tags: served.map(({ name, description }) => ({ name, description: description || `Records of type ${name}.` })),
    paths,
    components: needed(paths, components),
  };
  return freezeGraph(profile === 'full' ? document : simplified(document));
}

function pathsOf(
  type: RecordType,
  parts: Parameters<typeof pathMethods>[2],
): readonly (readonly [string, JsonObject])[] {
  const collection = ROOT + encodeURIComponent(type.path);
  const item = { parameters: [parts.bounds.parameter(identifierParameter(type))] };
  const all = [
    [collection, pathMethods(type, 'collection', parts), {}],
    [`${collection}/$summary`, pathMethods(type, 'summary', parts), {}],
    [`${collection}/{id}`, pathMethods(type, 'item', parts), item],
  ] as const;
  return all
    .filter(([, methods]) => Object.keys(methods).length > 0)
    .map(([path, methods, shared]) => [path, { ...shared, ...methods }]);
}

function componentsOf(
  types: readonly RecordType[],
  names: SchemaNames,
  bounds: Bounds,
  isSimple: boolean,
): Omit<Components, 'responses'> {
  const ofTypes = (make: (type: RecordType, named: SchemaNames, isDefault: boolean) => JsonObject): JsonObject =>
    Object.assign({}, ...types.map((type) => make(type, names, isSimple)));
  const { LinesBody, TableBody, ItemTag, ...texts } = TEXT_SCHEMAS;
  return {
    schemas: {
      ...PROBLEM_SCHEMAS,
      ...DRY_RUN_SCHEMAS,
      ...SUMMARY_SCHEMAS,
      ...texts,
      ...ofTypes(readSchemas),
      ...bounds.bodies({
        LinesBody,
        TableBody,
        ItemTag,
        ...ofTypes(inputSchemas),
        ...ofTypes((type) => ({ [names.creation(type)]: newSchema(type, names, isSimple) })),
        ...ofTypes((type) => ({ [names.item(type)]: itemSchema(type, names, isSimple) })),
      }),
      ...bounds.filters(ofTypes(filterSchemas)),
    },
    parameters: bounds.parameters({ ...SHARED_PARAMETERS, ...ofTypes(typeParameters) }),
    headers: HEADERS,
    examples: { ...PROBLEM_EXAMPLES, ...ofTypes(typeExamples) },
  };
}

/** What holds for every operation, said once instead of at each of them. */
const GUIDE = `Every record type has the same operations, with the same rules.

**Lists.** \`_cnd[limit]\` takes an offset and a limit: \`_cnd[limit]=0&_cnd[limit]=20\`. To read a list to the end, follow
the \`next\` links of the \`Link\` header. \`_cnd[orderBy]\` takes fields, each with an optional \`asc\` or \`desc\`.
\`_cnd[field]=value\` and \`_cnd[field][operator]=value\` filter. Filters and sorting also work through relations to one
record: \`_cnd[owner.name]=Anna\`. Filters must all match; \`_cnd[$any][0][name]=Anna&_cnd[$any][1][age][lt]=5\` finds what
matches one of them, and \`$all\` and \`$none\` work likewise. \`_cnd[pets][$some][0][name]=Rex\` filters by the records of a
set, as do \`$none\`, \`$every\`, and \`_cnd[pets][$count][gte]=3\`.

**Summaries.** \`GET …/$summary?by=owner,month(born)&measure=count,sum(price)\` counts records and adds up their values by
group, exactly. It takes the filters of lists; \`_cnd[orderBy]\` and \`_cnd[limit]\` are about groups.

**Records** show their relations one level deep; \`include\` and \`fields\` show more or less. What GET returns can be sent
back with PUT.

**Writes** change the keys in the body. Related records are linked by their identifier, created without one, and unlinked
by null. Unknown keys and parameters are rejected. POST also takes an array of records, or a record on each line as
NDJSON or CSV, and PATCH of the collection an array of changes, each with its identifier. Each request is one transaction: all or nothing. \`dryRun=true\` only tells
what a write would do.

**Decimals** are strings, and come back as they were written.

**Entity tags.** \`If-None-Match\` avoids reading unchanged records again. \`If-Match\` keeps two writers from overwriting
each other.

**Problems** are \`application/problem+json\`, with every error and its place.

HEAD works wherever GET does, and OPTIONS returns the methods of a path.
`;

/** Clients of these interfaces bring the rules with them; the document would only repeat every path. */
function otherInterfaces(dialects: readonly HttpDialectName[]): string {
  if (dialects.length === 0) return '';
  const roots = dialects.map((name) => `\`/${name}\``).join(' and ');
  return `\n**Admin frameworks** find the same records below ${roots}, in the form that they know. This document leaves these paths out.\n`;
}

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  description: 'A token from the operator of the service. It may be limited to reading, and to some types.',
};

/** The document with bearer authentication (RFC 6750) if requests need a token. */
export function secured(document: JsonObject, guarded: boolean): JsonObject {
  if (!guarded) return document;
  const components = isObject(document['components']) ? document['components'] : {};
  return {
    ...document,
    security: [{ token: [] }],
    components: { ...components, securitySchemes: { token: BEARER } },
  };
}
