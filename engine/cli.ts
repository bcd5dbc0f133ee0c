#!/usr/bin/env node
/** The command line `records NAME`: the table of commands, and their help. */
import type { Command } from './commands/command.ts';
import { didYouMean } from './names.ts';
import { nodeFault, print, printError, VERSION } from './process.ts';

interface CommandEntry {
  readonly description: string;
  readonly load: () => Promise<Command>;
}

export const commands = {
  init: {
    description: 'Set up a project here: a first record type, a test, scripts. Existing files are kept.',
    load: async () => (await import('./commands/project.ts')).init,
  },
  start: {
    description: 'Serve the records; --no-migrate changes no tables.',
    load: async () => (await import('./commands/start.ts')).start,
  },
  mcp: {
    description: 'Serve agents over standard input and output (MCP), to read; --write lets them write.',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  check: {
    description: 'Check the descriptors; --json.',
    load: async () => (await import('./commands/descriptors.ts')).check,
  },
  plan: {
    description: 'Show how the descriptors would change the database; --sql, --json, and the options of apply.',
    load: async () => (await import('./commands/apply.ts')).plan,
  },
  apply: {
    description: 'Change the database to match the descriptors; --allow STEP, --back to older descriptors.',
    load: async () => (await import('./commands/apply.ts')).apply,
  },
  diff: {
    description: 'Show what a change of descriptors means for clients: OLD_DIR NEW_DIR; --json.',
    load: async () => (await import('./commands/descriptors.ts')).diff,
  },
  new: {
    description: 'Write a descriptor for a new type, with comments: TYPE.',
    load: async () => (await import('./commands/project.ts')).create,
  },
  describe: {
    description: 'Print the types with every default filled in; --diagram, --json.',
    load: async () => (await import('./commands/descriptors.ts')).describe,
  },
  dev: {
    description: 'Serve, and reload the descriptors whenever they are saved.',
    load: async () => (await import('./commands/dev.ts')).dev,
  },
  suite: {
    description: 'Replay the generated requests against a service: URL; --write, --yes, --json.',
    load: async () => (await import('./commands/suite.ts')).suite,
  },
  token: {
    description: 'Create an access token; --read, --write and --history list types.',
    load: async () => (await import('./commands/token.ts')).token,
  },
  access: {
    description: 'Print what roles allow, with file and line: ROLE TYPE; explain METHOD PATH says why.',
    load: async () => (await import('./commands/access.ts')).access,
  },
  delete: {
    description: 'Delete a record and everything that goes with it, in short transactions: TYPE ID --chunked.',
    load: async () => (await import('./commands/delete.ts')).remove,
  },
  prune: {
    description: 'Delete the entries of histories that are older than some days: --older-than DAYS.',
    load: async () => (await import('./commands/log.ts')).prune,
  },
  erase: {
    description: 'Delete a record, and remove what the history says of it: TYPE ID.',
    load: async () => (await import('./commands/log.ts')).erase,
  },
  export: {
    description: 'Export all records as NDJSON: FILE; --force replaces an existing file.',
    load: async () => (await import('./commands/transfer.ts')).exportRecords,
  },
  import: {
    description: 'Import a FILE of export, no pipe, into an empty database; --report FILE lists its faults.',
    load: async () => (await import('./commands/transfer.ts')).importRecords,
  },
  backup: {
    description: 'Copy the database while the service runs, and verify the copy: FILE; --force.',
    load: async () => (await import('./commands/backup.ts')).backup,
  },
  restore: {
    description: 'Replace the database with a backup, and keep the old one beside it: FILE; --force.',
    load: async () => (await import('./commands/backup.ts')).restoreBackup,
  },
} as const satisfies Record<string, CommandEntry>;

const table: ReadonlyMap<string, CommandEntry> = new Map(Object.entries(commands));

/** Runs a command line. Checks Node.js before importing commands: the database driver would crash older versions. */
export function run(line: readonly string[]): void {
  const fault = nodeFault();
  if (fault === undefined)
    void import('./commands/command.ts').then(({ runProcess }) => runProcess(() => main(line), line[0] === 'start'));
  else {
    printError(fault);
    process.exitCode = 1;
  }
}

const HELP: ReadonlySet<string> = new Set(['--help', '-h']);

async function main([name = 'help', ...options]: readonly string[]): Promise<number> {
  const [topic = '-'] = options;
  if (name === 'help' && topic !== 'help' && !topic.startsWith('-')) return main([topic, '--help']);
  if (name === 'help' || HELP.has(name)) return printed(help());
  if (['--version', '-v', 'version'].includes(name)) return printed(VERSION);
  const command = await table.get(name)?.load();
  if (command === undefined) {
    printError(`There is no command "${name}"${didYouMean(name, table.keys())}\n\n${help()}`);
    return 2;
  }
  return options.some((option) => HELP.has(option)) ? printed(`Usage: ${command.usage}`) : command.run(options);
}

function printed(text: string): number {
  print(text);
  return 0;
}

function help(): string {
  const lines = [...table].map(([name, { description }]) => `  ${name.padEnd(10)}${description}\n`);
  return `Usage: records <command>

${lines.join('')}
records help <command> shows its options, records --version the version.`;
}

if (require.main === module) run(process.argv.slice(2));
