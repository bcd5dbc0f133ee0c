/** Random roles and writes, against plain loops over all records in memory: the status, and what is stored. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import { createDatabase, databaseKind } from '../support/databases.ts';
import { randomOf } from '../support/random.ts';
import { as, type Service, startService } from './service.ts';

interface Line {
  readonly id: number;
  readonly text: string | null;
  readonly amount: number | null;
}

interface Order {
  readonly id: number;
  readonly number: number;
  readonly state: string;
  readonly note: string | null;
  readonly internal_note: string | null;
  readonly branch: number;
  readonly customer: number | null;
  readonly lines: readonly Line[];
  readonly tags: readonly number[];
}

type Value = JsonValue | readonly number[] | readonly Line[];

/** Customers of odd number are of level 1, others of level 3; tags of odd number are no secret. */
const isLow = (id: number | null): boolean => id !== null && id % 2 === 1;

type Condition<R> = readonly [yaml: string, holds: (record: R) => boolean];
const ORDERS: readonly Condition<Order>[] = [
  ['{ state: open }', ({ state }) => state === 'open'],
  ['{ state: { ne: closed } }', ({ state }) => state !== 'closed'],
  ['{ branch: { claim: branch } }', ({ branch }) => branch === 1],
  ['{ customer.level: { lte: 2 } }', ({ customer }) => isLow(customer)],
  ['{ customer.level: { ne: 1 } }', ({ customer }) => !isLow(customer)],
  ['{ tags: { $count: { gte: 1 } } }', ({ tags }) => tags.length > 0],
  ['{ lines: { $none: { amount: { gt: 5 } } } }', ({ lines }) => lines.every(({ amount }) => (amount ?? 0) <= 5)],
  ['{ $any: [{ note: { null: true } }, { state: paid }] }', ({ note, state }) => note === null || state === 'paid'],
];
const LINES: readonly Condition<Line>[] = [
  ['{ amount: { lte: 5 } }', ({ amount }) => amount !== null && amount <= 5],
  ['{ text: { ne: fixed } }', ({ text }) => text !== 'fixed'],
];

interface Entry<R> {
  readonly where: Condition<R> | undefined;
  readonly to?: Condition<R> | 'all' | undefined;
  readonly members: readonly string[] | undefined;
  readonly set?: JsonObject | undefined;
}

interface Role {
  readonly name: string;
  readonly order: Readonly<Record<'read' | 'create' | 'update' | 'delete', Entry<Order> | undefined>>;
  /** undefined: the role does not name lines. */
  readonly line: Readonly<Record<'read' | 'create' | 'update' | 'delete', Entry<Line> | undefined>> | undefined;
  readonly seesHigh: boolean;
  readonly seesSecret: boolean;
}

const MEMBERS = ['number', 'state', 'note', 'internal_note', 'branch', 'customer', 'lines', 'tags'] as const;
const ACTIONS = ['read', 'create', 'update', 'delete'] as const;

type Random = ReturnType<typeof randomOf>;
const chance = (random: Random, share: number): boolean => random(1000) < share * 1000;
const oneOf = <T>(random: Random, items: readonly T[]): T => items[random(items.length)] as T;
const someOf = <T>(random: Random, items: readonly T[], share: number): readonly T[] =>
  items.filter(() => chance(random, share));

function drawRole(random: Random, name: string): Role {
  const entry = (action: string): Entry<Order> | undefined => {
    if (chance(random, 0.1)) return undefined;
    const where = chance(random, 0.6) ? oneOf(random, ORDERS) : undefined;
    if (action === 'delete') return { where, members: undefined };
    const required = action === 'create' ? ['number', 'branch'] : [];
    const members = chance(random, 0.5) ? [...new Set([...required, ...someOf(random, MEMBERS, 0.7)])] : undefined;
    const to =
      action === 'update' && chance(random, 0.4) ? (chance(random, 0.5) ? 'all' : oneOf(random, ORDERS)) : undefined;
    const set = action !== 'read' && chance(random, 0.3) ? { note: 'set' } : undefined;
    return { where, to, members, set };
  };
  const lineEntry = (action: string): Entry<Line> | undefined =>
    action !== 'read' && chance(random, 0.15)
      ? undefined
      : { where: chance(random, 0.5) ? oneOf(random, LINES) : undefined, members: undefined };
  return {
    name,
    order: {
      read: {
        where: chance(random, 0.5) ? oneOf(random, ORDERS) : undefined,
        members: chance(random, 0.4) ? someOf(random, MEMBERS, 0.8) : undefined,
      },
      create: entry('create'),
      update: entry('update') ?? { where: undefined, members: undefined },
      delete: entry('delete'),
    },
    line: chance(random, 0.5)
      ? undefined
      : {
          read: lineEntry('read'),
          create: lineEntry('create'),
          update: lineEntry('update'),
          delete: lineEntry('delete'),
        },
    seesHigh: chance(random, 0.5),
    seesSecret: chance(random, 0.5),
  };
}

function yamlOf({ name, order, line, seesHigh, seesSecret }: Role): string {
  const written = (entry: Entry<Order> | Entry<Line> | undefined): string => {
    if (!entry) return 'false';
    const { where, to, members, set } = entry;
    const parts = [
      ...(where ? [`where: ${where[0]}`] : []),
      ...(to ? [`to: ${to === 'all' ? '{}' : to[0]}`] : []),
      ...(members ? [`only: [${members.join(', ')}]`] : []),
      ...(set ? ['set: { note: set }'] : []),
    ];
    return parts.length === 0 ? 'true' : `{ ${parts.join(', ')} }`;
  };
  const sections = ACTIONS.map((action) => {
    const others = `Branch: true, Customer: ${seesHigh ? 'true' : '{ where: { level: { lte: 2 } } }'}, Tag: ${seesSecret ? 'true' : '{ where: { secret: false } }'}`;
    const lines = line ? [`Line: ${written(line[action])}`] : [];
    return `${action}: { ${[`Order: ${written(order[action])}`, ...lines, ...(action === 'read' ? [others] : [])].join(', ')} }`;
  });
  return `role: ${name}\n${sections.join('\n')}\n`;
}

const has = (entry: Entry<Order> | undefined, name: string): boolean =>
  entry !== undefined && (entry.members?.includes(name) ?? true);
const meets = <R>(condition: Condition<R> | 'all' | undefined, record: R): boolean =>
  condition === undefined || condition === 'all' || condition[1](record);

/** Whether values tell it where the write cannot be made: no set does, and no link to a record that is not there. */
const isOfValues = (condition: Condition<Order> | 'all' | undefined, missing: ReadonlySet<string>): boolean =>
  condition !== undefined &&
  condition !== 'all' &&
  !/\b(?:tags|lines)\b/.test(condition[0]) &&
  !(missing.has('customer') && condition[0].includes('customer'));

class Oracle {
  readonly #role: Role;

  constructor(role: Role) {
    this.#role = role;
  }

  sees = (order: Order): boolean => meets(this.#role.order.read?.where, order);
  #shows = (name: string): boolean => has(this.#role.order.read, name);
  #takes = (action: 'create' | 'update', name: string): boolean => {
    const entry = this.#role.order[action];
    return has(entry, name) && !Object.hasOwn(entry?.set ?? {}, name);
  };
  #seesLine = (line: Line): boolean => !this.#role.line || meets(this.#role.line.read?.where, line);
  #seesCustomer = (id: number): boolean => this.#role.seesHigh || isLow(id);
  #seesTag = (id: number): boolean => this.#role.seesSecret || isLow(id);

  /** The status, and the order afterwards. */
  write(before: Order | undefined, body: JsonObject): readonly [status: number, after?: Order] {
    const action = before ? 'update' : 'create';
    const entry = this.#role.order[action];
    if (!entry) return [403];
    const names = Object.keys(body);
    if (names.some((name) => !this.#shows(name) && !this.#takes('create', name) && !this.#takes('update', name)))
      return [422];
    if (before && !this.sees(before)) return [404];
    let [isForbidden, isChanged, isUnmet] = [false, false, false];
    const missing = new Set<string>();
    const blank: Order = {
      id: 0,
      number: 0,
      state: 'open',
      note: null,
      internal_note: null,
      branch: 0,
      customer: null,
      lines: [],
      tags: [],
    };
    const old = before ?? blank;
    const now: Record<string, Value> = { ...old };
    for (const name of names) {
      const isSeen = this.#shows(name);
      const { value, isSame, lost, forbidden, unmet } = this.#given(
        old,
        name,
        body[name] ?? null,
        isSeen,
        before !== undefined,
      );
      const isSet = entry.set && Object.hasOwn(entry.set, name) && value === entry.set[name];
      if (!this.#takes(action, name)) {
        if ((before && !isSeen) || !((isSame && !lost) || isSet)) isForbidden = true;
        if (lost) missing.add(name);
        // Without a change of the set, its records are written all the same.
        if (name !== 'lines' || !isSame) continue;
        if (!this.#role.line && JSON.stringify(value) !== JSON.stringify(old.lines)) isForbidden = true;
      }
      if (lost) missing.add(name);
      if (forbidden) isForbidden = true;
      if (unmet) isUnmet = true;
      // Parts are records of their own.
      if ((!isSame && name !== 'lines') || (before && !isSeen)) isChanged = true;
      now[name] = value;
    }
    if (entry.set && (!before || isChanged)) Object.assign(now, entry.set);
    const after = now as unknown as Order;
    const partsChange = JSON.stringify(old.lines) !== JSON.stringify(after.lines);
    const isTouched = !before || isChanged || (partsChange && !this.#role.line);
    if (before && isTouched && !meets(entry.where, before)) isForbidden = true;
    const end = before ? (entry.to ?? entry.where) : entry.where;
    const isUnlike = isTouched && !meets(end, after);
    if (isForbidden || isUnmet || (isUnlike && (missing.size === 0 || isOfValues(end, missing)))) return [403];
    if (missing.size > 0) return [422];
    if (before) return [this.sees(after) ? 200 : 204, after];
    return [201, after];
  }

  #given(old: Order, name: string, sent: JsonValue, isSeen: boolean, isStored: boolean) {
    const same = { lost: false, forbidden: false, unmet: false };
    if (name === 'lines') return this.#lines(old, sent as readonly JsonObject[]);
    if (name === 'tags') {
      const wanted = (sent as readonly JsonObject[]).map(({ id }) => Number(id));
      const seen = wanted.filter((id) => this.#seesTag(id));
      const value = [...old.tags.filter((id) => !this.#seesTag(id)), ...seen].toSorted((a, b) => a - b);
      return { ...same, value, isSame: value.join() === old.tags.join(), lost: seen.length < wanted.length };
    }
    if (name === 'customer') {
      const value = sent === null ? null : Number((sent as JsonObject)['id']);
      if (value === null && isStored && isSeen && old.customer !== null && !this.#seesCustomer(old.customer))
        return { ...same, value: old.customer, isSame: true };
      const lost = value !== null && !this.#seesCustomer(value);
      return { ...same, value, isSame: value === old.customer && !lost, lost };
    }
    const value = name === 'branch' ? Number((sent as JsonObject)['id']) : sent;
    return { ...same, value, isSame: value === old[name as keyof Order] };
  }

  #lines(old: Order, sent: readonly JsonObject[]) {
    const { line } = this.#role;
    const current = old.lines.filter(this.#seesLine);
    const others = old.lines.filter((one) => !current.includes(one));
    let [lost, forbidden, unmet, isSame] = [false, false, false, true];
    const value: Line[] = [...others];
    for (const one of sent) {
      const id = one['id'] === undefined ? undefined : Number(one['id']);
      const known = old.lines.find((other) => other.id === id);
      if (id !== undefined && (!known || !this.#seesLine(known))) {
        lost = true;
        continue;
      }
      const made = { id: 0, text: null, amount: 1, ...known, ...one, ...(id === undefined ? {} : { id }) } as Line;
      if (known && !current.includes(known)) value.splice(value.indexOf(known), 1);
      value.push(made);
      const isLineSame = known?.text === made.text && known?.amount === made.amount;
      if (!known) isSame = false;
      if (!line || isLineSame) continue;
      const entry = known ? line.update : line.create;
      if (!entry || (known && !meets(entry.where, known))) forbidden = true;
      else if (!meets(entry.where, made)) unmet = true;
    }
    for (const one of current)
      if (!sent.some(({ id }) => id === one.id)) {
        isSame = false;
        if (line && (!line.delete || !meets(line.delete.where, one))) forbidden = true;
      }
    return { value: value.toSorted((a, b) => (a.id || 1e9) - (b.id || 1e9)), isSame, lost, forbidden, unmet };
  }

  remove(order: Order): number {
    const { delete: entry } = this.#role.order;
    if (!entry) return 403;
    if (!this.sees(order)) return 404;
    return meets(entry.where, order) ? 200 : 403;
  }
}

const NOTES = ['a', 'set', null] as const;

function drawBody(random: Random, orders: readonly Order[], order: Order | undefined, next: number): JsonObject {
  const link = (most: number): JsonObject => ({ id: 1 + random(most) });
  const isCopied = order !== undefined && chance(random, 0.3);
  const drawn: JsonObject = {
    number: isCopied ? order.number : next,
    state: isCopied ? order.state : oneOf(random, ['open', 'paid', 'closed']),
    note: isCopied ? order.note : oneOf(random, NOTES),
    internal_note: isCopied ? order.internal_note : oneOf(random, NOTES),
    branch: link(2),
    customer: chance(random, 0.3) ? null : link(4),
    tags: someOf(random, [1, 2, 3, 4], 0.4).map((id) => ({ id })),
    lines: [
      ...someOf(random, order?.lines ?? [], 0.7).map(({ id, text, amount }): JsonObject =>
        chance(random, 0.6)
          ? { id }
          : { id, text: chance(random, 0.5) ? text : 'b', amount: chance(random, 0.5) ? amount : 7 },
      ),
      ...someOf(random, [1, 2], 0.2).map((amount): JsonObject => ({
        text: oneOf(random, ['fixed', 'n']),
        amount: amount * 4,
      })),
      ...(chance(random, 0.05)
        ? [
            {
              id:
                oneOf(
                  random,
                  orders.flatMap((one) => (one === order ? [] : one.lines)),
                )?.id ?? 1,
            },
          ]
        : []),
    ],
  };
  const kept = someOf(random, Object.keys(drawn), order ? 0.3 : 0.4);
  const names = order ? kept : [...new Set(['number', 'branch', ...kept])];
  return Object.fromEntries(names.map((name) => [name, drawn[name] ?? null]));
}

async function compareWrites(
  seed: number,
  size: { readonly roles: number; readonly requests: number },
): Promise<number> {
  const random = randomOf(seed);
  const directory = mkdtempSync(join(tmpdir(), 'roles-'));
  const roles = Array.from({ length: size.roles }, (_, index) => drawRole(random, `role${index}`));
  for (const role of roles) writeFileSync(join(directory, `${role.name}.yaml`), yamlOf(role));
  const database = await createDatabase();
  const service: Service = await startService('tests/fixtures/roles/schema', database, directory);
  try {
    for (const name of ['N', 'S']) await service.engine.records('Branch').create({ name });
    for (const level of [1, 3, 1, 3]) await service.engine.records('Customer').create({ name: 'c', level });
    for (const secret of [false, true, false, true]) await service.engine.records('Tag').create({ word: 't', secret });
    const stored = async (): Promise<readonly Order[]> => {
      const { records } = await service.engine.records<JsonObject>('Order').list();
      return records.map((record) => plainOf(record));
    };
    let next = 1;
    for (; next <= 6; next += 1)
      await service.engine.records('Order').create({
        number: next,
        branch: { id: 1 + (next % 2) },
        customer: next % 3 === 0 ? null : { id: next % 4 || 4 },
        state: oneOf(random, ['open', 'paid', 'closed']),
        lines: [{ text: 'a', amount: next }, { text: 'fixed' }],
        tags: [{ id: 1 + (next % 4) }],
      });
    let compared = 0;
    for (let index = 0; index < size.requests; index += 1) {
      const role = oneOf(random, roles);
      const orders = await stored();
      const order = chance(random, 0.75) ? oneOf(random, orders) : undefined;
      const isRemoval = order !== undefined && orders.length > 3 && chance(random, 0.15);
      next += 1;
      const body = drawBody(random, orders, order, next);
      const oracle = new Oracle(role);
      const [status, after] = isRemoval ? [oracle.remove(order)] : oracle.write(order, body);
      const title = order ? `${isRemoval ? 'DELETE' : 'PATCH'} /api/orders/${order.id}` : 'POST /api/orders';
      const headers = {
        ...as({ name: 'me', role: role.name, claims: { branch: 1 } }),
        ...(isRemoval ? {} : { 'content-type': 'application/json' }),
      };
      const answer = await service.send(title, headers, isRemoval ? undefined : JSON.stringify(body));
      const about = `seed ${seed}, request ${index}: ${title} ${isRemoval ? '' : JSON.stringify(body)}\n${yamlOf(role)}\n${JSON.stringify(order)}\n${answer.text}`;
      expect([answer.status, about]).toEqual([status, about]);
      const now = await stored();
      const expected = orders.flatMap((one) =>
        one !== order || status >= 300 ? [one] : isRemoval ? [] : after ? [after] : [],
      );
      const added = order === undefined && after ? [after] : [];
      expect([comparable(now), about]).toEqual([comparable([...expected, ...added]), about]);
      if (answer.status === 201 && added[0])
        expect([answer.text === '', about]).toEqual([!oracle.sees(added[0]), about]);
      compared += 1;
    }
    return compared;
  } finally {
    await service.close();
    await database.remove();
    rmSync(directory, { recursive: true });
  }
}

const idOf = (value: JsonValue | undefined): number | null =>
  typeof value === 'object' && value !== null ? Number((value as JsonObject)['id']) : null;

function plainOf(record: JsonObject): Order {
  const lines = (record['lines'] as readonly JsonObject[]).map(({ id, text = null, amount = null }) => ({
    id,
    text,
    amount,
  }));
  const tags = (record['tags'] as readonly JsonObject[]).map(({ id }) => Number(id)).toSorted((a, b) => a - b);
  const { id, number, state, note, internal_note } = record;
  return {
    id,
    number,
    state,
    note,
    internal_note,
    branch: idOf(record['branch']),
    customer: idOf(record['customer']),
    lines,
    tags,
  } as unknown as Order;
}

const comparable = (orders: readonly Order[]): readonly string[] =>
  orders
    .map((order) =>
      JSON.stringify({ ...order, id: 0, lines: order.lines.map(({ text, amount }) => `${text} ${amount}`).toSorted() }),
    )
    .toSorted();

/** Statements of PostgreSQL are slower; its second seed says little more. */
test.each(databaseKind === 'sqlite' ? [1, 2] : [1])('seed %i', async (seed) => {
  expect(await compareWrites(seed, { roles: 12, requests: 40 })).toBe(40);
});
