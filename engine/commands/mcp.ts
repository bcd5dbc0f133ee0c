/** `mcp`: serves agents over standard input and output (MCP), with the database of the settings. */
import { once } from 'node:events';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Client } from '../access/access.ts';
import { parseTypes } from '../access/tokens.ts';
import { inProcessCalls } from '../embed/calls.ts';
import { type Engine, startEngine } from '../engine.ts';
import { createAgentServer } from '../mcp/tools.ts';
import type { Granted } from '../model/rights.ts';
import { type Settings, withoutPassword } from '../settings/settings.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import type { Problem } from '../problem.ts';
import { printError } from '../process.ts';
import { BOOLEAN, type Command, command, refuseUnknownTypes, stopSignal, STRING } from './command.ts';

const USAGE = `records mcp [--read TYPES] [--write [TYPES]] [--no-migrate]: serves agents over standard input and output, with settings from the environment; TYPES are names separated by commas, or '*'. Agents only read unless there is --write; without TYPES it allows everything`;

const withRights = command(
  USAGE,
  { read: STRING, write: STRING, 'no-migrate': BOOLEAN },
  0,
  async ({ read = '*', write, 'no-migrate': isUnmigrated }, _, given) => {
    const settings = { ...given, migrate: given.migrate && isUnmigrated !== true };
    const rights = { read: parseTypes(read), write: write === undefined ? new Set<string>() : parseTypes(write) };
    const engine = await startEngine({ ...settings, tokens: '', tokensFile: '', rateLimit: Infinity });
    try {
      refuseUnknownTypes(engine.model, rights);
      await serve(engine, settings, rights);
    } finally {
      await engine.close();
    }
    return 0;
  },
);

export const mcp: Command = { usage: USAGE, run: (args) => withRights.run(withTypes(args)) };

/** `--write` without types means all. */
const withTypes = (args: readonly string[]): readonly string[] =>
  args.map((word, at) => (word === '--write' && (args[at + 1] ?? '-').startsWith('-') ? '--write=*' : word));

async function serve(engine: Engine, settings: Settings, granted: Granted): Promise<void> {
  if (engine.warnings.length > 0) printError(formatDiagnostics(engine.warnings));
  const client = (): Client => engine.clients().granted(granted, 'mcp');
  const calls = inProcessCalls(engine.budget, client);
  const refused = (error: unknown): Problem => engine.host.problemOf(error, 'mcp');
  const ended = Promise.race([once(process.stdin, 'close'), stopSignal()]);
  const connection = serveStdio(
    () => createAgentServer({ title: settings.title, model: client().seen(), call: calls.call, refused }),
    { maxSubscriptions: 0 },
  );
  const { schemaDirectory, databaseUrl } = settings;
  printError(
    `Serving the records of ${schemaDirectory} in ${withoutPassword(databaseUrl)} over standard input and output`,
  );
  await ended;
  await connection.close();
  await calls.close();
}
