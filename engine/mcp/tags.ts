/**
 * The entity tags that agents see. A tag is about one view of a record, so the tag for an agent names the view as well:
 * it can be sent back without repeating the `fields` and `include` of the read.
 */
import type { CallResult } from '../embed/call.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { faultyRequest } from '../problem.ts';

/** What a write is asked for: the view, and the tag that the record must have in it. */
interface Tagged {
  readonly view: JsonObject;
  /** As `If-Match` has it; undefined if the write is unconditional. */
  readonly tag: string | undefined;
}

const VIEW_OPTIONS = ['fields', 'include', 'variant'] as const;
const OPAQUE = /^(?:W\/)?"?([\w+/=-]+)"?$/;

/** Empty where the type goes without tags. */
export function tagFor(headers: CallResult['headers'], view: JsonObject): JsonObject {
  const tag = headers['ETag'];
  return tag === undefined ? {} : { etag: [tag.replaceAll('"', ''), ...viewParts(view)].join('?') };
}

function viewParts(view: JsonObject): readonly string[] {
  const pairs = VIEW_OPTIONS.flatMap((name): [string, string][] => {
    const value = view[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  return pairs.length === 0 ? [] : [new URLSearchParams(pairs).toString()];
}

/** The arguments of a write, taken apart. A view in the arguments goes before that of the tag. */
export function viewIn({ etag, ...view }: JsonObject): Tagged {
  if (etag === undefined) return { view, tag: undefined };
  const [opaque = '', search] = typeof etag === 'string' ? etag.split('?', 2) : [];
  const [, tag] = OPAQUE.exec(opaque.trim()) ?? [];
  if (tag === undefined) throw notATag();
  const isGiven = VIEW_OPTIONS.some((name) => view[name] !== undefined);
  return { view: isGiven || search === undefined ? view : { ...view, ...viewOf(search) }, tag: `"${tag}"` };
}

/** What a call in process is asked for. */
export const optionsOf = ({ view, tag }: Tagged): Readonly<Record<string, unknown>> =>
  tag === undefined ? view : { ...view, ifMatch: tag };

function viewOf(search: string): JsonObject {
  const parameters = new URLSearchParams(search);
  return Object.fromEntries(
    VIEW_OPTIONS.flatMap((name): [string, JsonValue][] => {
      const value = parameters.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}

function notATag(): never {
  const message = '"etag" must be the text that get_record returned as etag';
  throw faultyRequest('invalid-header', [{ parameter: 'etag', code: 'invalid-value', message }]);
}
