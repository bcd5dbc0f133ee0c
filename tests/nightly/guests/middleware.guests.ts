/** Behind each middleware, in Express 4 and 5, the engine gives the same responses as alone. */
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { alone, answersOf } from '../../support/guest.ts';

/** Packages of several versions, some without types. */
type Middleware = (...given: readonly unknown[]) => void;
type Make = (name: string) => readonly Middleware[];

// oxlint-disable-next-line typescript/no-require-imports
const load = <T = (...options: readonly unknown[]) => Middleware>(name: string): T => require(name) as T;

const withOptions =
  (...options: readonly unknown[]): Make =>
  (name) => [load(name)(...options)];

const SECRET = { secret: 'x', resave: true, saveUninitialized: true };
const LIMIT = { windowMs: 60_000, max: 1000 };
const DELAY = { windowMs: 60_000, delayAfter: 1000 };
const silent = { write: (): boolean => true };

/** By package; a version behind the name is one of the aliases in package.json. */
const MIDDLEWARE: Readonly<Record<string, Make>> = {
  'body-parser': (name) => [load<{ raw(options: object): Middleware }>(name).raw({ type: '*/*' })],
  'body-parser-1': (name) => [load<{ text(options: object): Middleware }>(name).text({ type: '*/*' })],
  compression: withOptions(),
  'compression-1.6': withOptions({ threshold: 0 }),
  'compression-1.7': withOptions(),
  'connect-timeout': withOptions('60s'),
  'connect-timeout-1.8': withOptions('60s'),
  'cookie-parser': withOptions('x'),
  'cookie-session': withOptions({ keys: ['x'] }),
  'cookie-session-1': (name) =>
    [
      load(name)({ keys: ['x'] }),
      ({ session }: { session: Record<string, unknown> }, _: unknown, next: () => void) => {
        session['seen'] = true;
        next();
      },
    ] as unknown as readonly Middleware[],
  cors: withOptions({ origin: 'https://shop.example', preflightContinue: true }),
  'express-fileupload': withOptions(),
  'express-prom-bundle': (name) => [load(name)({ promRegistry: new (load<Prom>('prom-client').Registry)() })],
  'express-rate-limit': withOptions(LIMIT),
  'express-rate-limit-5': withOptions(LIMIT),
  'express-session': withOptions(SECRET),
  'express-session-1.15': withOptions(SECRET),
  'express-session-1.17': withOptions({ ...SECRET, rolling: true }),
  'express-slow-down': withOptions({ ...DELAY, delayMs: () => 1 }),
  'express-slow-down-1': withOptions(DELAY),
  helmet: withOptions(),
  'helmet-3': withOptions(),
  hpp: withOptions(),
  'method-override': withOptions(),
  'method-override-2': withOptions(),
  morgan: withOptions(':status :res[content-type] :res[content-length] :response-time', { stream: silent }),
  'morgan-1.9': withOptions('combined', { stream: silent }),
  multer: (name) => [load<() => { any(): Middleware }>(name)().any()],
  'multer-1': (name) => [load<() => { any(): Middleware }>(name)().any()],
  nocache: withOptions(),
  'nocache-2': withOptions(),
  passport: (name) => [
    load(`express-session`)(SECRET),
    load<Passport>(name).initialize(),
    load<Passport>(name).session(),
  ],
  'passport-0.4': (name) => [
    load('express-session-1.17')(SECRET),
    load<Passport>(name).initialize(),
    load<Passport>(name).session(),
  ],
  'pino-http': withOptions({ level: 'silent' }),
  'pino-http-5': withOptions({ level: 'silent' }),
  'response-time': withOptions(),
  'response-time-2.3.2': withOptions(),
  'serve-favicon': withOptions(Buffer.from('icon')),
  'serve-static': withOptions(join(__dirname, 'nowhere')),
  'serve-static-1': withOptions(join(__dirname, 'nowhere')),
};

interface Prom {
  readonly Registry: new () => object;
}

interface Passport {
  initialize(): Middleware;
  session(): Middleware;
}

interface App {
  use(...middleware: readonly unknown[]): App & RequestListener;
}

const EXPRESS = ['express-4', 'express'] as const;
const expected = answersOf(alone);

describe.each(EXPRESS)('%s', (version) => {
  const express = load<() => App>(version);
  const names = Object.keys(MIDDLEWARE);
  test.each(names)('%s', async (name) => {
    const middleware = MIDDLEWARE[name]?.(name) ?? [];
    const answers = await answersOf(({ pages, mcp, handler }) => express().use(...middleware, pages, mcp, handler));
    expect(answers).toEqual(await expected);
  });

  test('several that wrap the response, at once', async () => {
    const wrapping = ['morgan', 'response-time', 'express-session', 'compression-1.7', 'connect-timeout'];
    const middleware = wrapping.flatMap((name) => MIDDLEWARE[name]?.(name) ?? []);
    const answers = await answersOf(({ pages, mcp, handler }) =>
      express().use(...middleware, load('errorhandler')(), pages, mcp, handler),
    );
    expect(answers).toEqual(await expected);
  });
});
