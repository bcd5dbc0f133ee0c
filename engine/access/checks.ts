/** The faults of roles: names that the Model lacks, conditions and values that do not fit, entries that contradict each other. */
import { type Finding, finding, quoted } from '../descriptor/report.ts';
import type { YamlPath } from '../descriptor/source.ts';
import type { Diagnostic, DiagnosticCode } from '../diagnostic.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { type Model, ownedTypes, type RecordType } from '../model/model.ts';
import { type Action, ACTIONS } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { TypeValidators } from '../validation/compile.ts';
import { claimOf, conditionFaults, isNow, operandFault } from './conditions.ts';
import {
  diagnosed,
  type LoadedRoles,
  loadRoles,
  placeOf,
  type Role,
  type RoleFile,
  type Roles,
  SECTIONS,
  withIncluded,
} from './roles.ts';
import { membersOf, namesIn, ownersOf, ruleOf, wholeOfData } from './rules.ts';

interface Checked extends LoadedRoles {
  readonly model: Model;
  readonly validatorsOf: (type: RecordType) => TypeValidators;
}

/** The roles of a folder, or every fault of its files. */
export function checkRoles(directory: string, model: Model, validatorsOf: Checked['validatorsOf']) {
  const checked: Checked = { ...loadRoles(directory, model), model, validatorsOf };
  const { roles, diagnostics } = checked;
  const own = [...roles.values()].flatMap((role) => {
    const found = [...fileFaults(role.file, checked), ...includeFaults(role.file, checked)];
    const all = found.length > 0 ? found : [...roleFaults(role, checked)];
    return all.map((one) => diagnosed(role.file.source, one));
  });
  const all: readonly Diagnostic[] = [...diagnostics, ...withoutRepeated(own)];
  return { roles: all.some(({ severity }) => severity === 'error') ? undefined : roles, diagnostics: all };
}

/** One fault of a code at a place. */
const withoutRepeated = (all: readonly Diagnostic[]): readonly Diagnostic[] => [
  ...new Map(all.map((one) => [`${one.file}:${one.line}:${one.column} ${one.code} ${one.message}`, one])).values(),
];

type Findings = Generator<Finding, void>;

function* fileFaults(file: RoleFile, checked: Checked): Findings {
  const { types } = checked.model;
  const typeAt = (name: string): RecordType | undefined => types.get(name);
  const unknownType = (name: string, path: YamlPath, at: 'key' | 'value'): Finding =>
    finding('unknown-type', path, `there is no type ${quoted(name)}${didYouMean(name, types.keys())}`, at);
  for (const [index, name] of (file.unscoped ?? []).entries())
    if (!typeAt(name)) yield unknownType(name, ['unscoped', index], 'value');
  if (typeof file.scope === 'string' && file.scope !== 'none')
    yield finding('bad-scope', ['scope'], '"scope" takes conditions, or none');
  for (const section of SECTIONS)
    for (const [name, value] of Object.entries(file[section] ?? {})) {
      const path = [section, name];
      if (name === '*') continue;
      if (section !== 'write' && section !== 'read' && Object.hasOwn(file.write ?? {}, name)) {
        const message = `${quoted(name)} stands under "write" too, which holds for ${section}; keep one of the two`;
        yield finding('repeated-item', path, message, 'key');
      }
      const type = typeAt(name);
      if (!type) yield unknownType(name, path, 'key');
      else if (isObject(value)) yield* entryFaults(type, section, value, path, checked);
    }
}

function* entryFaults(
  type: RecordType,
  section: (typeof SECTIONS)[number],
  entry: JsonObject,
  path: YamlPath,
  checked: Checked,
): Findings {
  const misplaced = (key: string, why: string): Finding => finding('misplaced-key', [...path, key], why, 'key');
  if (entry['to'] !== undefined && section !== 'update')
    yield misplaced('to', '"to" says what an updated record must be like, and stands under "update" only');
  for (const key of ['set', 'only', 'except'])
    if (entry[key] !== undefined && section === 'delete')
      yield misplaced(key, `a deletion has no body, so that "${key}" does not stand under "delete"`);
  if (entry['set'] !== undefined && section === 'read')
    yield misplaced('set', 'nothing is written by "read", so that "set" does not stand under it');
  const whole = wholeOfData(type, checked.model);
  for (const key of ['where', 'to']) {
    const conditions = entry[key];
    if (isObject(conditions)) yield* conditionFaults(conditions, whole, [...path, key]);
  }
  yield* memberFaults(type, section, entry, path);
  const { set } = entry;
  if (isObject(set))
    for (const [name, value = null] of Object.entries(set))
      yield* setFaults(type, name, value, [...path, 'set', name], checked);
}

function* memberFaults(type: RecordType, section: string, entry: JsonObject, path: YamlPath): Findings {
  const known = membersOf(type);
  const only = namesIn(entry['only']) ?? [];
  const { name: identifier } = type.identifier;
  for (const key of ['only', 'except'])
    for (const [index, name] of (namesIn(entry[key]) ?? []).entries()) {
      const at = [...path, key, index];
      if (name === identifier && key === 'except' && section === 'read')
        yield finding('hidden-identifier', at, `"${name}" is the identifier of ${type.name}, which cannot be hidden`);
      else if (!known.includes(name) && name !== identifier)
        yield finding(
          'unknown-field',
          at,
          `${type.name} has no field or relation ${quoted(name)}${didYouMean(name, known)}`,
        );
      else if (key === 'except' && only.includes(name))
        yield finding('repeated-item', at, `${quoted(name)} stands in both "only" and "except"`);
    }
}

function* setFaults(type: RecordType, name: string, value: JsonValue, path: YamlPath, checked: Checked): Findings {
  const [field, relation] = [type.fields.get(name), type.relations.get(name)];
  const bad = (message: string): Finding => finding('bad-set', path, message);
  const strange = claimOf(value) === undefined && !isNow(value) ? undefined : operandFault(value);
  if (!field && !relation) {
    const hint = didYouMean(name, membersOf(type));
    yield finding('unknown-field', path, `${type.name} has no field or relation ${quoted(name)}${hint}`, 'key');
  } else if (strange !== undefined) yield bad(strange);
  else if (relation?.toMany || field?.generated !== undefined)
    yield bad(`"${name}" cannot be set: only fields that bodies may have, and relations to one record`);
  else if (isNow(value) && field?.type.now === undefined)
    yield bad(`"${name}" is no date and no timestamp, and cannot be the time`);
  else if (claimOf(value) !== undefined && field && field.type.operators.length === 0)
    yield bad(`"${name}" is of type ${field.type.name}, which no claim can be read as`);
  else if (claimOf(value) === undefined && !isNow(value)) {
    const given = relation && !isObject(value) && value !== null ? { [relation.target.identifier.name]: value } : value;
    const body = { [name]: given };
    const { fields } = type;
    const variant = { name: '', fields: [...fields.values()] };
    const [fault] = checked.validatorsOf(type).update(variant)([{ body, identifier: undefined, pointer: '' }]);
    if (fault) yield bad(fault.message);
  }
}

function* includeFaults(file: RoleFile, { roles, faulty }: Checked): Findings {
  for (const [index, name] of (file.include ?? []).entries()) {
    const path = ['include', index];
    const other = roles.get(name);
    if (faulty.has(name)) continue;
    if (!other)
      yield finding('unknown-role', path, `there is no role ${quoted(name)}${didYouMean(name, roles.keys())}`);
    else if (withIncluded(other.file, filesOf(roles)).includes(file))
      yield finding('include-conflict', path, `${quoted(name)} includes this role itself`);
  }
}

const filesOf = (roles: Roles): ReadonlyMap<string, RoleFile> =>
  new Map([...roles].map(([name, { file }]) => [name, file]));

function* roleFaults(role: Role, checked: Checked): Findings {
  const { model, roles } = checked;
  const owned = ownedTypes(model);
  for (const type of model.types.values())
    for (const action of ACTIONS) {
      const [first, second] = role.entriesOf(type, action);
      if (!first || !second) continue;
      const message = `for ${action} of ${type.name} the included roles differ: ${placeOf(first)} and ${placeOf(second)}; write an entry here`;
      yield finding('include-conflict', ['include'], message, 'key');
    }
  yield* scopeFaults(role, checked, owned);
  const isScopeUsed = [...roles.values()].some(({ scopes }) => scopes.some(({ conditions }) => conditions));
  if (isScopeUsed && role.scopes.length === 0)
    yield finding(
      'bad-scope',
      ['role'],
      'other roles have a scope, and this one has none; write "scope: none" if it is meant',
    );
  for (const type of model.types.values()) {
    yield* creationFaults(role, type, model);
    yield* unsupported(role, type, model);
  }
}

function* scopeFaults(role: Role, { model }: Checked, owned: ReadonlySet<RecordType>): Findings {
  const [first, second] = role.scopes;
  const isOwn = first?.file === role.file;
  const at: YamlPath = isOwn ? ['scope'] : ['include'];
  if (first && second) {
    const places = [first, second].map((scope) => placeOf({ ...scope, path: ['scope'] }));
    yield finding('bad-scope', at, `a role has one scope at most, and this one has ${places.join(' and ')}`, 'key');
    return;
  }
  const conditions = first?.conditions;
  if (!conditions) return;
  const unresolved = new Map<string, string[]>();
  for (const type of model.types.values()) {
    if (owned.has(type) || role.unscoped.has(type.name)) continue;
    if (!ACTIONS.some((action) => ruleOf(role, type, model, action))) continue;
    const [fault] = conditionFaults(conditions, wholeOfData(type, model), []);
    if (fault) unresolved.set(fault.message, [...(unresolved.get(fault.message) ?? []), type.name]);
  }
  for (const [why, names] of unresolved) {
    const message = `the scope does not hold for ${names.join(', ')}: ${why}; types that it does not concern stand under "unscoped"`;
    yield finding('bad-scope', at, message, 'key');
  }
}

/** Required fields that no body may have. */
function* creationFaults(role: Role, type: RecordType, model: Model): Findings {
  const rule = type.operations.has('create') && ruleOf(role, type, model, 'create');
  if (!rule) return;
  const path = pathOf(role, type, 'create') ?? ['include'];
  for (const { name, required } of [...type.fields.values(), ...type.relations.values()]) {
    if (!required || Object.hasOwn(rule.set, name) || (rule.members?.has(name) ?? true)) continue;
    const message = `a new ${type.name} needs ${quoted(name)}, which the role neither may send nor sets`;
    yield finding('create-without-required', path, message, 'key');
  }
}

/** Refuses conditions on types that own each other in a circle: without them, the role would allow more than its file says. */
function* unsupported(role: Role, type: RecordType, model: Model): Findings {
  const circle = circleOf(type, model);
  const isRead = (one: RecordType): boolean => Boolean(ruleOf(role, one, model, 'read'));
  if (!circle.some((one) => isRead(one) || ownersOf(one, model).some(({ parts }) => isRead(parts.source)))) return;
  const isPlain = circle.every((one) => {
    const rule = ruleOf(role, one, model, 'read');
    return rule && rule.where.length === 0 && rule.isScoped;
  });
  if (isPlain) return;
  const message = `a condition or scope on ${type.name}, which owns records of its own kind, is not supported yet`;
  yield finding('not-supported' satisfies DiagnosticCode, pathOf(role, type, 'read') ?? ['role'], message, 'key');
}

/** The place of the entry that holds; undefined if the file of an included role has it. */
function pathOf(role: Role, type: RecordType, action: Action): YamlPath | undefined {
  const [written] = role.entriesOf(type, action);
  return written?.file === role.file ? written.path : undefined;
}

/** The types that own each other in a circle with this one. */
function circleOf(type: RecordType, model: Model): readonly RecordType[] {
  const owners = (one: RecordType): readonly RecordType[] => ownersOf(one, model).map(({ parts }) => parts.source);
  const above = (from: RecordType): ReadonlySet<RecordType> => {
    const found = new Set(owners(from));
    for (const one of found) for (const owner of owners(one)) found.add(owner);
    return found;
  };
  const mine = above(type);
  return mine.has(type) ? [...mine].filter((one) => above(one).has(type)) : [];
}
