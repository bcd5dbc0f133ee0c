/** A text that is made when it is first asked for, and then sent from memory: with a tag, and compressed. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { acceptedCoding, type Coding, compress } from '../http/coding.ts';
import { entityTag, matchesWeakly } from '../http/entity-tag.ts';
import { SECURITY_HEADERS } from './security.ts';

export interface TextPage {
  readonly mediaType: string;
  readonly make: () => string | Promise<string>;
}

export type Send = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Made {
  /** One for all who ask: what many have not read yet is in memory once. */
  readonly bytes: Buffer;
  readonly tag: string;
  readonly compressed: Map<Coding, Promise<Buffer>>;
}

/** `vary` names the request headers by which it differs. */
export function textSender({ mediaType, make }: TextPage, vary: string): Send {
  let made: Promise<Made> | undefined;
  /** One that could not be made is tried again next time. */
  const ready = (): Promise<Made> => {
    made ??= prepared(make).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
  return async (request, response) => {
    const page = await ready();
    const headers = { ...SECURITY_HEADERS, 'Cache-Control': 'no-cache', Vary: vary };
    const coding = acceptedCoding(String(request.headers['accept-encoding'] ?? ''));
    const tag = coding === undefined ? page.tag : page.tag.replace(/"$/, `-${coding}"`);
    if (matchesWeakly(request.headers['if-none-match'] ?? '', tag)) {
      response.writeHead(304, { ...headers, ETag: tag }).end();
      return;
    }
    const body = coding === undefined ? page.bytes : await compressed(page, coding);
    const encoding = coding === undefined ? {} : { 'Content-Encoding': coding };
    const described = { 'Content-Type': mediaType, 'Content-Length': body.length, ETag: tag, ...encoding };
    response.writeHead(200, { ...headers, ...described });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}

async function prepared(make: TextPage['make']): Promise<Made> {
  const text = await make();
  return { bytes: Buffer.from(text), tag: entityTag(text), compressed: new Map() };
}

function compressed({ bytes, compressed: known }: Made, coding: Coding): Promise<Buffer> {
  const body = known.get(coding) ?? compress(bytes, coding);
  known.set(coding, body);
  return body;
}
