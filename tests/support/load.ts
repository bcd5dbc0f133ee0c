/** Clients that make records without a pause while something happens, and know afterwards what must be there. */
import type { Answer } from './ask.ts';
import { pause } from './postgres.ts';

export type Send = (title: string, body?: unknown) => Promise<Answer>;

export interface Load {
  readonly acknowledged: readonly string[];
  readonly refused: ReadonlySet<string>;
}

const CLIENTS = 6;

/** `name` tells the records of this load from others, and `padding` makes them longer. */
export async function loadWhile(
  send: Send,
  name: string,
  meanwhile: (load: Load) => Promise<void>,
  padding = '',
): Promise<Load> {
  const acknowledged: string[] = [];
  const refused = new Set<string>();
  const state = { ended: false };
  const client = async (number: number): Promise<void> => {
    for (let index = 0; !state.ended; index += 1) {
      const value = `${name}-${number}-${index}${padding}`;
      const answer = await send('POST /api/tmp-vars', { value }).catch(() => undefined);
      if (answer?.status === 201) acknowledged.push(value);
      else refused.add(answer ? `${answer.status} ${answer.headers.get('retry-after')}` : 'no answer');
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  try {
    await meanwhile({ acknowledged, refused });
  } finally {
    state.ended = true;
    await Promise.all(clients);
  }
  return { acknowledged, refused };
}

export async function atLeast(acknowledged: readonly string[], count: number): Promise<void> {
  while (acknowledged.length < count) await pause(10);
}

export async function expectKept(send: Send, name: string, { acknowledged }: Load): Promise<void> {
  const { body } = await send(`GET /api/tmp-vars?fields=value&_cnd[value][like]=${name}-*`);
  const stored = (body as { value: string }[]).map(({ value }) => value);
  const known = new Set(stored);
  expect(acknowledged.filter((value) => !known.has(value))).toEqual([]);
  expect(known.size).toBe(stored.length);
}
