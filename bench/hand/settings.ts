/** What the servers by hand are told, and how they say where they listen. */
import type { AddressInfo } from 'node:net';

interface Settings {
  readonly port: number;
  /** Of the database. */
  readonly url: string;
  /** Of an SQLite database. */
  readonly file: string;
}

export function settings(): Settings {
  const url = process.env['DATABASE_URL'] ?? '';
  return { port: Number(process.env['PORT'] ?? 0), url, file: url.replace(/^sqlite:/, '') };
}

export function announce(address: AddressInfo | string | null): void {
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  console.log(`listening at http://127.0.0.1:${address.port}`);
}
