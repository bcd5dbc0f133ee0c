/** `mcp` serves agents over standard input and output (MCP), with the configured database. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { parseJSONRPCMessage, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Client } from '../clients.ts';
import { parseTypes } from '../access/tokens.ts';
import { inProcessCalls } from '../embed/calls.ts';
import { type Engine, startEngine } from '../engine.ts';
import { rpcError } from '../http/answer.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { readJson, WIDE } from '../json/tokenizer.ts';
import { createAgentServer, faultOfParams } from '../mcp/tools.ts';
import { type Settings, withoutPassword } from '../settings/settings.ts';
import { Problem, StartError } from '../problem.ts';
import { printError } from '../process.ts';
import {
  BOOLEAN,
  type Command,
  command,
  printWarnings,
  refuseUnknownTypes,
  stopSignal,
  STRING,
  STRINGS,
} from './command.ts';
import { claimsIn } from './token.ts';

const USAGE = `records mcp [--read TYPES] [--write [TYPES]] [--role ROLE] [--claim NAME=VALUE]... [--no-migrate]: serves agents over standard input and output, with settings from the environment; TYPES are names separated by commas, or '*'. Agents only read unless there is --write; without TYPES it allows everything`;

const withRights = command(
  USAGE,
  { read: STRING, write: STRING, role: STRING, claim: STRINGS, 'no-migrate': BOOLEAN },
  [],
  async ({ read, write, role, claim = [], 'no-migrate': isUnmigrated }, _, given) => {
    const settings = { ...given, migrate: given.migrate && isUnmigrated !== true };
    if (role !== undefined && (read !== undefined || write !== undefined))
      throw new StartError('A role has its own rights: leave --read and --write out');
    const claims = claimsIn(claim);
    const rights = { read: parseTypes(read ?? '*'), write: parseTypes(write) };
    const engine = await startEngine({ ...settings, tokens: '', tokensFile: '', rateLimit: Infinity });
    try {
      refuseUnknownTypes(engine.model, rights);
      const identity = { name: 'mcp', key: 'mcp', role, claims };
      const client = (): Client =>
        role === undefined ? engine.clients().granted(rights, 'mcp') : engine.clients().identified(identity);
      client();
      await serve(engine, settings, client);
    } finally {
      await engine.close();
    }
    return 0;
  },
);

export const mcp: Command = { usage: USAGE, run: (args) => withRights.run(withTypes(args)) };

/** Responds to invalid lines, which the SDK skips: their sender would wait forever (JSON-RPC 2.0, 5.1). */
async function* messages(): AsyncGenerator<Buffer> {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    try {
      const parsed = readJson(line, WIDE).value as JsonObject;
      parseJSONRPCMessage(parsed);
      const fault = faultOfParams(parsed);
      if (fault === undefined) yield Buffer.from(`${JSON.stringify(parsed)}\n`);
      else refuse(ProtocolErrorCode.InvalidParams, fault, parsed['id']);
    } catch (error) {
      const isJson = !(error instanceof Problem);
      const code = isJson ? ProtocolErrorCode.InvalidRequest : ProtocolErrorCode.ParseError;
      refuse(code, `The line is not ${isJson ? 'a JSON-RPC message' : 'valid JSON'}`);
    }
  }
}

const refuse = (code: ProtocolErrorCode, message: string, id: JsonValue = null): boolean =>
  process.stdout.write(`${rpcError(id, code, message)}\n`);

/** `--write` without types means all types. */
const withTypes = (args: readonly string[]): readonly string[] =>
  args.map((word, at) => (word === '--write' && (args[at + 1] ?? '-').startsWith('-') ? '--write=*' : word));

async function serve(engine: Engine, settings: Settings, client: () => Client): Promise<void> {
  printWarnings(engine, settings);
  const calls = inProcessCalls(engine.budget, client);
  const refused = (error: unknown): Problem => engine.host.problemOf(error, 'mcp');
  const ended = Promise.race([once(process.stdin, 'close'), stopSignal()]);
  const { title } = settings;
  const withheld = 'records mcp was started without this right: --write TYPES and --read TYPES grant rights.';
  const connection = serveStdio(
    () => createAgentServer({ title, model: client().seen(), call: calls.call, refused, withheld }),
    { maxSubscriptions: 0, transport: new StdioServerTransport(Readable.from(messages())) },
  );
  const { schemaDirectory, databaseUrl } = settings;
  printError(
    `Serving the records of ${schemaDirectory} in ${withoutPassword(databaseUrl)} over standard input and output`,
  );
  await ended;
  await connection.close();
  await calls.close();
}
