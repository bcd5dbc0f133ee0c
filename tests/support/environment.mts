/**
 * Jest's testEnvironment. The test files of a worker share one context, the engine as `globalSetup` has built it, and
 * all packages. Jest's own environment gives each file a context and loads everything into it again: a fifth of the
 * time of all tests. What a file and its helpers in tests/ keep in variables is still its own.
 */
import fs, { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import vm, { type CompileFunctionOptions, type Context } from 'node:vm';
import type { Circus } from '@jest/types';
import type { JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

type Require = (name: string) => unknown;

declare global {
  /** How a file requires: what is in tests/ through Jest, and all else from Node.js. */
  var sharedRequire: ((ofJest: Require, file: string) => Require) | undefined;
}

const ENGINE = resolve('engine') + sep;

globalThis.sharedRequire = (ofJest, file) => {
  const ofNode = createRequire(file);
  return (name) => {
    if (name.startsWith('@jest/')) return ofJest(name);
    if (!name.startsWith('.')) return ofNode(name);
    const path = resolve(dirname(file), name);
    return path.startsWith(ENGINE) && path.endsWith('.ts') ? ofNode(compiled(path)) : ofJest(name);
  };
};

function compiled(source: string): string {
  const { TEST_BUILD: build, TEST_BUILD_FAULT: fault } = process.env;
  if (build === undefined) throw new Error(fault ?? 'nothing is built: this configuration has no `globalSetup`');
  return join(resolve(build), relative('.', source).replace(/\.ts$/, '.js'));
}

/** Stands for the context of the process, which has no object of its own. */
const OWN_CONTEXT: Context = Object.freeze({});
const { compileFunction } = vm;

vm.compileFunction = (code, names, { parsingContext, ...options }: CompileFunctionOptions = {}) =>
  compileFunction(code, names, {
    ...options,
    ...(parsingContext && parsingContext !== OWN_CONTEXT ? { parsingContext } : {}),
  });

/** What services in this process have logged since the test began: shown if it fails. */
let logged: string[] = [];
const { writeSync } = fs;

fs.writeSync = ((file: number, data: string | NodeJS.ArrayBufferView, ...rest: readonly []) => {
  if (file !== 2 || typeof data !== 'string' || !data.startsWith('{"level"'))
    return writeSync(file, data as string, ...rest);
  logged.push(data);
  return Buffer.byteLength(data);
}) as typeof fs.writeSync;

const { exit } = process;

export default class SharedEnvironment implements JestEnvironment {
  readonly global = globalThis as unknown as JestEnvironment['global'];
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly moduleMocker = new ModuleMocker(globalThis);
  /** What a file makes in `tmpdir()` goes with it. */
  readonly #temporary = mkdtempSync(join(tmpdir(), 'test-'));
  readonly #before = {
    names: new Set(Reflect.ownKeys(globalThis)),
    console,
    environment: process.env,
    variables: { ...process.env },
  };

  constructor({ projectConfig }: JestEnvironmentConfig) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  /** Jest has every error keep a hundred lines of its stack: costly, where each refused request is one. */
  async setup(): Promise<void> {
    Error.stackTraceLimit = 10;
    // Servers of PostgreSQL run as another user, who must get into it.
    chmodSync(this.#temporary, 0o755);
    process.env['TMPDIR'] = this.#temporary;
  }

  /** Takes back what Jest and the file have done to the process. */
  async teardown(): Promise<void> {
    const { names, console: printing, environment, variables } = this.#before;
    rmSync(this.#temporary, { recursive: true, force: true, maxRetries: 5 });
    this.fakeTimersModern.dispose();
    for (const name of Reflect.ownKeys(globalThis)) if (!names.has(name)) Reflect.deleteProperty(globalThis, name);
    globalThis.console = printing;
    for (const name of Object.keys(environment)) if (!(name in variables)) delete environment[name];
    process.env = Object.assign(environment, variables);
    process.exit = exit;
    process.exitCode = undefined;
  }

  handleTestEvent(event: Circus.Event): void {
    const isFailed =
      event.name === 'hook_failure' ||
      event.name === 'error' ||
      (event.name === 'test_done' && event.test.errors.length > 0);
    if (isFailed) writeSync(2, logged.join(''));
    if (isFailed || event.name === 'test_done') logged = [];
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  getVmContext(): Context {
    return OWN_CONTEXT;
  }
}
