/** What descriptors do not say about a service: how it is set up, and who may use it. */
import { AUTO_RATE, type Settings } from '../settings.ts';

/** The settings that requests can observe. */
const TOLD = [
  'bodyLimit',
  'bodyKeys',
  'bodyItems',
  'bodyDepth',
  'batchLimit',
  'writeRows',
  'urlLimit',
  'headerLimit',
  'rateLimit',
  'requestTimeout',
  'corsOrigins',
  'dialects',
] as const satisfies readonly (keyof Settings)[];

/** What is undefined is unknown, and no case depends on it. */
export type Deployment = Partial<Pick<Settings, (typeof TOLD)[number]>> & {
  /** Whether requests need a token. */
  readonly guarded?: boolean;
  /** Whether the replay has a token that may read everything and write nothing. */
  readonly hasReader?: boolean;
  /** Whether it only answers requests for the names of its machine. */
  readonly refusesHosts?: boolean;
  /** There is no proxy in front, and this is a whole service rather than records inside another app. */
  readonly direct?: boolean;
};

/** Only the descriptors are known. */
export const ANYWHERE: Deployment = {};

const hasTokens = ({ tokens, tokensFile }: Settings): boolean => tokens !== '' || tokensFile !== '';

/** A service that is started with these settings, without a proxy. Its address decides which rate `auto` is. */
export function deploymentOf(settings: Settings, guarded = hasTokens(settings)): Deployment {
  const told = TOLD.map((name) => [name, settings[name]] as const).filter(([, value]) => value !== AUTO_RATE);
  return {
    ...Object.fromEntries(told),
    guarded,
    refusesHosts: settings.allowedHosts.length === 0 ? !guarded : !settings.allowedHosts.includes('*'),
    direct: true,
  };
}
