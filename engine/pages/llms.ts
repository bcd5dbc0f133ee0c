/** `/llms.txt`: how an agent that knows only the address begins (llmstxt.org). Made from the model as the token sees it. */
import { API_ROOT } from '../http/routes.ts';
import type { Model, RecordType } from '../model/model.ts';

interface AgentsGuide {
  readonly title: string;
  readonly guarded: boolean;
  /** Whether agents can connect to `/mcp`. */
  readonly agents: boolean;
}

/** More would fill the reader's context, and tools and the document name them all. */
const MAX_LISTED = 100;

/** `base`: what stands before each path; the empty string where the service is at the root. */
export function llmsText({ types }: Model, { title, guarded, agents }: AgentsGuide, base: string): string {
  const served = [...types.values()].filter(({ operations }) => operations.size > 0);
  const link = (path: string): string => `[${base}${path}](${base}${path})`;
  const example = served.find(({ operations }) => operations.has('list'));
  const listed = served.slice(0, MAX_LISTED);
  return [
    `# ${line(title)}`,
    '',
    '> Typed records with relations, to read and write over HTTP in JSON, or with the tools of the Model Context Protocol.',
    '',
    '## Begin',
    '',
    ...(guarded
      ? ['- Each request needs a token: `Authorization: Bearer TOKEN`. The operator of the service gives tokens out.']
      : []),
    ...(agents
      ? [
          `- Tools: connect an MCP client to ${link('/mcp')} (streamable HTTP). Call \`list_types\` first, then \`describe_type\`.`,
        ]
      : []),
    ...(example === undefined
      ? []
      : [`- HTTP: \`GET ${at(base, example)}?_cnd[limit]=0,20\` lists the first 20 records of a type.`]),
    '- Safe changes: send the `ETag` of a GET back as `If-Match`. With `dryRun=true`, a write reports its effects and changes nothing.',
    '- A refused request answers with everything that is wrong with it, where, and what was probably meant.',
    '',
    '## Documents',
    '',
    `- ${link('/openapi.json')}: all operations, parameters and schemas, as OpenAPI 3.1`,
    `- ${link('/openapi.json?profile=simple')}: the same as OpenAPI 3.0, for generators of clients`,
    `- ${link('/docs')}: the interactive reference, for people`,
    `- ${link('/docs/clients')}: the guide for authors of clients, with examples`,
    ...(listed.length === 0 ? [] : ['', '## Record types', '', ...listed.map((type) => entry(type, base))]),
    ...(served.length > listed.length ? [`- and ${served.length - listed.length} more`] : []),
    '',
  ].join('\n');
}

const at = (base: string, { path }: RecordType): string => `${base}${API_ROOT}${encodeURIComponent(path)}`;

const entry = (type: RecordType, base: string): string =>
  `- [${type.name}](${at(base, type)}): ${line(type.description)} (${[...type.operations].join(', ')})`;

/** Descriptions may have several lines. */
const line = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
