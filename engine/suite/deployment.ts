/** What of a service does not follow from its descriptors: how it is set up, and who may use it. */
import { AUTO_RATE, type Settings } from '../settings.ts';

/** The settings that requests can tell, under their own names. */
const TOLD = [
  'bodyLimit',
  'bodyKeys',
  'bodyItems',
  'bodyDepth',
  'writeRows',
  'urlLimit',
  'headerLimit',
  'rateLimit',
  'requestTimeout',
  'corsOrigins',
] as const satisfies readonly (keyof Settings)[];

/** What is undefined is not known, and no case depends on it. */
export type Deployment = Partial<Pick<Settings, (typeof TOLD)[number]>> & {
  /** Whether requests need a token. */
  readonly guarded?: boolean;
  /** Whether the replay has a token that may read everything and write nothing. */
  readonly hasReader?: boolean;
  /** Whether it answers under the names of its machine alone. */
  readonly refusesHosts?: boolean;
  /** Nothing stands between, and what answers is a whole service rather than its records inside of another app. */
  readonly direct?: boolean;
};

/** Nothing is known but what the descriptors say. */
export const ANYWHERE: Deployment = {};

/** A service that is started with these settings, and asked directly. Which rate `auto` is, its address decides. */
export function deploymentOf(settings: Settings): Deployment {
  const told = TOLD.map((name) => [name, settings[name]] as const).filter(([, value]) => value !== AUTO_RATE);
  const guarded = settings.tokens !== '' || settings.tokensFile !== '';
  return {
    ...Object.fromEntries(told),
    guarded,
    refusesHosts: settings.allowedHosts.length === 0 ? !guarded : !settings.allowedHosts.includes('*'),
    direct: true,
  };
}
