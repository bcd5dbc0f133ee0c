/** The headers of answers, by the name that the document has for them. */
import type { JsonObject } from '../json.ts';

const text = (description: string, example?: string): JsonObject => ({
  description,
  schema: { type: 'string', ...(example === undefined ? {} : { examples: [example] }) },
});

const always = (header: JsonObject): JsonObject => ({ ...header, required: true });

export const HEADERS = {
  'Cache-Control': always(text('A cache asks again each time.', 'no-cache')),
  Vary: always(text('The request headers that decide about the answer.', 'Accept, Accept-Encoding, Prefer')),
  'X-Request-Id': always(text('The name of the request: the one that was sent, or a new one.')),
  ETag: text('The entity tag of this answer, for If-None-Match and If-Match.', '"5a6NIQAV5ZkOhQXMrhOJmuKWnnI"'),
  Location: always(text('The path of the new record.', '/api/things/1')),
  'X-Total-Count': {
    description: 'How many records match the filters, whatever the page; absent after Prefer: count=none.',
    schema: { type: 'integer', minimum: 0, examples: [42] },
  },
  Link: text(
    'With a limit: the first, next and previous page (RFC 8288). The links stay right while records come and go.',
    '</api/things?_cnd[limit]=0&_cnd[limit]=20>; rel="first"',
  ),
  'Preference-Applied': text('The preferences that were followed (RFC 7240).', 'return=minimal'),
  'Retry-After': always({
    description: 'Seconds after which another attempt is worth while.',
    schema: { type: 'integer', minimum: 0, examples: [1] },
  }),
  Accept: text('The media types that a body here may have.', 'application/json'),
  'Accept-Encoding': text('The encodings that a body here may have.', 'identity'),
  'WWW-Authenticate': always(text('What is missing: a token, or one with more rights (RFC 6750).', 'Bearer')),
  RateLimit: always(text('How many requests are left, and for how many seconds.', '"minute";r=0;t=42')),
  'RateLimit-Policy': always(text('How many requests there are in so many seconds.', '"minute";q=1200;w=60')),
  'Accept-Patch': text('The media types that a patch may have.', 'application/merge-patch+json, application/json'),
} as const satisfies Readonly<Record<string, JsonObject>>;

export type HeaderName = keyof typeof HEADERS;
