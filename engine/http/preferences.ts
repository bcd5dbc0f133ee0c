/** `Prefer` (RFC 7240): what a client would like, and which of it was done. */
export interface Preferences {
  /** `return=minimal`: a write answers no record. */
  readonly minimal: boolean;
  /** `count=none`: a list is not counted. */
  readonly uncounted: boolean;
  /** Headers that say which preferences were followed. */
  readonly applied: Readonly<Record<string, string>>;
}

type Header = string | readonly string[] | undefined;

const NONE: Preferences = Object.freeze({ minimal: false, uncounted: false, applied: Object.freeze({}) });

/** Of the preferences that an operation knows, the first of each name counts; others are for somebody else. */
function preferences(header: Header, known: readonly string[]): Preferences {
  if (header === undefined) return NONE;
  const wanted = new Map(String(header).split(',').map(preference).toReversed());
  const applied = known.filter((name) => VALUES[name]?.includes(wanted.get(name) ?? ''));
  return {
    minimal: applied.includes('return') && wanted.get('return') === 'minimal',
    uncounted: applied.includes('count') && wanted.get('count') === 'none',
    applied:
      applied.length === 0
        ? {}
        : { 'Preference-Applied': applied.map((name) => `${name}=${wanted.get(name)}`).join(', ') },
  };
}

const VALUES: Readonly<Record<string, readonly string[]>> = {
  return: ['minimal', 'representation'],
  count: ['none', 'exact'],
};

export const writePreferences = (header: Header): Preferences => preferences(header, ['return']);
export const listPreferences = (header: Header): Preferences => preferences(header, ['count']);

function preference(text: string): readonly [string, string] {
  const [name = '', value = ''] = (text.split(';', 1)[0] ?? '').split('=');
  return [name.trim().toLowerCase(), value.trim().replaceAll('"', '').toLowerCase()];
}
