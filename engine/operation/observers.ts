/** Who is told of requests and statements: nobody, where neither log nor metrics want to know. */
import type { Observe } from '../http/observe.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { OnStatement } from '../storage/timed.ts';
import type { Metrics } from './metrics.ts';

export function requestObserver(
  { accessLog }: Pick<Settings, 'accessLog'>,
  log: Log,
  metrics: Metrics | undefined,
): Observe | undefined {
  if (!accessLog) return metrics?.observe;
  return (observed) => {
    metrics?.observe(observed);
    const { label, milliseconds, ...fields } = observed;
    log.info({ ...fields, ...label, milliseconds: Math.round(milliseconds * 1000) / 1000 }, 'request');
  };
}

export function statementObserver(
  { slowStatement }: Pick<Settings, 'slowStatement'>,
  log: Log,
  metrics: Metrics | undefined,
): OnStatement | undefined {
  if (slowStatement === Infinity) return metrics && ((_sql, milliseconds) => metrics.statement(milliseconds));
  return (sql, milliseconds) => {
    metrics?.statement(milliseconds);
    // With places for values, not with values.
    if (milliseconds >= slowStatement) log.warn({ sql, milliseconds: Math.round(milliseconds) }, 'slow statement');
  };
}
