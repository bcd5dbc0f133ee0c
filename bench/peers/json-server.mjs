/** json-server with the file that its command would be given: the rows of the database as JSON. */
import { writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import jsonServer from 'json-server';
import { announce, file, port } from './database.mjs';

const database = new Database(file, { readonly: true });
const items = database.prepare('select * from items order by id').all();
database.close();

const records = `${file}.json`;
writeFileSync(records, JSON.stringify({ items: items.map((item) => ({ ...item, active: item.active === 1 })) }));

const app = jsonServer.create();
app.use(jsonServer.defaults({ logger: false }));
app.use(jsonServer.router(records));
const server = app.listen(port, '127.0.0.1', () => announce(server));
