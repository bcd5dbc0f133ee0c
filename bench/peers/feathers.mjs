/** Feathers as its generator sets it up: Express, a Knex service for the table, pages of 20. */
import express, { json, rest, urlencoded } from '@feathersjs/express';
import { feathers } from '@feathersjs/feathers';
import { KnexService } from '@feathersjs/knex';
import createKnex from 'knex';
import { announce, file, port } from './database.mjs';

const Model = createKnex({ client: 'better-sqlite3', connection: { filename: file }, useNullAsDefault: true });
await Model.raw('pragma journal_mode = wal');
await Model.raw('pragma synchronous = full');

const app = express(feathers());
app.use(json()).use(urlencoded({ extended: true }));
app.configure(rest());
app.use('items', new KnexService({ Model, name: 'items', paginate: { default: 20, max: 1000 } }));
const server = await app.listen(port, '127.0.0.1');
if (server.listening) announce(server);
else server.once('listening', () => announce(server));
