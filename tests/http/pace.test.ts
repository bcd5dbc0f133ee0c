/** Long work takes a few milliseconds of a turn of the event loop, whichever requests it is for. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPace, type Pace } from '../../engine/pace.ts';

const SLICE = 5;
const BETWEEN = 2;

let time: number;
let pace: Pace;
let turn: number;
let isOver: boolean;
/** What ran in which turn. */
let ran: (readonly [name: string, turn: number])[];

beforeEach(() => {
  time = 0;
  turn = 0;
  isOver = false;
  ran = [];
  pace = createPace({ slice: SLICE, between: BETWEEN, now: () => time });
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
});
afterEach(() => void (isOver = true));

async function work(name: string, cost: number, steps = 1): Promise<void> {
  const step = (): void => {
    time += cost;
    ran.push([name, turn]);
  };
  await pace.begin(step);
  for (let done = 1; done < steps; done += 1) {
    await pace.pause();
    step();
  }
}

const turnsOf = (name: string): readonly number[] => ran.flatMap(([one, at]) => (one === name ? [at] : []));

test('short work does not wait', async () => {
  await Promise.all(['a', 'b', 'c'].map((name) => work(name, 1)));
  expect(new Set(ran.map(([, at]) => at)).size).toBe(1);
});

test('what comes when the time of a turn is spent waits until other requests have had theirs', async () => {
  await Promise.all(['a', 'b', 'c'].map((name) => work(name, SLICE)));
  const [a = 0, b = 0, c = 0] = ran.map(([, at]) => at);
  expect(ran.map(([name]) => name)).toEqual(['a', 'b', 'c']);
  expect(b - a).toBeGreaterThanOrEqual(BETWEEN);
  expect(c - b).toBeGreaterThanOrEqual(BETWEEN);
});

test('several that are short share a turn also if they had to wait', async () => {
  await Promise.all([work('long', SLICE), ...Array.from({ length: 20 }, (_, index) => work(String(index), 1))]);
  expect(ran.slice(1).map(([name]) => Number(name))).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(new Set(ran.slice(1).map(([, at]) => at)).size).toBe(20 / SLICE);
});

test('work that has begun goes on before other work begins', async () => {
  await Promise.all([work('begun', SLICE, 3), work('new', SLICE)]);
  expect(ran.map(([name]) => name)).toEqual(['begun', 'begun', 'begun', 'new']);
  expect(new Set(turnsOf('begun')).size).toBe(3);
});

test('a new turn has time again', async () => {
  await work('a', SLICE);
  await nextTurn();
  await nextTurn();
  expect(pace.pause()).toBeUndefined();
  expect(pace.begin(() => 'at once')).toBe('at once');
});
