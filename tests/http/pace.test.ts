/** Long work takes a few milliseconds of a turn of the event loop, whichever requests it is for. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../engine/json.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { createPace, finish, type Pace, type Steps } from '../../engine/pace.ts';
import type { Fault } from '../../engine/problem.ts';
import { createValidators } from '../../engine/validation/compile.ts';
import { loadModel } from '../support/model.ts';

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

function* inSteps(name: string, count: number, cost: number): Steps<string> {
  for (let done = 0; done < count; done += 1) {
    if (done > 0) yield;
    time += cost;
    ran.push([name, turn]);
  }
  return name;
}

test('work in steps pauses between them once the time of a turn is spent', async () => {
  expect(pace.run(inSteps('short', 4, 1))).toBe('short');
  expect(await Promise.all([pace.run(inSteps('long', 6, SLICE)), work('new', SLICE)])).toEqual(['long', undefined]);
  expect(new Set(turnsOf('long')).size).toBe(6);
  expect(ran.at(-1)?.[0]).toBe('new');
});

test('what fails after a pause fails', async () => {
  const failing = function* (): Steps<never> {
    yield* inSteps('before', 3, SLICE);
    throw new Error('on purpose');
  };
  await expect(pace.run(failing())).rejects.toThrow('on purpose');
});

test('all steps can be done at once', () => {
  expect(finish(inSteps('whole', 6, SLICE))).toBe('whole');
  expect(new Set(turnsOf('whole')).size).toBe(1);
});

test('a new turn has time again', async () => {
  await work('a', SLICE);
  await nextTurn();
  await nextTurn();
  expect(pace.pause()).toBeUndefined();
  expect(pace.begin(() => 'at once')).toBe('at once');
});

describe('the faults of an array', () => {
  const model = loadModel('tests/fixtures/attack');
  const shelf = model.types.get('Shelf') as RecordType;
  const validate = createValidators(model)(shelf).create(shelf.defaultVariant);
  const ITEMS = 200;
  const validated = (item: JsonObject): Steps<readonly Fault[]> =>
    validate(
      Array.from({ length: ITEMS }, (_, index) => ({ body: item, pointer: `/${index}`, identifier: undefined })),
    );
  const nested = { name: 1, memos: [{}, { id: 0 }, { id: 7, text: 'a' }, { id: 7, text: 'b' }], items: [{ text: 1 }] };
  const strange = { code: {}, unknown: 1, items: [{ texts: '' }] };

  test('are found in steps, and those of two arrays by turns are those of each alone', () => {
    const both = [nested, strange].map((item) => ({ steps: validated(item), taken: 0, found: undefined as unknown }));
    while (both.some(({ found }) => found === undefined))
      for (const one of both) {
        const step = one.found === undefined ? one.steps.next() : undefined;
        if (step?.done === true) one.found = step.value;
        one.taken += 1;
      }
    expect(both.map(({ found }) => found)).toEqual([nested, strange].map((item) => finish(validated(item))));
    for (const { taken } of both) expect(taken).toBeGreaterThan(ITEMS / 16);
  });

  test('are told item by item, one for each place', () => {
    const places = finish(validated(nested)).map((fault) => ('pointer' in fault ? fault.pointer : ''));
    expect(new Set(places).size).toBe(places.length);
    const items = places.map((place) => Number(place.split('/')[1]));
    expect(items).toEqual(items.toSorted((a, b) => a - b));
    expect(places.slice(0, 8)).toEqual([
      '/0/name',
      '/0/memos/0/id',
      '/0/memos/1/id',
      '/0/memos/2',
      '/0/memos/2/text',
      '/0/memos/3',
      '/0/memos/3/text',
      '/0/items/0/text',
    ]);
  });
});
