/** `suite` replays the requests generated from the descriptors against a running service. */
import { createInterface } from 'node:readline/promises';
import type { Model } from '../model/model.ts';
import { StartError } from '../problem.ts';
import { suiteOf } from '../suite/suite.ts';
import { failureText, type Result, run, summaryText } from '../suite/run.ts';
import { print, printable, printError } from '../process.ts';
import { BOOLEAN, command, readModel, STRING, typeNamed } from './command.ts';

const OPTIONS = {
  write: BOOLEAN,
  yes: BOOLEAN,
  token: STRING,
  'read-token': STRING,
  type: STRING,
  json: BOOLEAN,
} as const;

const USAGE = [
  'records suite URL [--write] [--yes] [--token TOKEN] [--read-token TOKEN] [--type NAME] [--json]',
  'Replays requests that read; --write adds those that write. --token and --read-token (a token that may only read) add checks of access',
].join('\n');

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError(`${question}\nStandard input is not a terminal: confirm with --yes`);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(printable(`${question}\nContinue? [y/N] `));
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}

export const suite = command(USAGE, OPTIONS, ['URL'], async (options, [url], { schemaDirectory }) => {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new StartError(`URL must be the address of a service, such as http://127.0.0.1:3000, not "${url}"\n${USAGE}`);
  const { write = false, yes = false, json = false, token, type, 'read-token': readToken } = options;
  const model = readModel(schemaDirectory);
  if (type !== undefined) typeNamed(model, type);
  // An earlier run may have left its values: use new ones.
  const seed = 1000 + (Math.floor(Date.now() / 1000) % 1_000_000) * 1000;
  const all = suiteOf(model, { seed, guarded: token !== undefined, hasReader: readToken !== undefined });
  const cases = all.filter((one) => type === undefined || one.type === type);
  await fetch(url, { signal: AbortSignal.timeout(10_000) }).catch((error: unknown) => {
    throw new StartError(`No response from ${url}`, { cause: error });
  });
  const announced = announcement(url, model);
  if (write && !yes && !(await confirmed(announced))) return 1;
  if (write && yes) printError(announced);
  const results = await run(cases, { url, model, token, readToken, readOnly: !write });
  report(results, json, write);
  return results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
});

function report(results: readonly Result[], json: boolean, write: boolean): void {
  if (json) {
    const rows = results.map(({ case: { type, title }, milliseconds, ...rest }) => {
      return { type, title, milliseconds: Math.round(milliseconds), ...rest };
    });
    return print(JSON.stringify(rows, null, 2));
  }
  for (const result of results.filter(({ outcome }) => outcome === 'failed')) print(`${failureText(result)}\n`);
  for (const { case: one, outcome } of write ? results : [])
    if (outcome === 'skipped') print(`Skipped: ${one.type || 'Service'}: ${one.title}`);
  print(summaryText(results));
}

function announcement(url: string, { types }: Model): string {
  const left = [...types.values()].filter(({ operations }) => !operations.has('delete')).map(({ name }) => name);
  const rest = left.length === 0 ? '.' : `, except records of types without a delete operation: ${left.join(', ')}`;
  return `This creates, changes and deletes records of its own at ${url}, and removes them at the end${rest}`;
}
