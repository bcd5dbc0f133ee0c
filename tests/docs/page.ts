/** Follows a page of the documentation from top to bottom, in an empty folder, as its reader does. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { parseCurl } from '../support/curl.ts';
import { memory } from '../support/databases.ts';
import { shellCommands } from '../support/shell.ts';

/** A fenced code block. `line` is 1-based, that of the opening fence. */
interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

const FENCE = /^( *)(`{3,})(.*)\n([\s\S]*?)^\1\2 *$/gm;

function readBlocks(markdown: string): readonly Block[] {
  return [...markdown.matchAll(FENCE)].map((match) => ({
    language: (match[3] ?? '').trim(),
    text: match[4] ?? '',
    line: markdown.slice(0, match.index).split('\n').length,
  }));
}

/** A block that does something, and the block after it if that shows the output. */
export interface Step {
  readonly block: Block;
  readonly shown: Block | undefined;
}

export interface Output {
  readonly text: string;
  readonly status?: number;
  readonly headers?: Headers;
}

/** Blocks in other languages are read, not run: `console` for what needs another machine, `yaml` without a file name for parts. */
const RUN = new Set(['sh']);
const OUTPUT = new Set(['json', 'http', 'text', 'csv']);

const FILE_NAME = /^(?:#|\/\/|--) ([\w./-]+\.\w+)\n/;

const BUILD = resolve(process.env['TEST_BUILD'] ?? 'dist');
const COMMAND_LINE = join(BUILD, 'engine/cli.js');

/** What stands for programs: `sqlite3` need not be installed. */
const PROGRAMS: Readonly<Record<string, string>> = {
  npx: `[ "$1" = records ] || { echo "npx $1 cannot be replayed" >&2; exit 1; }
shift
exec '${process.execPath}' '${COMMAND_LINE}' "$@"`,
  sqlite3: `exec '${process.execPath}' -e '
const [file] = process.argv.slice(1);
new (require("${resolve('node_modules/better-sqlite3')}"))(file).exec(require("fs").readFileSync(0, "utf8"));
' "$@"`,
};

export function stepsOf(markdown: string): readonly Step[] {
  const blocks = readBlocks(markdown);
  return blocks.flatMap((block, index) => {
    const next = blocks[index + 1];
    if (!RUN.has(block.language) && fileOf(block) === undefined) return [];
    const shown = RUN.has(block.language) && next !== undefined && OUTPUT.has(next.language) ? next : undefined;
    return [{ block, shown }];
  });
}

/** `# schema/book.yaml` in the first line, or where a file has no comments, a name behind the language. */
export const fileOf = ({ language, text }: Block): string | undefined =>
  FILE_NAME.exec(text)?.[1] ?? language.split(' ')[1];

/** What a page shows, as a pattern: `…` in a value stands for any text, such as a time or a tag. */
export function matching(value: unknown): unknown {
  if (typeof value === 'string' && value.includes('…')) return expect.any(String);
  if (Array.isArray(value)) return value.map(matching);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, matching(member)]));
}

/** The folder of one reader, and the service that runs in it. */
export class Reader {
  readonly folder = mkdtempSync(join(memory, 'reader-'));
  private isOutdated = false;
  private serving: Awaited<ReturnType<typeof serve>> | undefined;

  constructor() {
    const programs = join(this.folder, '.programs');
    mkdirSync(programs);
    for (const [name, script] of Object.entries(PROGRAMS)) {
      writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(programs, name), 0o755);
    }
    // A project of its own, whatever lies in the folders above.
    writeFileSync(join(this.folder, 'package.json'), '{ "name": "project", "version": "1.0.0" }\n');
    const installed = join(this.folder, 'node_modules/record-engine');
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, 'index.js'), `module.exports = require('${join(BUILD, 'engine/index.js')}');\n`);
  }

  async close(): Promise<void> {
    await this.serving?.close();
    rmSync(this.folder, { recursive: true });
  }

  async follow({ block, shown }: Step): Promise<Output> {
    const file = fileOf(block);
    if (file === undefined) return this.run(block.text, shown !== undefined);
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, block.text.replace(FILE_NAME, ''));
    // A service that runs is restarted before the next request.
    this.isOutdated ||= file.startsWith('schema/');
    return { text: '' };
  }

  private async run(text: string, shown: boolean): Promise<Output> {
    let output: Output = { text: '' };
    for (const command of commandsOf(text)) output = await this.runOne(command, shown);
    return output;
  }

  private async runOne(command: string, shown: boolean): Promise<Output> {
    const [program, ...rest] = shellCommands(command)[0] ?? [];
    if (program === 'curl') return this.request(rest);
    if (program === 'npm' && rest[0] === 'start') return this.start();
    // The reader's folder stands for a project in which the package is installed.
    if (program === 'npm' && (rest[0] === 'init' || rest[0] === 'install')) return { text: '' };
    return this.shell(command, shown);
  }

  private async start(): Promise<Output> {
    await this.serving?.close();
    this.serving = undefined;
    this.isOutdated = false;
    this.serving = await serve({
      ...readSettings({}),
      port: 0,
      schemaDirectory: join(this.folder, 'schema'),
      databaseUrl: `sqlite:${join(this.folder, 'data/records.db')}`,
      shutdownTimeout: 1000,
    });
    return { text: '' };
  }

  private async request(words: readonly string[]): Promise<Output> {
    if (this.serving === undefined || this.isOutdated) await this.start();
    const { method, path, headers, body } = parseCurl(words);
    const url = `${this.serving?.url ?? ''}${path}`;
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    return { text: await response.text(), status: response.status, headers: response.headers };
  }

  /** Where the page shows the output, that says what is expected, whatever the exit code. */
  private async shell(command: string, shown: boolean): Promise<Output> {
    const path = [join(this.folder, '.programs'), dirname(process.execPath), process.env['PATH']].join(delimiter);
    const { NODE_COMPILE_CACHE } = process.env;
    const env = { HOME: this.folder, PATH: path, SERVICE: this.serving?.url ?? '', NODE_COMPILE_CACHE };
    const output = promisify(execFile)('bash', ['-ec', command], { cwd: this.folder, env });
    const { stdout } = await (shown ? output.catch((error: { stdout: string }) => error) : output);
    return { text: stdout };
  }
}

function commandsOf(text: string): readonly string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of text.split('\n')) {
    open += `${line}\n`;
    const quotes = open.replaceAll(/\\[\s\S]/g, '').match(/'/g)?.length ?? 0;
    if (quotes % 2 === 1 || line.endsWith('\\')) continue;
    if (open.trim() !== '' && !open.trim().startsWith('#')) commands.push(open.trim());
    open = '';
  }
  return commands;
}
