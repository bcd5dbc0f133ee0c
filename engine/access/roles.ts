/** Reads the folder of roles: each role with the entries that hold for it, or every fault of every file. */
import { basename, relative } from 'node:path';
import { checkGrammar } from '../descriptor/check-grammar.ts';
import { findDescriptors, shownPath } from '../descriptor/load.ts';
import { diagnosed } from '../descriptor/report.ts';
import { diagnose, diagnoseAt, rangeOf, readDescriptor, type Source, type YamlPath } from '../descriptor/source.ts';
import { toJson } from '../descriptor/to-json.ts';
import { isError } from '../diagnostic.ts';
import { codeOf } from '../files.ts';
import { isObject, type JsonObject, sortedJson } from '../json/json.ts';
import { type Model, ownedTypes, reached, type RecordType } from '../model/model.ts';
import { type Action, ACTIONS, type TypeNames } from '../model/rights.ts';
import { reasonOf, StartError } from '../problem.ts';
import { settingsTable } from '../settings/settings.ts';
import grammar from './role.schema.json';

export const SECTIONS = [...ACTIONS, 'write'] as const;
type Section = (typeof SECTIONS)[number];

export const ISSUERS_FILE = 'issuers.yaml';

/** An entry with its words, as the grammar has them. */
export interface Words {
  readonly where?: JsonObject;
  readonly to?: JsonObject;
  readonly only?: readonly string[];
  readonly except?: readonly string[];
  readonly set?: JsonObject;
}

/** A file that fits the grammar. */
export interface RoleFile extends Readonly<Partial<Record<Section, Readonly<Record<string, boolean | Words>>>>> {
  readonly role: string;
  readonly description?: string;
  readonly include?: readonly string[];
  readonly scope?: JsonObject | 'none';
  readonly unscoped?: readonly string[];
  readonly history?: readonly string[] | '*';
  readonly source: Source;
}

/** An entry as written in a file, of the role itself or of an included one. */
export interface Written {
  readonly file: RoleFile;
  readonly path: YamlPath;
  readonly value: boolean | Words;
}

export interface Role {
  readonly name: string;
  readonly file: RoleFile;
  /** Its own file, and those of included roles. */
  readonly files: readonly RoleFile[];
  /** undefined without a scope, and for `scope: none`. */
  readonly scope: JsonObject | undefined;
  readonly unscoped: ReadonlySet<string>;
  /** Named here or in an included role. */
  readonly history: TypeNames;
  /** The entries that hold for the type, which must agree: the own one, or those of the included roles. */
  entriesOf(type: RecordType, action: Action): readonly Written[];
}

export type Roles = ReadonlyMap<string, Role>;

export const placeOf = ({ file: { source }, path }: Pick<Written, 'file' | 'path'>): string =>
  `${source.file}:${source.locate(path, 'key').line}`;

/** Without roles everybody may do everything, so a folder that a setting names has to be there, with files. */
export function accessFiles(directory: string): readonly string[] {
  const isDefault = directory === settingsTable.accessDirectory.default;
  try {
    const files = findDescriptors(directory);
    if (files.length > 0 || isDefault) return files;
  } catch (error) {
    if (isDefault && codeOf(error) === 'ENOENT') return [];
    throw new StartError(`The folder of the roles (ACCESS_DIR) cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  throw new StartError(`The folder of the roles (ACCESS_DIR) has no files: ${directory}`);
}

/**
 * Files whose YAML or grammar is faulty are reported and left out. `faulty`: names of the roles in files with faults.
 */
export function loadRoles(directory: string, model: Model) {
  const isRole = (location: string): boolean => relative(directory, location) !== ISSUERS_FILE;
  const read = accessFiles(directory).filter(isRole).map(readRole);
  const files = new Map<string, RoleFile>();
  const repeated = read.flatMap(({ file }) => {
    const first = file && files.get(file.role);
    if (file && !first) files.set(file.role, file);
    if (!first) return [];
    const message = `the role "${file.role}" is in ${placeOf({ file: first, path: ['role'] })} too`;
    return [diagnose(file.source, 'duplicate-role', ['role'], 'value', message)];
  });
  const owned = ownedTypes(model);
  const roles: Roles = new Map([...files].map(([name, file]) => [name, roleOf(file, files, owned)]));
  const faulty = new Set(read.flatMap(({ file, name }) => (file ? [] : name)));
  return { roles, diagnostics: [...read.flatMap(({ diagnostics }) => diagnostics), ...repeated], faulty };
}

/** A file as JSON, where it is YAML and fits the grammar. */
export function readChecked(location: string, schema: JsonObject) {
  const { source, diagnostics } = readDescriptor(shownPath(location), location);
  if (!source || diagnostics.some(isError)) return { source, value: undefined, diagnostics };
  const { value, faults } = toJson(source.document);
  const all = [
    ...diagnostics,
    ...faults.map(({ code, node, message }) => diagnoseAt(source, code, rangeOf(node), message)),
    ...checkGrammar(value, schema).map((one) => diagnosed(source, one)),
  ];
  return { source, value: all.some(isError) ? undefined : value, diagnostics: all };
}

/** `name`: of a faulty file, which others may include. */
function readRole(location: string) {
  const { source, value, diagnostics } = readChecked(location, grammar);
  const name = /^role:\s*["']?([^"'#\s]+)/m.exec(source?.text ?? '')?.[1] ?? basename(location).replace(/\..*/, '');
  return { name, diagnostics, file: isObject(value) ? ({ ...value, source } as unknown as RoleFile) : undefined };
}

function roleOf(file: RoleFile, files: ReadonlyMap<string, RoleFile>, owned: ReadonlySet<RecordType>): Role {
  // Each file once, also if they include each other.
  const all = [...reached([file], ({ include = [] }) => include.flatMap((name) => files.get(name) ?? []))];
  return {
    name: file.role,
    file,
    files: all,
    scope: all.map(({ scope }) => scope).find((one) => isObject(one)),
    unscoped: new Set(all.flatMap(({ unscoped = [] }) => unscoped)),
    history: all.some(({ history }) => history === '*') ? 'all' : new Set(all.flatMap(({ history = [] }) => history)),
    entriesOf: (type, action) => entriesIn(file, files, (one) => ownEntry(one, type.name, action, owned.has(type))),
  };
}

/** The entry of a file: for the type itself, else (but not for owned types) for `*`. */
function ownEntry(file: RoleFile, type: string, action: Action, isOwned: boolean): Written | undefined {
  const sections: readonly Section[] = action === 'read' ? [action] : [action, 'write'];
  for (const name of isOwned ? [type] : [type, '*'])
    for (const section of sections) {
      const entries = file[section] ?? {};
      const value = Object.hasOwn(entries, name) ? entries[name] : undefined;
      if (value !== undefined) return { file, path: [section, name], value };
    }
  return undefined;
}

/** Files that include each other are a fault, at which the search ends. */
function entriesIn(
  file: RoleFile,
  files: ReadonlyMap<string, RoleFile>,
  find: (file: RoleFile) => Written | undefined,
  above: readonly RoleFile[] = [],
): readonly Written[] {
  const own = find(file);
  if (own || above.includes(file)) return own ? [own] : [];
  const found = (file.include ?? []).flatMap((name) => {
    const other = files.get(name);
    return other ? entriesIn(other, files, find, [...above, file]) : [];
  });
  return [...new Map(found.map((one) => [sortedJson(one.value), one])).values()];
}
