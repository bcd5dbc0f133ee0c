/** Serves the files that browsers load. The build has compressed them; each is sent from memory, so that slow readers share one copy. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { extname, join } from 'node:path';
import type { RequestHandler } from 'express';
import { codeOf } from '../files.ts';
import { acceptedCoding, readAnswer } from '../http/answer.ts';
import type { HostSteps } from '../http/handler.ts';
import { entityTag, type Preconditions } from '../operations/operation.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import { ASSETS } from './page.ts';

/** Written by deploy/studio.ts. */
export const BUILT = join(PACKAGE_FOLDER, 'dist/studio');

const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Pages have no If-Match. */
export const cacheOf = ({ headers }: IncomingMessage): Preconditions => ({
  ifMatch: undefined,
  ifNoneMatch: headers['if-none-match'],
});

export function createFileServer(sendPage: HostSteps['sendPage']) {
  const kept = new Map<string, { readonly content: Buffer; readonly tag: string }>();

  /** undefined if there is no such file: the studio may have been rebuilt since the service started. */
  async function load(path: string) {
    const known = kept.get(path);
    if (known) return known;
    const content = await readFile(path).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
    });
    if (content === undefined) return undefined;
    const loaded = { content, tag: entityTag(content) };
    kept.set(path, loaded);
    return loaded;
  }

  /** `source`: sent if the file has not been built. */
  return (name: string, cacheControl: string, source?: () => string): RequestHandler =>
    async (request, response, next) => {
      const coding = acceptedCoding(request.get('accept-encoding'));
      const built = await load(join(BUILT, name + (coding === undefined ? '' : EXTENSIONS[coding])));
      const file = built ?? (source === undefined ? undefined : await load(source()));
      if (file === undefined) return next('route');
      const { content, tag } = file;
      const headers = {
        'Cache-Control': cacheControl,
        'Content-Type': MEDIA_TYPES[extname(name)] ?? '',
        Vary: 'Accept-Encoding',
        ...(built === undefined || coding === undefined ? {} : { 'Content-Encoding': coding }),
      };
      await sendPage(readAnswer(cacheOf(request), content, tag, headers), request, response);
    };
}

/** The path of a file of the reference before the build. */
export const sourceOf = (name: string): string => {
  const library = new Map<string, string>(Object.entries(ASSETS)).get(name);
  return library === undefined ? join(PACKAGE_FOLDER, 'engine/pages/public', name) : require.resolve(library);
};
