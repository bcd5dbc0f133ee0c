/** How the values of settings are written, and of the parameters of URLs. */

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
