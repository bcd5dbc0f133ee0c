/** Who is measured: how each is started, and how it is asked. */
import { join } from 'node:path';
import type { DialectName } from './dialects.ts';
import { NODE_OPTIONS } from './node-options.ts';

export type DatabaseName = 'sqlite' | 'postgres';

export interface Contender {
  readonly name: string;
  readonly description: string;
  readonly database: DatabaseName;
  readonly dialect: DialectName;
  /** What node is started with. */
  readonly program: string;
  /** Of Node.js. */
  readonly options?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Whether it may use every core; otherwise all servers share one. */
  readonly allCores?: boolean;
  /** Whether it tells totals of lists, and where it has made a record. */
  readonly headers?: boolean;
}

/** The root of the project: npm starts its scripts there. */
export const ROOT = process.cwd();
export const SCHEMA = join(ROOT, 'bench', 'schema');

export const engine: Contender = {
  name: 'engine',
  description: 'this engine, as npm start runs it',
  database: 'sqlite',
  dialect: 'engine',
  program: join(__dirname, '..', 'server.js'),
  options: NODE_OPTIONS,
  environment: { SCHEMA_DIR: SCHEMA },
  headers: true,
};

const byHand = (name: string, description: string, database: DatabaseName = 'sqlite'): Contender => ({
  name,
  description,
  database,
  dialect: 'plain',
  program: join(__dirname, 'hand', `${name}.js`),
  environment: { NODE_ENV: 'production' },
});

export const handWritten: readonly Contender[] = [
  byHand('node', 'node:http and better-sqlite3, by hand'),
  byHand('fastify', 'Fastify 5 and better-sqlite3, by hand, with schemas'),
  byHand('express', 'Express 5 and better-sqlite3, by hand'),
];

const peer = (name: string, description: string, dialect: DialectName): Contender => ({
  name,
  description,
  database: 'sqlite',
  dialect,
  program: join(ROOT, 'bench', 'peers', `${name}.mjs`),
  environment: { NODE_ENV: 'production' },
});

/** They need `npm ci` in bench/peers. */
export const peers: readonly Contender[] = [
  peer('json-server', 'json-server 0.17, a JSON file', 'jsonServer'),
  peer('feathers', 'Feathers 5, Knex and better-sqlite3', 'feathers'),
  peer('soul', 'soul, Express and better-sqlite3, generic', 'soul'),
];

export const enginePostgres: Contender = {
  ...engine,
  name: 'engine-postgres',
  description: 'this engine on PostgreSQL',
  database: 'postgres',
};

/** They need a PostgreSQL server. */
export const onPostgres: readonly Contender[] = [
  enginePostgres,
  { ...byHand('fastify-postgres', 'Fastify 5 and pg, by hand, with schemas', 'postgres'), headers: true },
];

/** Measured where they are asked for. */
export const inWorkers: readonly Contender[] = [
  {
    ...enginePostgres,
    name: 'engine-workers',
    description: 'this engine on PostgreSQL, in two workers',
    environment: { ...engine.environment, WORKERS: '2' },
  },
  {
    ...enginePostgres,
    name: 'engine-all-cores',
    description: 'this engine on PostgreSQL, in two workers on all cores',
    environment: { ...engine.environment, WORKERS: '2' },
    allCores: true,
  },
];

export const contenders: readonly Contender[] = [engine, ...handWritten, ...onPostgres, ...inWorkers, ...peers];
