/** Reads a schema directory: checked descriptors, or every fault of every file. */
import { readdirSync, realpathSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Diagnostic, isError, severities } from '../diagnostic.ts';
import { reasonOf } from '../problem.ts';
import { checkGrammar } from './check-grammar.ts';
import { createTypeSchema, type DescriptorFile, draftOf, type TypeDraft, unreadable, withoutFaults } from './draft.ts';
import { diagnosed, type Finding } from './report.ts';
import { diagnose, diagnoseAt, rangeOf, readDescriptor, type Source, withoutSource } from './source.ts';
import { toJson } from './to-json.ts';
import { checkReachability, checkRelations, checkRequiredCycles } from './checks/relations.ts';
import { checkChecks, checkGenerated } from './checks/rules.ts';
import { checkFields, checkIdentifier, checkSeeds, checkVariants } from './checks/fields.ts';
import {
  checkColumns,
  checkDefaultNames,
  checkMembers,
  checkPresents,
  checkNames,
  checkPaths,
  checkRenames,
  checkTables,
  duplicateTypes,
} from './checks/names.ts';
import type { SchemaCheck, TypeCheck, TypeFinding } from './checks/check.ts';

interface Loaded {
  /** The descriptors, sorted by file name: without faulty parts if there are errors. */
  readonly files: readonly DescriptorFile[];
  readonly diagnostics: readonly Diagnostic[];
}

interface FileReading {
  readonly diagnostics: readonly Diagnostic[];
  /** Faults of numbers, reported if no finding has the same location. */
  readonly numbers: readonly Diagnostic[];
  readonly findings: readonly Finding[];
  /** Empty if not even the name of the type could be read. */
  readonly drafts: readonly TypeDraft[];
}

/** Maximum faults of a file; a message counts the rest. */
const MAX_SHOWN = 100;

export function loadDescriptors(directory: string): Loaded {
  let found: readonly string[] = [];
  let message = 'this directory has no descriptors (*.yaml or *.yml)';
  try {
    found = findDescriptors(directory);
  } catch (error) {
    message = `the schema directory cannot be read: ${reasonOf(error)}; "records init" sets up a new project`;
  }
  if (found.length > 0) return loadFiles(found);
  return { files: [], diagnostics: [diagnose(withoutSource(shownPath(directory)), 'no-schema', [], 'value', message)] };
}

function loadFiles(locations: readonly string[]): Loaded {
  const readings = locations.map(readFile);
  const types = readings.flatMap(({ drafts }) => drafts);
  const allNamed = readings.every(({ drafts }) => drafts.length > 0 && drafts.every(({ name }) => name !== ''));
  // A second file for a type is checked on its own.
  const duplicates = [...duplicateTypes(types.filter(({ name }) => name !== ''))];
  const second = new Set(duplicates.map(([type]) => type));
  const schema = createTypeSchema(
    types.filter((type) => !second.has(type)),
    allNamed,
  );
  const own = types.flatMap((type) =>
    checks.flatMap((check) => [...check(type, schema)]).map((one): TypeFinding => [type, one]),
  );
  const all = [...duplicates, ...own, ...schemaChecks.flatMap((check) => [...check(schema)])];
  const later = Map.groupBy(all, ([type]) => type);
  const errors = new Map<TypeDraft, readonly Finding[]>();
  const diagnostics = readings.flatMap((reading) => {
    const found = [
      ...reading.findings,
      ...reading.drafts.flatMap((type) => later.get(type) ?? []).map(([, one]) => one),
    ];
    const serious = found.filter(({ code }) => severities[code] === 'error');
    if (serious.length > 0) for (const type of reading.drafts) errors.set(type, serious);
    return diagnosticsOf(reading, found);
  });
  return { files: withoutFaults(schema, errors), diagnostics };
}

function readFile(location: string): FileReading {
  const { source, diagnostics } = readDescriptor(shownPath(location), location);
  if (!source) return { diagnostics, numbers: [], findings: [], drafts: [] };
  if (diagnostics.some(isError)) return brokenFile(source, diagnostics);
  const { value, faults } = toJson(source.document);
  const found = (some: typeof faults): readonly Diagnostic[] =>
    some.slice(0, MAX_SHOWN).map(({ code, node, message }) => diagnoseAt(source, code, rangeOf(node), message));
  const findings = checkGrammar(value);
  return {
    diagnostics: [...diagnostics, ...found(faults.filter(({ isNumber }) => !isNumber))],
    numbers: found(faults.filter(({ isNumber }) => isNumber)),
    findings,
    drafts: [draftOf(source, value, findings)],
  };
}

/** Placeholders for the types of a file that is not YAML, so that relations to them are not reported as unknown. */
function brokenFile(source: Source, diagnostics: readonly Diagnostic[]): FileReading {
  const drafts = [...source.text.matchAll(/^type:([^#\n]*)/gm)].flatMap(([, value = '']) => {
    const name = value.replaceAll(/["']/g, '').trim();
    return name === '' ? [] : [unreadable(source, name)];
  });
  return { diagnostics, numbers: [], findings: [], drafts };
}

function diagnosticsOf(
  { diagnostics, numbers, drafts }: FileReading,
  findings: readonly Finding[],
): readonly Diagnostic[] {
  const [draft] = drafts;
  if (!draft) return diagnostics;
  const { where } = draft;
  // A value that is not JSON became null: omits faults of that null.
  const locations = new Set(diagnostics.map(locationOf));
  const own = findings
    .slice(0, MAX_SHOWN)
    .map((one) => diagnosed(where, one))
    .filter((one) => !locations.has(locationOf(one)));
  const reported = new Set(own.map(locationOf));
  const others = numbers.filter((one) => !reported.has(locationOf(one)));
  const first = Map.groupBy(own, (one) => `${locationOf(one)} ${one.code}`);
  const hidden = `this file has ${findings.length - MAX_SHOWN} more faults, which are not shown`;
  const rest = findings
    .slice(MAX_SHOWN, MAX_SHOWN + 1)
    .map(({ path, at }) => diagnose(where, 'too-many-faults', path, at, hidden));
  return [...diagnostics, ...others, ...[...first.values()].flatMap(([one]) => one ?? []), ...rest];
}

const locationOf = ({ line, column }: Diagnostic): string => `${line}:${column}`;

const checks: readonly TypeCheck[] = [
  checkFields,
  checkIdentifier,
  checkGenerated,
  checkMembers,
  checkPresents,
  checkVariants,
  checkSeeds,
  checkChecks,
  checkDefaultNames,
  checkRelations,
];
const schemaChecks: readonly SchemaCheck[] = [
  checkNames,
  checkPaths,
  checkTables,
  checkColumns,
  checkRenames,
  checkRequiredCycles,
  checkReachability,
];

const DESCRIPTOR = /\.ya?ml$/i;

/** A file name for messages: relative to the working directory, with slashes. */
export const shownPath = (location: string): string => relative(process.cwd(), location).replaceAll('\\', '/') || '.';

/** Finds files at any depth, except hidden ones, and sorts them. Throws if the directory cannot be read. */
export function findDescriptors(directory: string): readonly string[] {
  return walk(directory, new Set()).toSorted((a, b) => (a < b ? -1 : 1));
}

function walk(directory: string, seen: Set<string>): readonly string[] {
  const real = realpathSync(directory);
  if (seen.has(real)) return [];
  seen.add(real);
  return readdirSync(directory).flatMap((name) => {
    if (name.startsWith('.')) return [];
    const location = join(directory, name);
    const entry = statSync(location, { throwIfNoEntry: false });
    if (entry?.isDirectory()) return walk(location, seen);
    // `readFile` reports dangling links and pipes.
    return DESCRIPTOR.test(name) ? [location] : [];
  });
}
