/** The public API: serves records in any Node server. */
import { type Engine, type EngineSettings, startEngine } from './engine.ts';
import { readSettings } from './settings.ts';

export type { Engine, EngineSettings } from './engine.ts';
export type { Handler } from './http/handler.ts';
export { StartError } from './start-error.ts';

/** Settings that are not given have their defaults; the environment is not read. */
export const createEngine = (settings: Partial<EngineSettings> = {}): Promise<Engine> =>
  startEngine({ ...readSettings({}), ...settings });
