/** The part of the package `compression` that is used; it has no types of its own. */
declare module 'compression' {
  import type { RequestHandler } from 'express';

  export default function compression(options: { filter(): boolean }): RequestHandler;
}
