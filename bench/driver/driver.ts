/** The driver as the measuring process sees it. */
import { join } from 'node:path';
import { type Assistant, startAssistant } from './assistant.ts';
import type { Job, Outcome } from './job.ts';

export type Driver = Assistant<Job, Outcome>;

export const startDriver = (core: number, niceness = 0): Driver =>
  startAssistant(join(__dirname, 'worker.js'), core, niceness);
