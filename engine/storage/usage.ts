/** How connections to a database server are used. */
export type Purpose = 'read' | 'scan' | 'write' | 'stream';
export type OnWait = (purpose: Purpose, milliseconds: number) => void;

export interface PoolUsage {
  /** Connections that there may be. */
  readonly most: number;
  readonly used: number;
  readonly idle: number;
}

export interface DatabaseUsage {
  readonly pools: Readonly<Record<'requests' | 'streams', PoolUsage>>;
  /** Requests that wait for a connection. */
  readonly waiting: Readonly<Record<Purpose, number>>;
}

export interface ServerUsage extends DatabaseUsage {
  /** `primary`, or `replica-1` and so on, in the order of READ_URL. */
  readonly server: string;
}

/** Empty for a driver without a server. */
export function usageOf(server: string, driver: { readonly usage?: () => DatabaseUsage }): readonly ServerUsage[] {
  const usage = driver.usage?.();
  return usage ? [{ server, ...usage }] : [];
}
