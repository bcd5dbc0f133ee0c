/** `GET /api/$changes`: pages of the log of changes, and streams of events (WHATWG HTML, 9.2). */
import type { IncomingMessage } from 'node:http';
import { createCache, memoized } from '../memo.ts';
import type { Model, RecordType } from '../model/model.ts';
import { hasHistory, hasWholeHistory, knows, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import { turnOf } from '../operations/read.ts';
import { EVENTS_TYPE, JSON_TYPE, NDJSON_TYPE } from '../operations/table.ts';
import { faultyRequest, Problem } from '../problem.ts';
import type { ChangesQuery } from '../query/list-query.ts';
import { quote } from '../query/parameters.ts';
import { readChanges } from '../query/resolve.ts';
import { createEntryReader, entryJson, type EntryReader } from '../storage/log/entries.ts';
import { type ChangePage, cursorOf, type Feed, type Place } from '../storage/log/feed.ts';
import type { Answer } from './answer.ts';
import type { Exchange, ServeOperation } from './exchange.ts';
import { linksTo, plainRows, whole } from './lists.ts';
import type { Offer } from './routes.ts';

export const CHANGES = '$changes';

/** The entries that a client may follow: of these types, or of all that it may. Throws Problems. */
export function createSelection({ types }: Model, rights: Rights): (names?: readonly string[]) => EntryReader {
  const recorded = [...types.values()].filter((type) => type.history && knows(rights, type.name));
  const readers = createCache<EntryReader>(MOST_READERS);
  return (names) => {
    if (!recorded.some((type) => hasHistory(rights, type)))
      throw new Problem('forbidden', 'You may not read the history of any type');
    const named = names?.map((name) => followed(name, recorded, rights));
    const followable = named ?? recorded.filter((type) => hasWholeHistory(rights, type));
    return readers(String(names), () => createEntryReader(followable, rights));
  };
}

const MOST_READERS = 100;

function followed(name: string, recorded: readonly RecordType[], rights: Rights): RecordType {
  const type = recorded.find((one) => one.name === name);
  if (type === undefined) {
    const known = recorded.map((one) => one.name);
    const message = `There is no type ${quote(name)} with a history${didYouMean(name, known)}`;
    throw faultyRequest('invalid-query', [{ parameter: 'type', code: 'unknown-type', message }]);
  }
  if (!hasHistory(rights, type)) throw new Problem('forbidden', `You may not read the history of ${name}`);
  if (!hasWholeHistory(rights, type))
    throw new Problem('forbidden', `You may not read every record of ${name}, and so not follow its changes`);
  return type;
}

const MOST_STREAMS = 100;
/** Milliseconds between looks at the credentials of a stream. */
const CHECK_MS = 500;

export type Changes = ReturnType<typeof createChanges>;

/** `drain` ends the streams: their clients connect again, elsewhere. */
export function createChanges(feed: Feed) {
  let isDraining = false;

  async function pageOf(query: ChangesQuery, reader: EntryReader, { target, mediaType, caller }: Exchange) {
    await turnOf(query, caller);
    const { entries, log, position } = await feed.page(query.after, reader, query.limit, caller);
    const cursor = cursorOf(log, position);
    const shown = { keys: true, values: query.values } as const;
    const lines = entries.map((entry) => entryJson(entry, cursorOf(log, entry.position), shown));
    const search = new URLSearchParams(target.query);
    search.set('after', cursor);
    const links = linksTo(target.base + target.path, { next: search.toString() });
    const rows = whole(lines, plainRows(mediaType));
    const body = mediaType === NDJSON_TYPE ? rows : `{"changes":${rows},"next":${JSON.stringify(cursor)}}`;
    return { status: 200, headers: { 'Content-Type': mediaType, Link: links }, body };
  }

  /** `isCurrent`: whether the credentials of a request still give these rights, on the model that is served. */
  function offerOf(
    model: Model,
    rights: Rights,
    isCurrent: (request: IncomingMessage) => Promise<boolean>,
  ): Offer | undefined {
    if (![...model.types.values()].some(({ history }) => history)) return undefined;
    const select = createSelection(model, rights);
    let streams = 0;

    async function* events(place: Place, query: ChangesQuery, reader: EntryReader, { request, caller }: Exchange) {
      let checkedAt = performance.now();
      const isOver = async (): Promise<boolean> => {
        // A client that only ends its side of the connection waits for an answer, but not for a stream.
        if (isDraining || caller.signal.aborted || request.socket.readableEnded) return true;
        if (performance.now() - checkedAt < CHECK_MS) return false;
        checkedAt = performance.now();
        return !(await isCurrent(request));
      };
      try {
        for await (const page of feed.follow(place, () => reader, isOver))
          yield query.values ? wholeEvents(page) : thinEvents(page);
      } catch (error) {
        // A client that was answered an error would not connect again (WHATWG HTML, 9.2.3).
        if (!(error instanceof Problem)) throw error;
      } finally {
        streams -= 1;
      }
    }

    const serve: ServeOperation = async (exchange): Promise<Answer> => {
      const { request, target, mediaType } = exchange;
      const query = readChanges(target.query, mediaType === EVENTS_TYPE);
      const reader = select(query.types);
      if (mediaType !== EVENTS_TYPE) return pageOf(query, reader, exchange);
      const last = request.headers['last-event-id']?.toString();
      const place = await (last ? feed.placeOf(last, { header: 'Last-Event-ID' }) : feed.placeOf(query.after));
      if (streams >= MOST_STREAMS)
        throw new Problem('rate-limited', `There are ${MOST_STREAMS} streams already; close one of them`);
      streams += 1;
      return { status: 200, headers: EVENT_HEADERS, body: events(place, query, reader, exchange) };
    };
    // Streams last for hours: their durations are apart from those of reads.
    return { serve, mediaTypes: [JSON_TYPE, NDJSON_TYPE, EVENTS_TYPE], label: { type: CHANGES, operation: 'changes' } };
  }

  return {
    offerOf,
    drain: (): void => {
      isDraining = true;
      feed.hear();
    },
  };
}

/** Proxies neither change nor collect what comes. */
const EVENT_HEADERS = {
  'Content-Type': EVENTS_TYPE,
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Made once for all streams that get the same page. An event without data moves the cursor of the client. */
const eventsWith = (values: boolean): ((page: ChangePage) => string) =>
  memoized(({ entries, log, position }: ChangePage) => {
    const events = entries.map((entry) => {
      const cursor = cursorOf(log, entry.position);
      return `event: change\nid: ${cursor}\ndata: ${entryJson(entry, cursor, { keys: true, values })}\n\n`;
    });
    return events.length > 0 ? events.join('') : `:\nid: ${cursorOf(log, position)}\n\n`;
  });
const thinEvents = eventsWith(false);
const wholeEvents = eventsWith(true);
