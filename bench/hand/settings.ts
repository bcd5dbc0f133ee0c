/** What the servers by hand are told, and how they say where they listen. */
import type { AddressInfo } from 'node:net';

export const settings = (): { readonly port: number; readonly file: string } => ({
  port: Number(process.env['PORT'] ?? 0),
  file: (process.env['DATABASE_URL'] ?? '').replace(/^sqlite:/, ''),
});

export function announce(address: AddressInfo | string | null): void {
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  console.log(`listening at http://127.0.0.1:${address.port}`);
}
