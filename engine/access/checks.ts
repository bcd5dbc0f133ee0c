/** The faults of roles: names that the Model lacks, conditions and values that do not fit, entries that contradict each other. */
import { diagnosed, type Finding, finding, quoted } from '../descriptor/report.ts';
import type { YamlPath } from '../descriptor/source.ts';
import { type Diagnostic, type DiagnosticCode, isError } from '../diagnostic.ts';
import { isObject, type JsonValue, sortedJson } from '../json/json.ts';
import { type Model, ownedTypes, ownersOf, reached, type RecordType } from '../model/model.ts';
import { type Action, ACTIONS } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import { validatorsOf } from '../validation/compile.ts';
import { claimOf, conditionFaults, isNow } from './conditions.ts';
import { loadIssuers } from './issuers.ts';
import { loadRoles, placeOf, type Role, type RoleFile, SECTIONS, type Words } from './roles.ts';
import { createBinder, membersOf, ruleOf, wholeOfData } from './rules.ts';

interface Checked extends ReturnType<typeof loadRoles> {
  readonly model: Model;
}

/** The roles and issuers of a folder, or every fault of its files. */
export function checkRoles(directory: string, model: Model) {
  const checked: Checked = { ...loadRoles(directory, model), model };
  const { roles, diagnostics } = checked;
  const own = [...roles.values()].flatMap((role) => {
    const found = [...fileFaults(role.file, checked), ...includeFaults(role.file, checked)];
    const all = found.length > 0 ? found : [...roleFaults(role, checked)];
    return all.map((one) => diagnosed(role.file.source, one));
  });
  const { issuers, diagnostics: ofIssuers } = loadIssuers(directory, new Set([...roles.keys(), ...checked.faulty]));
  const all: readonly Diagnostic[] = [...diagnostics, ...own, ...ofIssuers];
  return { roles: all.some(isError) ? undefined : roles, issuers, diagnostics: all };
}

type Findings = Generator<Finding, void>;

function* fileFaults(file: RoleFile, checked: Checked): Findings {
  const { types } = checked.model;
  const unknownType = (name: string, path: YamlPath, at: 'key' | 'value'): Finding =>
    finding('unknown-type', path, `there is no type ${quoted(name)}${didYouMean(name, types.keys())}`, at);
  const { unscoped = [], history = [] } = file;
  for (const [key, names] of Object.entries({ unscoped, history: history === '*' ? [] : history }))
    for (const [index, name] of names.entries()) if (!types.has(name)) yield unknownType(name, [key, index], 'value');
  for (const section of SECTIONS)
    for (const [name, entry] of Object.entries(file[section] ?? {})) {
      const path = [section, name];
      if (name === '*') continue;
      if (section !== 'write' && section !== 'read' && Object.hasOwn(file.write ?? {}, name)) {
        const message = `${quoted(name)} stands under "write" too, which holds for ${section}; keep one of the two`;
        yield finding('repeated-item', path, message, 'key');
      }
      const type = types.get(name);
      if (!type) yield unknownType(name, path, 'key');
      else if (entry !== true && entry !== false) yield* entryFaults(type, section === 'read', entry, path, checked);
    }
}

function* entryFaults(type: RecordType, isRead: boolean, entry: Words, path: YamlPath, checked: Checked): Findings {
  const { where = {}, to = {}, only = [], except = [], set = {} } = entry;
  const whole = wholeOfData(type, checked.model);
  for (const [key, conditions] of Object.entries({ where, to }))
    yield* conditionFaults(conditions, whole, [...path, key]);
  const { name: identifier } = type.identifier;
  for (const [key, names] of Object.entries({ only, except }))
    for (const [index, name] of names.entries()) {
      const at = [...path, key, index];
      if (name === identifier && key === 'except' && isRead)
        yield finding('hidden-identifier', at, `"${name}" is the identifier of ${type.name}, which cannot be hidden`);
      else if (name !== identifier && !isMember(type, name)) yield unknownMember(type, name, at, 'value');
      else if (key === 'except' && only.includes(name))
        yield finding('repeated-item', at, `${quoted(name)} stands in both "only" and "except"`);
    }
  for (const [name, value = null] of Object.entries(set)) {
    const at = [...path, 'set', name];
    const fault = isMember(type, name) ? setFault(type, name, value, checked) : undefined;
    if (!isMember(type, name)) yield unknownMember(type, name, at, 'key');
    else if (fault !== undefined) yield finding('bad-set', at, fault);
  }
}

const isMember = ({ fields, relations }: RecordType, name: string): boolean => fields.has(name) || relations.has(name);

function unknownMember(type: RecordType, name: string, path: YamlPath, at: 'key' | 'value'): Finding {
  const hint = didYouMean(name, membersOf(type));
  return finding('unknown-field', path, `${type.name} has no field or relation ${quoted(name)}${hint}`, at);
}

/** Why a role cannot set this value; undefined if it can. */
function setFault(type: RecordType, name: string, value: JsonValue, checked: Checked): string | undefined {
  const [field, relation] = [type.fields.get(name), type.relations.get(name)];
  const isClaim = claimOf(value) !== undefined;
  if (relation?.toMany || field?.generated !== undefined)
    return `"${name}" cannot be set: only fields that bodies may have, and relations to one record`;
  if (isNow(value) && field?.type.now === undefined)
    return `"${name}" is no date and no timestamp, and cannot be the time`;
  if (isClaim && field && field.type.operators.length === 0)
    return `"${name}" is of type ${field.type.name}, which no claim can be read as`;
  if (isClaim || isNow(value)) return undefined;
  const given = relation && !isObject(value) && value !== null ? { [relation.target.identifier.name]: value } : value;
  const variant = { name: '', fields: [...type.fields.values()] };
  const validate = validatorsOf(checked.model)(type).update(variant);
  return validate([{ body: { [name]: given }, identifier: undefined, pointer: '' }])[0]?.message;
}

function* includeFaults(file: RoleFile, { roles, faulty }: Checked): Findings {
  for (const [index, name] of (file.include ?? []).entries()) {
    const path = ['include', index];
    const other = roles.get(name);
    if (faulty.has(name)) continue;
    if (!other)
      yield finding('unknown-role', path, `there is no role ${quoted(name)}${didYouMean(name, roles.keys())}`);
    else if (other.files.includes(file))
      yield finding('include-conflict', path, `${quoted(name)} includes this role itself`);
  }
}

function* roleFaults(role: Role, checked: Checked): Findings {
  const { model } = checked;
  for (const type of model.types.values())
    for (const action of ACTIONS) {
      const [first, second] = role.entriesOf(type, action);
      if (!first || !second) continue;
      const message = `for ${action} of ${type.name} the included roles differ: ${placeOf(first)} and ${placeOf(second)}; write an entry here`;
      yield finding('include-conflict', ['include'], message, 'key');
    }
  const readable = createBinder(role, model, () => undefined)({}).types;
  for (const name of role.history === 'all' ? [] : role.history) {
    const { history = [] } = role.file;
    const path = history.includes(name) ? ['history', history.indexOf(name)] : ['include'];
    if (!model.types.get(name)?.history)
      yield finding('bad-history', path, `${name} has no history: its descriptor does not say "history: true"`);
    else if (!readable.get(name)?.read)
      yield finding('bad-history', path, `the role may not read ${name}, and so not its history either`);
  }
  yield* scopeFaults(role, checked);
  for (const type of model.types.values()) {
    yield* creationFaults(role, type, model);
    yield* unsupported(role, type, model);
  }
}

function* scopeFaults(role: Role, { model, roles }: Checked): Findings {
  const { scope } = role;
  const written = role.files.filter((one) => one.scope !== undefined);
  const [[first] = [], [second] = []] = Map.groupBy(written, (one) => sortedJson(one.scope)).values();
  const at: YamlPath = first === role.file ? ['scope'] : ['include'];
  if (first && second) {
    const places = [first, second].map((one) => placeOf({ file: one, path: ['scope'] }));
    yield finding('bad-scope', at, `a role has one scope at most, and this one has ${places.join(' and ')}`, 'key');
    return;
  }
  if (!first && [...roles.values()].some((one) => one.scope)) {
    const message = 'other roles have a scope, and this one has none; write "scope: none" if it is meant';
    yield finding('bad-scope', ['role'], message);
  }
  if (!scope) return;
  const owned = ownedTypes(model);
  const unresolved = [...model.types.values()].flatMap((type) => {
    if (owned.has(type) || role.unscoped.has(type.name)) return [];
    if (!ACTIONS.some((action) => ruleOf(role, type, model, action))) return [];
    const [fault] = conditionFaults(scope, wholeOfData(type, model), []);
    return fault ? { why: fault.message, name: type.name } : [];
  });
  for (const [why, types] of Map.groupBy(unresolved, (one) => one.why)) {
    const names = types.map(({ name }) => name).join(', ');
    const message = `the scope does not hold for ${names}: ${why}; types that it does not concern stand under "unscoped"`;
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
  const owners = (one: RecordType): readonly RecordType[] => ownersOf(one).map(({ parts }) => parts.source);
  const above = reached(owners(type), owners);
  const rule = ruleOf(role, type, model, 'read');
  if (!above.has(type) || (rule && rule.where.length === 0 && rule.isScoped)) return;
  if (![type, ...owners(type)].some((one) => ruleOf(role, one, model, 'read'))) return;
  const message = `a condition or scope on ${type.name}, which owns records of its own kind, is not supported yet`;
  yield finding('not-supported' satisfies DiagnosticCode, pathOf(role, type, 'read') ?? ['role'], message, 'key');
}

/** The place of the entry that holds; undefined if the file of an included role has it. */
function pathOf(role: Role, type: RecordType, action: Action): YamlPath | undefined {
  const [written] = role.entriesOf(type, action);
  return written?.file === role.file ? written.path : undefined;
}
