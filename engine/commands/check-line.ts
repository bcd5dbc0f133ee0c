/** A line of an export -> what it says, or everything that is wrong with it. */
import { parseText } from '../http/body.ts';
import { textFault } from '../http/json-fault.ts';
import { escapeStep, type JsonObject } from '../json.ts';
import type { Model, RecordType } from '../model/model.ts';
import { type Fault, Problem } from '../problem.ts';
import type { CheckLine, Line } from '../storage/transfer/lines.ts';
import { readingOf, readMembers, skipValue, takeValue } from '../raw-json.ts';
import { createLineValidator } from '../validation/line-validator.ts';

/** What a line may hold, whatever the service takes in one request: it was written by another one, or in several. */
const LIMITS = { bodyDepth: 1000, bodyKeys: Infinity, bodyItems: Infinity };
/** Characters. In a longer line, nesting alone could fill the memory of the parser. */
const LONG = 1_000_000;

export function lineChecker(model: Model): CheckLine {
  const validate = createLineValidator(model);
  const kept = new Map([...model.types.values()].map((type) => [type.name, keptBy(type)]));
  return (text) => {
    const parsed = parse(text, 'The line');
    if ('faults' in parsed) return parsed;
    const { object } = parsed;
    const faults = validate(object);
    const openFaults = faults.length === 0 ? faultsOfOpen(model, object) : [];
    if (faults.length + openFaults.length > 0) return { faults: [...faults, ...openFaults] };
    const texts = typeof object['type'] === 'string' ? textsIn(text, kept.get(object['type'])) : NO_TEXTS;
    // The validator has seen that it is one.
    return { line: { ...object, texts } as unknown as Line };
  };
}

const NO_TEXTS: ReadonlyMap<string, string> = new Map();

const keptBy = ({ fields }: RecordType): ReadonlySet<string> =>
  new Set([...fields.values()].filter(({ type }) => type.keepsText).map(({ name }) => name));

/** The texts of these fields, as the line has them. */
function textsIn(line: string, kept: ReadonlySet<string> | undefined): ReadonlyMap<string, string> {
  if (!kept || kept.size === 0) return NO_TEXTS;
  const texts = new Map<string, string>();
  const reading = readingOf(line);
  const readField = (name: string): void => {
    if (kept.has(name)) texts.set(name, takeValue(reading));
    else skipValue(reading);
  };
  readMembers(reading, (key) => (key === 'fields' ? readMembers(reading, readField) : skipValue(reading)));
  return texts;
}

/** What is kept is the text: a number in it may be too large for JavaScript. Where numbers are kept, the validator says it. */
const isFault = ({ code }: Fault): boolean => code !== 'number-range';

type Parsed = { readonly object: JsonObject } | { readonly faults: readonly Fault[] };

function parse(text: string, what: string): Parsed {
  const fault = text.length > LONG ? textFault(text, LIMITS.bodyDepth) : undefined;
  if (fault) return { faults: [{ ...inLine(fault), code: 'invalid-json' }] };
  try {
    return { object: parseText(text, LIMITS, isFault, what) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { faults: error.errors.map(inLine) };
  }
}

/** The text is one line, and the report says which. */
const inLine = <F extends { readonly message: string }>(fault: F): F => ({
  ...fault,
  message: fault.message.replace(/, at line 1, (column \d+)$/, ', at $1'),
});

/** Keys that no field names stand in a line as the text that the database keeps. */
function faultsOfOpen({ types }: Model, line: JsonObject): readonly Fault[] {
  const { type: name, open: text } = line;
  const type = types.get(String(name));
  if (typeof text !== 'string' || type === undefined) return [];
  const parsed = parse(text, 'The text');
  if ('faults' in parsed)
    return parsed.faults.map((fault) => ({ ...fault, pointer: `/open${'pointer' in fault ? fault.pointer : ''}` }));
  return Object.keys(parsed.object)
    .filter((key) => isNamed(type, key))
    .map((key) => ({
      pointer: `/open/${escapeStep(key)}`,
      code: 'known-key',
      message: `"${key}" is a name of the descriptor, and no key beside its names`,
    }));
}

const isNamed = ({ fields, relations, identifier }: RecordType, key: string): boolean =>
  fields.has(key) || relations.has(key) || (identifier.inRecord && identifier.name === key);
