/** Agents that leave before their messages are begun: nothing is done for them. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CallerGone } from '../../engine/caller.ts';
import { type Engine, startEngine } from '../../engine/engine.ts';
import { createAgentEndpoint } from '../../engine/mcp/endpoint.ts';
import { readSettings } from '../../engine/settings.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { settled, until } from '../support/leaving.ts';
import { toolCall } from './agent.ts';

let database: TestDatabase;
let engine: Engine;
beforeAll(async () => {
  database = await createDatabase();
  engine = await startEngine({ ...readSettings({}), databaseUrl: database.url, schemaDirectory: 'schema' });
});
afterAll(async () => {
  await engine.close();
  await database.remove();
});

const MESSAGE = JSON.stringify(toolCall('list_types', {}));
const REQUEST = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${MESSAGE.length}\r\n\r\n${MESSAGE}`;

type Moment = 'before its message is read' | 'while its message waits' | 'never';

/** What is done for an agent that leaves at this moment, without a reset. */
async function doneFor(moment: Moment): Promise<{ readonly done: readonly string[]; readonly outcome: unknown }> {
  const done: string[] = [];
  const client: { socket?: Socket; hasLeft?: () => boolean } = {};
  const leave = async (now: Moment): Promise<void> => {
    if (now !== moment) return;
    client.socket?.destroy();
    await until(() => client.hasLeft?.() === true);
  };
  const watched: Engine = {
    ...engine,
    readContent: (...asked) => {
      done.push('read');
      return engine.readContent(...asked);
    },
    pace: {
      ...engine.pace,
      begin: async (work) => {
        await leave('while its message waits');
        return work();
      },
    },
    host: {
      ...engine.host,
      reply: (...answered) => {
        done.push('answered');
        return engine.host.reply(...answered);
      },
    },
  };
  const serve = createAgentEndpoint(watched, { ...readSettings({}), title: 'agents' });
  const served = new Promise<unknown>((resolve) => {
    const listener: RequestListener = (request, response) => {
      client.hasLeft = () => request.socket.readableEnded;
      void leave('before its message is read').then(() => resolve(settled(serve(request, response))));
    };
    const server = createServer(listener).listen(0, '127.0.0.1', () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      client.socket = socket.on('error', () => undefined).resume();
      socket.write(REQUEST);
    });
    // As the service does.
    Object.assign(server, { httpAllowHalfOpen: true });
    closing.push(async () => {
      client.socket?.destroy();
      server.closeAllConnections();
      await once(server.close(), 'close');
    });
  });
  return { done, outcome: await served };
}

const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

test('one that stays is answered', async () => {
  expect(await doneFor('never')).toEqual({ done: ['read', 'answered'], outcome: undefined });
});

test.each<[Moment, readonly string[]]>([
  ['before its message is read', []],
  ['while its message waits', ['read']],
])('one that leaves %s', async (moment, expected) => {
  const { done, outcome } = await doneFor(moment);
  expect(done).toEqual(expected);
  expect(outcome).toBeInstanceOf(CallerGone);
});
