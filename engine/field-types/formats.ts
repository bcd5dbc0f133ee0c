/** Formats of strings: checks by their standards, in linear time, and samples by seed. */
import { isIPv4, isIPv6 } from 'node:net';

interface Format {
  isValid(text: string): boolean;
  good(seed: number): string;
}

const LABEL = '[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?';
const ATOM = "[a-z\\d!#$%&'*+/=?^_`{|}~-]+";
const HOSTNAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`, 'i');
const EMAIL = new RegExp(`^${ATOM}(?:\\.${ATOM})*@${LABEL}(?:\\.${LABEL})+$`, 'i');
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const isIPv6Address = (text: string): boolean => isIPv6(text) && !text.includes('%');

// RFC 3986, appendix A. `%` starts an escape, which BAD_ESCAPE checks.
const NAME = "[\\w.~!$&'()*+,;=%-]";
const USER = "[\\w.~!$&'()*+,;=%:-]";
const PATH = "[\\w.~!$&'()*+,;=%:@-]";
const QUERY = "[\\w.~!$&'()*+,;=%:@/?-]";
const AUTHORITY = `//(?:${USER}*@)?(?:\\[(?<address>[^\\[\\]]*)\\]|${NAME}*)(?::\\d*)?(?:/${PATH}*)*`;
const ABSOLUTE = `/(?:${PATH}+(?:/${PATH}*)*)?`;
const TAIL = `(?:\\?${QUERY}*)?(?:#${QUERY}*)?`;
const URI = new RegExp(`^[a-z][a-z\\d+.-]*:(?:${AUTHORITY}|${ABSOLUTE}|${PATH}+(?:/${PATH}*)*)?${TAIL}$`, 'i');
const RELATIVE = new RegExp(`^(?:${AUTHORITY}|${ABSOLUTE}|(?:${NAME}|@)+(?:/${PATH}*)*)?${TAIL}$`, 'i');
const BAD_ESCAPE = /%(?![\da-f]{2})/i;
const LATER_ADDRESS = /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i;

function follows(grammar: RegExp, text: string): boolean {
  const found = grammar.exec(text);
  if (!found || BAD_ESCAPE.test(text)) return false;
  const address = found.groups?.['address'];
  return address === undefined || isIPv6Address(address) || LATER_ADDRESS.test(address);
}

export const formats: Readonly<Record<string, Format>> = {
  email: { isValid: (text) => EMAIL.test(text), good: (seed) => `sample-${seed}@example.com` },
  uri: { isValid: (text) => follows(URI, text), good: (seed) => `https://example.com/${seed}` },
  'uri-reference': {
    isValid: (text) => follows(URI, text) || follows(RELATIVE, text),
    good: (seed) => `/sample/${seed}`,
  },
  hostname: {
    isValid: (text) => text.length <= 253 && HOSTNAME.test(text),
    good: (seed) => `host-${seed}.example.com`,
  },
  ipv4: { isValid: isIPv4, good: (seed) => `192.0.2.${seed % 256}` },
  ipv6: { isValid: isIPv6Address, good: (seed) => `2001:db8::${(seed % 65_536).toString(16)}` },
  uuid: {
    isValid: (text) => UUID.test(text),
    good: (seed) => `00000000-0000-4000-8000-${(seed % 2 ** 48).toString(16).padStart(12, '0')}`,
  },
};
