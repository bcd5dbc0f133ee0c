/** One file against the grammar: the errors of Ajv, each mistake once, said for people. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { createAjv } from '../ajv.ts';
import { isObject, type JsonValue, pointer, unescapedSteps } from '../json.ts';
import { nearest } from '../names.ts';
import type { Descriptor } from './descriptor.ts';
import { displaced } from './displaced.ts';
import type { Finding } from './finding.ts';
import { explain, type GrammarFinding } from './grammar-messages.ts';
import { grammar } from './grammar.ts';
import type { Path } from './source.ts';
import { textFaults } from './texts.ts';

/** A file with more errors than this is something else than a descriptor. */
const MAX_ERRORS = 1_000;

let compiled: ValidateFunction<Descriptor> | undefined;

function compile(): ValidateFunction<Descriptor> {
  // Compiled at each start, and run a few times: what optimized code would save, its making would cost.
  const ajv = createAjv({ verbose: true, code: { optimize: false } });
  for (const [name, fault] of Object.entries(textFaults))
    ajv.addFormat(name, (text: string) => fault(text) === undefined);
  return ajv.compile<Descriptor>(grammar);
}

export interface Checked {
  /** undefined where there are findings. */
  readonly descriptor: Descriptor | undefined;
  readonly findings: readonly Finding[];
}

export function checkGrammar(value: JsonValue): Checked {
  compiled ??= compile();
  if (compiled(value)) return { descriptor: value, findings: [] };
  const errors = (compiled.errors ?? []).slice(0, MAX_ERRORS);
  const findings = errors.flatMap((error) => explain(error, pathOf(error, value)) ?? []);
  return { descriptor: undefined, findings: withoutEchoes(withDisplaced(findings, value)) };
}

/** A member that stands in the wrong section is said to, and nothing else is said of it. */
function withDisplaced(findings: readonly GrammarFinding[], value: JsonValue): readonly GrammarFinding[] {
  const strangers = displaced(value);
  const paths = new Set(strangers.map(({ path }) => pointer(path)));
  return [...strangers, ...findings.filter(({ path }) => !paths.has(pointer(path.slice(0, 2))))];
}

/** The steps of an `instancePath`, with the indices of lists as numbers. */
function pathOf({ instancePath }: ErrorObject, value: JsonValue): Path {
  const path: (string | number)[] = [];
  let node: unknown = value;
  for (const name of unescapedSteps(instancePath)) {
    path.push(Array.isArray(node) ? Number(name) : name);
    node = Array.isArray(node)
      ? node[Number(name)]
      : isObject(node) && Object.hasOwn(node, name)
        ? node[name]
        : undefined;
  }
  return path;
}

/** One place has one fault; and a key that is missing because it is misspelt is only misspelt. */
function withoutEchoes(findings: readonly GrammarFinding[]): readonly Finding[] {
  const first = new Map<string, GrammarFinding>();
  const unknown = new Map<string, string[]>();
  for (const one of findings) {
    const place = JSON.stringify([one.path, one.at, one.missing]);
    if (!first.has(place)) first.set(place, one);
    if (one.code !== 'unknown-key') continue;
    const parent = JSON.stringify(one.path.slice(0, -1));
    unknown.set(parent, [...(unknown.get(parent) ?? []), String(one.path.at(-1))]);
  }
  return [...first.values()].filter(
    ({ missing, path }) => !missing || !nearest(missing, unknown.get(JSON.stringify(path)) ?? []),
  );
}
