/** What the document says of tokens, where requests need one. */
import { isObject, type JsonObject } from '../json.ts';

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  description: 'A token that the operator of the service gives out; it may be limited to reading, and to some types.',
};

export function secured(document: JsonObject, guarded: boolean): JsonObject {
  if (!guarded) return document;
  const components = isObject(document['components']) ? document['components'] : {};
  return {
    ...document,
    security: [{ token: [] }],
    components: { ...components, securitySchemes: { token: BEARER } },
  };
}
