/** Parsers for the values of settings, and for the parameters of database URLs. */
import { isIP } from 'node:net';

interface SettingValue<T> {
  /** Completes "expected …". */
  readonly expected: string;
  /** Returns undefined if the text is not valid. */
  parse(text: string): T | undefined;
}

const MAX_SECONDS = 86_400;

export function oneOf<T extends string>(words: readonly T[]): SettingValue<T> {
  return {
    expected: `one of ${words.join(', ')}`,
    parse: (text) => words.find((word) => word === text),
  };
}

/** Words separated by commas, `all` or `none`. */
export function someOf<T extends string>(words: readonly T[]): SettingValue<readonly T[]> {
  return {
    expected: `all, none, or some of ${words.join(', ')}, separated by commas`,
    parse: (text) => {
      if (text === 'all') return words;
      const found = text === 'none' ? [] : text.split(',').map((one) => words.find((word) => word === one.trim()));
      return found.every((word) => word !== undefined) ? found : undefined;
    },
  };
}

export function onOrOff(): SettingValue<boolean> {
  const values: ReadonlyMap<string, boolean> = new Map([
    ['on', true],
    ['off', false],
  ]);
  return { expected: 'on or off', parse: (text) => values.get(text) };
}

export function wholeNumber(minimum: number, maximum: number): SettingValue<number> {
  return {
    expected: `an integer from ${minimum} to ${maximum}`,
    parse: (text) => {
      const value = Number(text);
      return /^\d+$/.test(text) && value >= minimum && value <= maximum ? value : undefined;
    },
  };
}

export function seconds(minimum = 0): SettingValue<number> {
  return {
    expected: `seconds from ${minimum} to ${MAX_SECONDS}`,
    parse: (text) => {
      const value = Number(text);
      return /^\d+(\.\d+)?$/.test(text) && value >= minimum && value <= MAX_SECONDS ? value * 1000 : undefined;
    },
  };
}

/** Only signs that stand in headers and pages as they are. */
const PUBLIC_URL = /^https?:\/\/[^\s/?#@]+(?:\/[\w.~!$&'()*+,;=:@%-]+)*\/?$/i;

/** Without a slash at the end. */
export function publicUrlOf(text: string): string | undefined {
  const url = PUBLIC_URL.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url && url.origin + url.pathname.replace(/\/$/, '');
}

const HOST_NAME = /^(\*|[\p{L}\p{N}_.-]+)$/u;

/** An empty list means `auto`, which is resolved once it is known whether there are tokens. */
export function hostsOf(text: string): readonly string[] | undefined {
  if (text === 'auto') return [];
  const hosts = text.split(',').map((host) => host.trim());
  return hosts.every((host) => HOST_NAME.test(host)) ? hosts : undefined;
}

const ORIGIN = /^https?:\/\/[^\s/,*]+$/;

export function originsOf(text: string): readonly string[] | undefined {
  if (text === 'none') return [];
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => origin === '*' || ORIGIN.test(origin)) ? origins : undefined;
}

/** `10.0.0.7` or `10.0.0.0/8`. undefined if one is neither. */
export function networksOf(text: string): readonly string[] | undefined {
  const networks = text.split(',').map((one) => one.trim());
  return networks.every(isNetwork) ? networks : undefined;
}

function isNetwork(text: string): boolean {
  const [address = '', length, ...more] = text.split('/');
  const most = isIP(address) === 6 ? 128 : 32;
  return (
    isIP(address) > 0 &&
    more.length === 0 &&
    (length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= most))
  );
}
