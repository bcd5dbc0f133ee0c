/** A stream of events (WHATWG HTML, 9.2), as a client reads it. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';

type Data = Readonly<Record<string, unknown>>;

export interface StreamEvent {
  readonly id: string;
  /** undefined for an event that only moves the cursor. */
  readonly data: Data | undefined;
}

export interface EventStream {
  readonly response: IncomingMessage;
  /** All events so far. */
  readonly events: StreamEvent[];
  /** The data of the first events, once there are so many. */
  data(count: number): Promise<readonly Data[]>;
  /** Resolves when the service ends the stream. */
  readonly ended: Promise<unknown>;
  close(): void;
}

const ALONE = new Agent({ keepAlive: false });

export async function openStream(
  url: string,
  path = '/api/$changes',
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const { hostname, port } = new URL(url);
  const sent = request({
    hostname,
    port,
    path,
    agent: ALONE,
    headers: { accept: 'text/event-stream', 'accept-encoding': 'gzip', ...headers },
  });
  const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
  const events: StreamEvent[] = [];
  let text = '';
  response.setEncoding('utf8').on('data', (piece: string) => {
    const blocks = (text + piece).split('\n\n');
    text = blocks.pop() ?? '';
    events.push(...blocks.map(eventIn));
  });
  const dataOf = (): readonly Data[] => events.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return {
    response,
    events,
    data: async (count) => {
      while (dataOf().length < count) await once(response, 'data');
      return dataOf();
    },
    ended: new Promise((resolve) => void response.once('close', resolve).once('error', () => undefined)),
    close: () => void sent.destroy(),
  };
}

function eventIn(block: string): StreamEvent {
  const lines = block.split('\n').filter((line) => !line.startsWith(':'));
  const fields = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
  const data = fields.get('data');
  return {
    id: fields.get('id') ?? '',
    data: data === undefined ? undefined : (JSON.parse(data) as Data),
  };
}
