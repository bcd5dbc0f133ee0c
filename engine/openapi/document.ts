/** Model -> OpenAPI document: deterministic plain data, from the table of operations. */
import type { JsonObject } from '../json/json.ts';
import type { Model, RecordType } from '../model/model.ts';
import type { HttpDialectName } from '../settings/settings.ts';
import { type Components, createComponents } from './components.ts';
import { pathMethods } from './operations.ts';
import { identifierParameter } from './parameters.ts';

export interface About {
  readonly title: string;
  readonly version: string;
  /** Other interfaces that the service has. */
  readonly dialects?: readonly HttpDialectName[];
  /** Whether requests need a token. */
  readonly guarded?: boolean;
}

/**
 * `full` is OpenAPI 3.1 with everything. `simple` is for generators that know less: OpenAPI 3.0, JSON alone, one form of
 * response for each request, filters that compare with one value, and no recursion.
 */
export const PROFILES = ['full', 'simple'] as const;
export type Profile = (typeof PROFILES)[number];

/** `base`: the address that the service is reached at, without a slash at the end. */
export function createDocument(model: Model, about: About, profile: Profile = 'full', base = ''): JsonObject {
  const { title, version, dialects = [], guarded = false } = about;
  const isSimple = profile === 'simple';
  const parts = createComponents(isSimple);
  const served = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  // Types with paths come first, so that their schemas have the names of the types.
  for (const { name } of served) parts.nameOf('schemas', `record ${name}`, name);
  const root = isSimple ? '' : API;
  const paths = Object.fromEntries(served.flatMap((type) => pathsOf(type, root, parts)));
  return {
    openapi: isSimple ? '3.0.3' : '3.1.0',
    info: {
      title,
      version,
      ...(isSimple ? {} : { summary: 'Records behind a REST interface' }),
      description: isSimple ? SIMPLE_GUIDE : GUIDE + otherInterfaces(dialects),
      contact: { name: `Maintainers of ${title}` },
      license: isSimple
        ? { name: 'MIT', url: 'https://opensource.org/license/mit' }
        : { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: isSimple ? base + API : base || '/', description: 'Where this document comes from' }],
    security: guarded ? [{ token: [] }] : [],
    tags: served.map(({ name, description }) => ({ name, description: description || `Records of type ${name}.` })),
    paths,
    components: {
      ...parts.all(paths),
      ...(guarded ? { securitySchemes: { token: BEARER } } : {}),
    },
  };
}

const API = '/api';

function pathsOf(type: RecordType, root: string, parts: Components): readonly (readonly [string, JsonObject])[] {
  const collection = `${root}/${encodeURIComponent(type.path)}`;
  const all = [
    [collection, pathMethods(type, 'collection', parts), {}],
    // jest-openapi stops at a path with a dollar sign, whatever the request.
    [`${collection}/$summary`, parts.isSimple ? {} : pathMethods(type, 'summary', parts), {}],
    [`${collection}/{id}`, pathMethods(type, 'item', parts), { parameters: [identifierParameter(type)] }],
  ] as const;
  return all
    .filter(([, methods]) => Object.keys(methods).length > 0)
    .map(([path, methods, shared]) => [path, { ...shared, ...methods }]);
}

/** The rules of all operations, once instead of at each of them. */
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

const SIMPLE_GUIDE = `The same interface as in \`openapi.json\`, for tools that know less of OpenAPI: records as they are shown by
default, JSON alone, and filters that compare with one value. Everything else, such as summaries, is there as well; the full
document says how.`;

/** One sentence: clients of these interfaces know their rules, and the paths would only repeat those of this document. */
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
