/** This engine, except that whatever it does costs twice as much: what the gate must find. `bench -- gate --subject dist/bench/gate/twice.js` */
import { Server } from 'node:http';

const { emit } = Server.prototype;

/** Microseconds of CPU that were spent for nothing. */
let wasted = 0;

const spent = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** As much again as has been spent for something. */
function waste(): void {
  const before = spent();
  const end = 2 * (before - wasted);
  while (spent() < end);
  wasted += spent() - before;
}

Server.prototype.emit = function (this: Server, event: string, ...rest: unknown[]): boolean {
  if (event === 'request') waste();
  return Reflect.apply(emit, this, [event, ...rest]) as boolean;
};

void import('../../server.ts');
