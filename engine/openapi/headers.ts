/** The headers of responses. */
import type { JsonObject } from '../json.ts';
import { integers } from './names.ts';

const text = (description: string, example?: string): JsonObject => ({
  description,
  schema: { type: 'string', ...(example === undefined ? {} : { examples: [example] }) },
});

const always = (header: JsonObject): JsonObject => ({ ...header, required: true });

export const HEADERS = {
  'Cache-Control': always(text('Caches must revalidate before each reuse.', 'no-cache')),
  Vary: always(text('The request headers that the response depends on.', 'Accept, Accept-Encoding, Prefer')),
  'X-Request-Id': always(text('The identifier of the request: the one that was sent, or a new one.')),
  ETag: text('The entity tag of this response, for If-None-Match and If-Match.', '"5a6NIQAV5ZkOhQXMrhOJmuKWnnI"'),
  Location: text('The path of the new record. Absent for arrays and dry runs.', '/api/things/1'),
  'X-Total-Count': {
    description:
      'The number of records that match the filters on all pages. An estimate if Preference-Applied says count=estimated; absent if totals are left out.',
    schema: { ...integers(0), examples: [42] },
  },
  Link: text(
    'With a limit: the first, next and previous page (RFC 8288). The links stay valid while records are added and deleted.',
    '</api/things?_cnd[limit]=0&_cnd[limit]=20>; rel="first"',
  ),
  'X-Position': text(
    'The position of the write in the log of the database, for X-Position of later reads. Services that read from replicas send it.',
    '1-0/3000148',
  ),
  'Preference-Applied': text('The preferences that were applied (RFC 7240).', 'return=minimal'),
  'Retry-After': always({
    description: 'Seconds to wait before trying again.',
    schema: { ...integers(0), examples: [1] },
  }),
  Accept: text('The media types that a request body may have here.', 'application/json'),
  'Accept-Encoding': text('The encodings that a request body may have here.', 'identity'),
  'WWW-Authenticate': always(text('What is missing: a token, or a token with more rights (RFC 6750).', 'Bearer')),
  RateLimit: text(
    'The number of requests left, and the seconds until the next window. Services that limit requests send it.',
    '"minute";r=0;t=42',
  ),
  'RateLimit-Policy': text(
    'The number of requests allowed per window, and its length in seconds. Services that limit requests send it.',
    '"minute";q=1200;w=60',
  ),
  'Accept-Patch': text('The media types that a patch may have.', 'application/merge-patch+json, application/json'),
} as const satisfies Readonly<Record<string, JsonObject>>;

export type HeaderName = keyof typeof HEADERS;
