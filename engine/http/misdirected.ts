/**
 * Requests for another host. Without tokens, a page of any site could let its own name lead to this machine (DNS
 * rebinding), and read and write as if it were a page of the service.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import { Problem } from '../problem.ts';
import { refuseWith } from './refuse-with.ts';

/** Whether the request was answered, since it is for somebody else. */
export type RefuseMisdirected = (request: IncomingMessage, response: ServerResponse) => boolean;

/** An address, or this machine: no name server decides where these lead. */
const FIXED = /^(?:\[[^\]]+\]|\d{1,3}(?:\.\d{1,3}){3}|(?:.+\.)?localhost)$/;
const MAX_SHOWN = 100;

/** `*` among the names is every one. */
export function createMisdirected(names: readonly string[], log: Log): RefuseMisdirected {
  return names.includes('*') ? () => false : createRefuseOthers(names, log);
}

function createRefuseOthers(names: readonly string[], log: Log): RefuseMisdirected {
  const known = new Set(names.map((name) => name.toLowerCase()));
  /** Clients repeat themselves. */
  let last: string | undefined;
  return (request, response) => {
    const { host } = request.headers;
    // Browsers always say whom they mean.
    if (host === undefined || host === last) return false;
    const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    if (FIXED.test(name) || known.has(name)) {
      last = host;
      return false;
    }
    refuseWith(misdirected(name), request, response, log);
    return true;
  };
}

const misdirected = (name: string): Problem =>
  new Problem(
    'misdirected-request',
    `This service is not called "${name.slice(0, MAX_SHOWN)}"; the setting ALLOWED_HOSTS can say that it is`,
  );
