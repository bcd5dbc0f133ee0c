/** Reads the folder of roles: each role with the entries that hold for it, or every fault of every file. */
import { existsSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { checkGrammar } from '../descriptor/check-grammar.ts';
import { findDescriptors, shownPath } from '../descriptor/load.ts';
import type { Finding } from '../descriptor/report.ts';
import { diagnose, diagnoseAt, rangeOf, readDescriptor, type Source, type YamlPath } from '../descriptor/source.ts';
import { toJson } from '../descriptor/to-json.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { type Model, ownedTypes, type RecordType } from '../model/model.ts';
import { type Action, ACTIONS } from '../model/rights.ts';

const ENTRY: JsonObject = {
  type: ['boolean', 'object'],
  properties: {
    where: { type: 'object' },
    to: { type: 'object' },
    only: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    except: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    set: { type: 'object', minProperties: 1 },
  },
  additionalProperties: false,
};

const SECTION: JsonObject = { type: 'object', properties: { '*': { type: 'boolean' } }, additionalProperties: ENTRY };
const NAMES: JsonObject = { type: 'array', items: { type: 'string' }, uniqueItems: true };

export const SECTIONS = [...ACTIONS, 'write'] as const;
type Section = (typeof SECTIONS)[number];

const GRAMMAR: JsonObject = {
  type: 'object',
  properties: {
    role: { type: 'string', minLength: 1, maxLength: 60, pattern: '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_.-]*$' },
    description: { type: 'string' },
    include: NAMES,
    scope: { type: ['object', 'string'] },
    unscoped: NAMES,
    ...Object.fromEntries(SECTIONS.map((section) => [section, SECTION])),
  },
  required: ['role'],
  additionalProperties: false,
};

export const ISSUERS_FILE = 'issuers.yaml';

type WrittenSection = Readonly<Record<string, boolean | JsonObject>>;

/** A file that fits the grammar. */
export interface RoleFile extends Readonly<Partial<Record<Section, WrittenSection>>> {
  readonly role: string;
  readonly description?: string;
  readonly include?: readonly string[];
  readonly scope?: JsonObject | string;
  readonly unscoped?: readonly string[];
  readonly source: Source;
}

/** An entry as written in a file, of the role itself or of an included one. */
export interface Written {
  readonly file: RoleFile;
  readonly path: YamlPath;
  readonly value: boolean | JsonObject;
}

export interface Scope {
  readonly file: RoleFile;
  /** undefined for `scope: none`. */
  readonly conditions: JsonObject | undefined;
}

export interface Role {
  readonly name: string;
  readonly file: RoleFile;
  readonly scopes: readonly Scope[];
  readonly unscoped: ReadonlySet<string>;
  /** The entries that hold for the type, which must agree: the own one, or those of the included roles. */
  entriesOf(type: RecordType, action: Action): readonly Written[];
}

export type Roles = ReadonlyMap<string, Role>;

export const placeOf = ({ file: { source }, path }: Pick<Written, 'file' | 'path'>): string =>
  `${source.file}:${source.locate(path, 'key').line}`;

export interface LoadedRoles {
  readonly roles: Roles;
  readonly diagnostics: readonly Diagnostic[];
  /** Names of the roles in files with faults. */
  readonly faulty: ReadonlySet<string>;
}

/** Files whose YAML or grammar is faulty are reported and left out. A folder that is missing has no roles. */
export function loadRoles(directory: string, model: Model): LoadedRoles {
  const locations = existsSync(directory) ? findDescriptors(directory) : [];
  const isRole = (location: string): boolean => relative(directory, location) !== ISSUERS_FILE;
  const read = locations.filter(isRole).map(readRole);
  const diagnostics = read.flatMap((one) => one.diagnostics);
  const files = new Map<string, RoleFile>();
  for (const { file } of read) {
    const first = file && files.get(file.role);
    if (!file) continue;
    if (first) {
      const message = `the role "${file.role}" is in ${first.source.file}:${first.source.locate(['role'], 'value').line} too`;
      diagnostics.push(diagnose(file.source, 'duplicate-role', ['role'], 'value', message));
    } else files.set(file.role, file);
  }
  const owned = ownedTypes(model);
  const roles = new Map([...files].map(([name, file]) => [name, roleOf(file, files, owned)]));
  const faulty = new Set(read.flatMap(({ file, name }) => (file ? [] : name)));
  return { roles, diagnostics, faulty };
}

/** `name`: of a faulty file, which others may include. */
function readRole(location: string): {
  readonly file?: RoleFile;
  readonly name: string;
  readonly diagnostics: Diagnostic[];
} {
  const { source, diagnostics } = readDescriptor(shownPath(location), location);
  const name = /^role:\s*["']?([^"'#\s]+)/m.exec(source?.text ?? '')?.[1] ?? basename(location).replace(/\..*/, '');
  if (!source || diagnostics.some(({ severity }) => severity === 'error'))
    return { name, diagnostics: [...diagnostics] };
  const { value, faults } = toJson(source.document);
  const found = [
    ...diagnostics,
    ...faults.map(({ code, node, message }) => diagnoseAt(source, code, rangeOf(node), message)),
    ...checkGrammar(value, GRAMMAR).map((finding) => diagnosed(source, finding)),
  ];
  const file = found.some(({ severity }) => severity === 'error')
    ? {}
    : { file: { ...(value as object), source } as RoleFile };
  return { ...file, name, diagnostics: found };
}

export const diagnosed = (source: Source, { code, path, at, message }: Finding): Diagnostic =>
  diagnose(source, code, path, at, message);

function roleOf(file: RoleFile, files: ReadonlyMap<string, RoleFile>, owned: ReadonlySet<RecordType>): Role {
  const all = withIncluded(file, files);
  return {
    name: file.role,
    file,
    scopes: all.flatMap((one): readonly Scope[] => {
      if (one.scope === undefined) return [];
      return [{ file: one, conditions: isObject(one.scope) ? one.scope : undefined }];
    }),
    unscoped: new Set(all.flatMap(({ unscoped = [] }) => unscoped)),
    entriesOf: (type, action) => entriesIn(file, files, type.name, action, owned.has(type), new Set()),
  };
}

/** Each file once, also if they include each other. */
export function withIncluded(file: RoleFile, files: ReadonlyMap<string, RoleFile>): readonly RoleFile[] {
  const all = new Set([file]);
  for (const { include = [] } of all)
    for (const name of include) {
      const other = files.get(name);
      if (other) all.add(other);
    }
  return [...all];
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

function entriesIn(
  file: RoleFile,
  files: ReadonlyMap<string, RoleFile>,
  type: string,
  action: Action,
  isOwned: boolean,
  above: ReadonlySet<RoleFile>,
): readonly Written[] {
  const own = ownEntry(file, type, action, isOwned);
  if (own || above.has(file)) return own ? [own] : [];
  const found = (file.include ?? []).flatMap((name) => {
    const other = files.get(name);
    return other ? entriesIn(other, files, type, action, isOwned, new Set([...above, file])) : [];
  });
  return [...new Map(found.map((one) => [textOf(one.value), one])).values()];
}

/** Equal for entries that say the same, in whatever order. */
const textOf = (value: JsonValue): string =>
  JSON.stringify(value, (_, part: JsonValue) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
