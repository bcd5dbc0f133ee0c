/** Resolves the entries of a role against the Model, and binds them to an identity's claims, which gives its rights. */
import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { createCache } from '../memo.ts';
import { type Filter, prefixed } from '../model/filters.ts';
import { type Model, ownersOf, type RecordType, type Relation } from '../model/model.ts';
import {
  type Action,
  ACTIONS,
  type Entry,
  has,
  isWhole,
  type Rights,
  type TypeRights,
  WHOLE,
  withOwned,
} from '../model/rights.ts';
import {
  bindConditions,
  type Binding,
  boundValue,
  claimOf,
  type Claims,
  conditionFaults,
  isNow,
  isOperand,
  MissingClaim,
  wholeData,
} from './conditions.ts';
import { placeOf, type Role } from './roles.ts';

/** An entry that allows something, with the role's scope. */
export interface Rule extends Pick<Entry, 'members' | 'openKeys' | 'set' | 'at'> {
  /** Conditions as written, all of which must hold. */
  readonly where: readonly JsonObject[];
  readonly to: readonly JsonObject[] | undefined;
  /** Whether the role's scope holds for the type itself, if there is one. */
  readonly isScoped: boolean;
}

export const membersOf = ({ fields, relations }: RecordType): readonly string[] => [
  ...fields.keys(),
  ...relations.keys(),
];

/** undefined if the role has no entry for the type; false for one that allows nothing. */
export function ruleOf(role: Role, type: RecordType, model: Model, action: Action): Rule | false | undefined {
  const [written] = role.entriesOf(type, action);
  if (written === undefined || written.value === false) return written && false;
  const { where = {}, to, only, except = [], set: given = {} } = written.value === true ? {} : written.value;
  const scope = scopeOf(role, type, model);
  const scoped = (conditions: JsonObject): readonly JsonObject[] =>
    [conditions, scope ?? {}].filter((one) => Object.keys(one).length > 0);
  const set = action === 'create' ? { ...equalitiesIn(scope, type), ...given } : given;
  const withheld = new Set([...except, ...Object.keys(set)]);
  const all = only ?? (withheld.size > 0 ? membersOf(type) : undefined);
  return {
    at: placeOf(written),
    where: scoped(where),
    to: to && scoped(to),
    members: all && new Set(all.filter((name) => !withheld.has(name))),
    openKeys: only === undefined,
    set,
    isScoped: role.scope === undefined || scope !== undefined || role.unscoped.has(type.name),
  };
}

/** The role's scope, where it holds for the type itself: owned types without its fields have it through their owners. */
function scopeOf({ scope, unscoped }: Role, type: RecordType, model: Model): JsonObject | undefined {
  if (scope === undefined || unscoped.has(type.name)) return undefined;
  return conditionFaults(scope, wholeOfData(type, model), []).length === 0 ? scope : undefined;
}

export const wholeOfData = ({ name }: RecordType, model: Model): RecordType => {
  const type = wholeData(model).types.get(name);
  if (type === undefined) throw new Error(`The model has no type ${name}`);
  return type;
};

/** The values that a scope demands of own fields and links to one record, which a new record gets. */
function equalitiesIn(scope: JsonObject | undefined, { fields, relations }: RecordType): JsonObject {
  const isOwn = (name: string): boolean => fields.has(name) || relations.get(name)?.link.at === 'source';
  return Object.fromEntries(
    Object.entries(scope ?? {}).flatMap(([name, value = null]) => {
      const { eq, ...others } = isObject(value) && !isOperand(value) ? value : { eq: value };
      const operand = Object.keys(others).length === 0 ? eq : undefined;
      return isOwn(name) && operand !== undefined ? [[name, operand] as const] : [];
    }),
  );
}

export const hasNull = ({ target, ...relation }: Relation, value: boolean): Filter => {
  const path = { name: `${relation.name}.${target.identifier.name}`, type: target, field: undefined };
  return { kind: 'value', path: { ...path, relations: [{ ...relation, target }] }, operator: 'null', value };
};

/** Calls `missing` with the claim that an entry needs, and the place of the entry. */
export type OnMissing = (claim: string, at: string) => void;

const MOST_BOUND = 1000;

/** By name of the type. undefined: no entry, false: one that allows nothing. */
type Rules = ReadonlyMap<string, Readonly<Record<Action, Rule | false | undefined>>>;

/** Gives rights for a Model; the same object for the same claims, unless a condition asks for the time. */
export function createBinder(role: Role, model: Model, onMissing: OnMissing): (claims: Claims) => Rights {
  const known = createCache<Rights>(MOST_BOUND);
  const types = [...model.types.values()];
  const rulesOf = (type: RecordType) =>
    Object.fromEntries(ACTIONS.map((action) => [action, ruleOf(role, type, model, action)]));
  const rules = new Map(types.map((type) => [type.name, rulesOf(type)])) as unknown as Rules;
  const tables = new Map(types.map((type) => [type.table, { type, data: wholeOfData(type, model) }] as const));
  const names = `role ${role.name}`;
  const history = withOwned(model, role.history);
  const { claims: used, isTimed } = askedIn(rules);
  let isPlain: boolean | undefined;
  let isFree: boolean | undefined;
  return (claims) => {
    const now = new Date();
    const given = used.map((name) => [name, claims[name] ?? null]);
    const values = JSON.stringify([given, isTimed ? now : null], (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    );
    const key = `${names} ${createHash('sha256').update(values).digest('base64url')} `;
    const bind = (): Rights => {
      const bound = typesFor({ rules, model, claims, now, onMissing, visible: new Map() });
      isPlain ??= types.every(({ name }) => isWhole(bound.get(name)?.read));
      // A role that reads all and writes each type as a whole, or not at all, writes as tokens do.
      isFree ??=
        isPlain &&
        [...bound.values()].every(({ create, update, delete: remove }) => {
          const written = [create, update, remove];
          return written.every(isWhole) || written.every((entry) => entry === undefined);
        });
      const checked = isFree ? undefined : tables;
      return Object.freeze({ key, names, tables: isPlain ? undefined : tables, checked, types: bound, history });
    };
    return isTimed ? bind() : known(key, bind);
  };
}

/** The claims that rules may ask for; rather too many, since rights are kept for their values. */
function askedIn(rules: Rules) {
  const claims = new Set<string>();
  let isTimed = false;
  JSON.stringify([...rules.values()], (_, value: JsonValue) => {
    isTimed ||= isNow(value);
    for (const name of claimOf(value)?.slice(0, 1) ?? []) claims.add(name);
    return value;
  });
  return { claims: [...claims], isTimed };
}

interface RoleBinding extends Binding {
  readonly rules: Rules;
  readonly model: Model;
  readonly onMissing: OnMissing;
  /** Conditions of records that may be read, by name of the type. */
  readonly visible: Map<string, Entry['where']>;
}

function typesFor(binding: RoleBinding): ReadonlyMap<string, TypeRights> {
  const all = [...binding.model.types.values()].map((type) => {
    const [create, update, remove] = ACTIONS.slice(1).map((action) => writeEntry(binding, type, action));
    return [type.name, { read: readEntry(binding, type), create, update, delete: remove }] as const;
  });
  return new Map(all.filter(([, rights]) => Object.values(rights).some((entry) => entry !== undefined)));
}

type Bound = Pick<Entry, 'where' | 'to' | 'set'>;

/** Evaluates conditions at their first use: most requests concern few types. */
function lazyEntry(fixed: Omit<Entry, keyof Bound>, evaluate: () => Bound): Entry {
  let bound: Bound | undefined;
  const member = (name: keyof Bound): PropertyDescriptor => ({ get: () => (bound ??= evaluate())[name] });
  return Object.defineProperties(fixed as Entry, { where: member('where'), to: member('to'), set: member('set') });
}

function writeEntry(
  binding: RoleBinding,
  type: RecordType,
  action: Action,
  below: readonly RecordType[] = [],
): Entry | undefined {
  const rule = binding.rules.get(type.name)?.[action];
  if (rule === undefined) return partEntry(binding, type, below);
  if (rule === false) return undefined;
  const { at, members, openKeys } = rule;
  return lazyEntry({ at, members, openKeys }, () => evaluated(binding, type, rule));
}

/** A part that the role does not name is written where its owner is. */
function partEntry(binding: RoleBinding, type: RecordType, below: readonly RecordType[]): Entry | undefined {
  if (below.includes(type)) return undefined;
  const owners = ownersOf(type);
  const entries = owners.flatMap(({ parts }) =>
    (['create', 'update'] as const).map((action) => {
      const entry = writeEntry(binding, parts.source, action, [...below, type]);
      return has(entry, parts.source, parts.name) ? entry : undefined;
    }),
  );
  if (entries.every((entry) => entry === undefined)) return undefined;
  return { ...WHOLE, owners: entries.every(isWhole) ? undefined : owners };
}

function readEntry(binding: RoleBinding, type: RecordType): Entry | undefined {
  const rule = binding.rules.get(type.name)?.read;
  if (rule === false || !isReadable(binding, type)) return undefined;
  const { at = '', members, openKeys = true } = rule ?? {};
  const isPart = rule === undefined && ownersOf(type).length === 1;
  const whole = wholeOfData(type, binding.model);
  return lazyEntry({ at, members, openKeys, isPart }, () => ({ ...WHOLE, where: visibleOf(binding, whole) }));
}

/** A part that the role does not name is readable with its owner. */
function isReadable(binding: RoleBinding, type: RecordType, above: readonly RecordType[] = []): boolean {
  const rule = binding.rules.get(type.name)?.read;
  if (rule !== undefined || above.includes(type)) return Boolean(rule);
  return ownersOf(type).some(({ parts }) => isReadable(binding, parts.source, [...above, type]));
}

/** The conditions of records that may be read: those of the type, and of its owners. undefined: there are none. */
function visibleOf(binding: RoleBinding, whole: RecordType): Entry['where'] {
  const { rules, visible } = binding;
  const { name } = whole;
  if (visible.has(name)) return visible.get(name);
  // In a circle of owners without conditions, all is visible; others are refused by the checks.
  visible.set(name, []);
  const rule = rules.get(name)?.read || undefined;
  const own = rule === undefined ? [] : evaluated(binding, whole, rule).where;
  visible.set(name, own && withOwners(binding, whole, own, rule));
  return visible.get(name);
}

function withOwners(binding: RoleBinding, whole: RecordType, own: readonly Filter[], rule: Rule | undefined) {
  const owners = ownersOf(whole);
  if (owners.length === 0) return rule && own;
  const links = owners.flatMap(({ relation, isRequired }): readonly Filter[] => {
    const type = binding.model.types.get(relation.target.name);
    const conditions = type && isReadable(binding, type) ? visibleOf(binding, relation.target) : undefined;
    if (conditions?.length === 0) return [];
    if (isRequired && conditions) return prefixed(relation, conditions);
    const isNone = [hasNull(relation, true)];
    if (conditions === undefined) return isNone;
    return [{ kind: 'any', items: [isNone, [hasNull(relation, false), ...prefixed(relation, conditions)]] }];
  });
  const mayBeAlone = owners.some(({ isRequired }) => isRequired) || rule?.isScoped === true;
  const some: Filter = { kind: 'any', items: owners.map(({ relation }) => [hasNull(relation, false)]) };
  return [...own, ...links, ...(mayBeAlone ? [] : [some])];
}

/** Without a claim that it needs, an entry allows nothing. */
function evaluated(binding: RoleBinding, type: RecordType, { where, to, set, at }: Rule): Bound {
  const whole = wholeOfData(type, binding.model);
  const bound = (some: readonly JsonObject[]): readonly Filter[] =>
    some.flatMap((one) => bindConditions(one, whole, binding));
  try {
    const values = Object.entries(set).map(([name, value = null]) => {
      return [name, boundValue(value, name, whole, binding)] as const;
    });
    return { where: bound(where), to: to && bound(to), set: Object.fromEntries(values) };
  } catch (error) {
    if (!(error instanceof MissingClaim)) throw error;
    binding.onMissing(error.message, at);
    return { where: undefined, to: undefined, set: Object.fromEntries(Object.keys(set).map((name) => [name, null])) };
  }
}
