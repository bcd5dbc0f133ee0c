/** Records that something is to be done with: those that a person has selected, or all that the filters find. */
import { textOfWhere, type Where } from '../data/where.ts';
import { isValueList, isValueObject, parseJson, type ValueObject } from '../data/json.ts';
import { identifierOf, type TypeInfo } from '../data/model.ts';
import { Problem, problemOf } from '../data/problem.ts';
import { openResponse, send } from '../data/request.ts';

export interface Chosen {
  readonly type: TypeInfo;
  readonly where: Where;
  /** Undefined: all that the filters find. */
  readonly ids: readonly string[] | undefined;
}

/** A record that was left as it was, and why. */
export interface LeftOut {
  readonly id: string;
  readonly problem: Problem;
}

export interface Progress {
  readonly done: number;
  /** Unknown if the service does not count. */
  readonly total: number | undefined;
}

/** The identifiers of what was chosen, as of now: what comes later is not touched. */
export async function idsOf(
  { type, where, ids }: Chosen,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (ids !== undefined) return ids;
  const target = `${type.path}?${textOfWhere([['fields', ''], ['include', ''], ...where])}`;
  const found: string[] = [];
  await readLines(target, signal, (lines) => {
    for (const line of lines) found.push(idIn(type, line));
    onProgress({ done: found.length, total: undefined });
  });
  return found;
}

/** The records that a list answers. */
export async function readList(target: string, signal: AbortSignal): Promise<readonly ValueObject[]> {
  const { body } = await patiently(() => send({ method: 'GET', target }, signal), signal);
  return isValueList(body) ? body.filter(isValueObject) : [];
}

/** The lines of NDJSON as they come. */
export async function readLines(
  target: string,
  signal: AbortSignal,
  onLines: (lines: readonly string[], total: number | undefined) => void,
): Promise<void> {
  const headers = { Accept: 'application/x-ndjson' };
  const response = await patiently(() => openResponse({ method: 'GET', target, headers }, signal), signal);
  const counted = response.headers.get('X-Total-Count');
  const total = counted === null ? undefined : Number(counted);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    const lines = (rest + read.value).split('\n');
    rest = lines.pop() ?? '';
    onLines(lines, total);
  }
  if (rest !== '') onLines([rest], total);
}

/** Lines hold the identifier alone. */
function idIn(type: TypeInfo, line: string): string {
  const values = parseJson(line);
  return isValueObject(values) ? identifierOf(type, values) : '';
}

export const inParts = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, part) => items.slice(part * size, (part + 1) * size));

const MOST_ATTEMPTS = 20;

/** A service that is busy has done nothing yet, and says when to come again. */
export async function patiently<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (problem) {
      const { status, code, retryAfter = 1 } = problemOf(problem);
      const isBusy = (status === 429 || status === 503) && code !== 'outcome-unknown';
      if (!isBusy || attempt === MOST_ATTEMPTS || signal.aborted) throw problem;
      await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
    }
}

/** Whether the request was refused for what it says: with fewer records it may be accepted. */
export const isRefused = (problem: unknown): problem is Problem =>
  problem instanceof Problem && [404, 409, 412, 413, 422, 428].includes(problem.parts.status);
