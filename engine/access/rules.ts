/** Resolves the entries of a role against the Model, and binds them to an identity's claims, which gives its rights. */
import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { createCache, memoized } from '../memo.ts';
import { type Filter, prefixed } from '../model/filters.ts';
import type { Model, RecordType, Relation } from '../model/model.ts';
import {
  type Action,
  ACTIONS,
  type Entry,
  isWhole,
  type Rights,
  seesAll,
  type TypeRights,
  WHOLE,
  withOwned,
} from '../model/rights.ts';
import {
  bindConditions,
  boundValue,
  claimOf,
  type Claims,
  conditionFaults,
  isOperand,
  MissingClaim,
  wholeData,
} from './conditions.ts';
import { placeOf, type Role } from './roles.ts';

/** An entry that allows something, with the role's scope. */
export interface Rule {
  /** File and line. */
  readonly at: string;
  /** Conditions as written, all of which must hold. */
  readonly where: readonly JsonObject[];
  readonly to: readonly JsonObject[] | undefined;
  readonly members: ReadonlySet<string> | undefined;
  readonly openKeys: boolean;
  readonly set: JsonObject;
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

interface OwnerLink {
  /** From the part to its owner, whether or not the part declares it. */
  readonly relation: Relation;
  /** From the owner to its parts. */
  readonly parts: Relation;
  readonly column: string;
  readonly isRequired: boolean;
}

const ownerLinks = memoized(({ types }: Model) => {
  const links = [...types.values()].flatMap(({ relations }) => [...relations.values()].flatMap(ownerLink));
  return Map.groupBy(links, ({ parts }) => parts.target);
});

function ownerLink(parts: Relation): readonly OwnerLink[] {
  const { link, owned, source, target } = parts;
  if (!owned || link.at !== 'target') return [];
  const { reference } = link;
  const undeclared = { name: `$${reference.column}`, source: target, target: source, toMany: false } as const;
  const relation = reference.relation ?? { ...parts, ...undeclared, link: { at: 'source', reference } };
  return [{ relation, parts, column: reference.column, isRequired: reference.required }];
}

/** The links of a part to its owners. `type`: as in `model`. */
export const ownersOf = (type: RecordType, model: Model): readonly OwnerLink[] => ownerLinks(model).get(type) ?? [];

const hasNull = ({ target, ...relation }: Relation, value: boolean): Filter => {
  const path = { name: `${relation.name}.${target.identifier.name}`, type: target, field: undefined };
  return { kind: 'value', path: { ...path, relations: [{ ...relation, target }] }, operator: 'null', value };
};

/** Calls `missing` with the claim that an entry needs, and the place of the entry. */
export type OnMissing = (claim: string, at: string) => void;

const MOST_BOUND = 1000;

const operandsOf = (rule: Rule | false | undefined): readonly JsonValue[] =>
  rule ? [...rule.where, ...(rule.to ?? []), rule.set] : [];

/** The claims that conditions and values may ask for; rather too many, since rights are kept for their values. */
const claimsIn = (values: readonly JsonValue[]): readonly string[] =>
  values.flatMap((value): readonly string[] => {
    if (Array.isArray(value)) return claimsIn(value);
    return isObject(value) ? [...(claimOf(value) ?? []).slice(0, 1), ...claimsIn(Object.values(value))] : [];
  });

/** Gives rights for a Model; the same object for the same claims, unless a condition asks for the time. */
export function createBinder(role: Role, model: Model, onMissing: OnMissing): (claims: Claims) => Rights {
  const known = createCache<Rights>(MOST_BOUND);
  const rules = new Map(
    [...model.types.values()].map((type) => [
      type,
      Object.fromEntries(ACTIONS.map((action) => [action, ruleOf(role, type, model, action)])) as TypeRules,
    ]),
  );
  const text = JSON.stringify([...rules.values()].map((all) => Object.values(all)));
  const isTimed = text.includes('{"now":true}');
  const used = claimsIn([...rules.values()].flatMap((all) => Object.values(all)).flatMap(operandsOf));
  const names = `role ${role.name}`;
  const tables = new Map(
    [...model.types.values()].map((type) => [type.table, { type, data: wholeOfData(type, model) }] as const),
  );
  const history = withOwned(model, role.history);
  let isPlain: boolean | undefined;
  let isFree: boolean | undefined;
  return (claims) => {
    const now = new Date();
    const given = Object.fromEntries([...new Set(used)].map((name) => [name, claims[name] ?? null]));
    const values = JSON.stringify([given, isTimed ? now : null], (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    );
    const key = `${names} ${createHash('sha256').update(values).digest('base64url')} `;
    const bind = (): Rights => {
      const binding = new RoleBinding(rules, model, { claims, now }, onMissing);
      const types = binding.types();
      const rights = { key, names, tables: undefined, checked: undefined, types, history };
      isPlain ??= seesAll(rights, model);
      isFree ??= isPlain && [...types.values()].every(isAllOrNothing);
      return Object.freeze({ ...rights, tables: isPlain ? undefined : tables, checked: isFree ? undefined : tables });
    };
    return isTimed ? bind() : known(key, bind);
  };
}

/** Whether a role writes a type as tokens do. */
function isAllOrNothing(rights: TypeRights): boolean {
  const written = WRITING.map((action) => rights[action]);
  return written.every(isWhole) || written.every((entry) => entry === undefined);
}

const WRITING = ['create', 'update', 'delete'] as const;

type TypeRules = Readonly<Record<Action, Rule | false | undefined>>;
type AllRules = ReadonlyMap<RecordType, TypeRules>;

class RoleBinding {
  readonly #rules: AllRules;
  readonly #model: Model;
  readonly #binding: { readonly claims: Claims; readonly now: Date };
  readonly #onMissing: OnMissing;
  readonly #visible = new Map<RecordType, readonly Filter[] | undefined>();

  constructor(
    rules: AllRules,
    model: Model,
    binding: { readonly claims: Claims; readonly now: Date },
    onMissing: OnMissing,
  ) {
    this.#rules = rules;
    this.#model = model;
    this.#binding = binding;
    this.#onMissing = onMissing;
  }

  types(): ReadonlyMap<string, TypeRights> {
    const found = [...this.#rules].flatMap(([type, rules]): readonly (readonly [string, TypeRights])[] => {
      const entries = ACTIONS.flatMap((action) => {
        const entry = action === 'read' ? this.#readEntry(type, rules.read) : this.#entry(type, rules[action]);
        return entry ? [[action, entry] as const] : [];
      });
      return entries.length === 0 ? [] : [[type.name, Object.fromEntries(entries)]];
    });
    return new Map(found);
  }

  /** Evaluates conditions at their first use: most requests concern few types. */
  #entry(type: RecordType, rule: Rule | false | undefined, below: readonly RecordType[] = []): Entry | undefined {
    if (rule === false) return undefined;
    if (rule === undefined) return this.#partEntry(type, below);
    const { at, members, openKeys } = rule;
    const evaluate = memoized((one: Rule) => this.#evaluated(type, one));
    return {
      at,
      members,
      openKeys,
      get where() {
        return evaluate(rule).where;
      },
      get to() {
        return evaluate(rule).to;
      },
      get set() {
        return evaluate(rule).set;
      },
    };
  }

  #readEntry(type: RecordType, rule: Rule | false | undefined): Entry | undefined {
    if (rule === false || !this.#isReadable(type)) return undefined;
    const { at = '', members, openKeys = true } = rule ?? {};
    const isPart = rule === undefined && ownersOf(type, this.#model).length === 1;
    const visible = (): readonly Filter[] | undefined => this.#visibleOf(wholeOfData(type, this.#model));
    return {
      at,
      members,
      openKeys,
      isPart,
      to: undefined,
      set: {},
      get where() {
        return visible();
      },
    };
  }

  /** A part that the role does not name is readable with its owner. */
  #isReadable(type: RecordType, above: readonly RecordType[] = []): boolean {
    const rule = this.#rules.get(type)?.read;
    if (rule !== undefined || above.includes(type)) return rule !== undefined && rule !== false;
    return ownersOf(type, this.#model).some(({ parts }) => this.#isReadable(parts.source, [...above, type]));
  }

  /** A part that the role does not name is written where its owner is. */
  #partEntry(type: RecordType, below: readonly RecordType[]): Entry | undefined {
    if (below.includes(type)) return undefined;
    const owners = ownersOf(type, this.#model).map(({ parts, column }) => {
      return { type: parts.source, column, parts: parts.name };
    });
    const entries = owners.flatMap((owner) =>
      (['create', 'update'] as const).map((action) => {
        const entry = this.#entry(owner.type, this.#rules.get(owner.type)?.[action], [...below, type]);
        return entry && (entry.members?.has(owner.parts) ?? true) ? entry : undefined;
      }),
    );
    if (entries.every((entry) => entry === undefined)) return undefined;
    const isFree = entries.every(isWhole);
    return { ...WHOLE, owners: isFree ? undefined : owners };
  }

  #readRule({ name }: RecordType): Rule | undefined {
    const type = this.#model.types.get(name);
    return (type && this.#rules.get(type)?.read) || undefined;
  }

  /** The conditions of records that may be read: those of the type, and of its owners. undefined: there are none. */
  #visibleOf(whole: RecordType): readonly Filter[] | undefined {
    if (this.#visible.has(whole)) return this.#visible.get(whole);
    // In a circle of owners without conditions, all is visible; others are refused by the checks.
    this.#visible.set(whole, []);
    const rule = this.#readRule(whole);
    const own = rule === undefined ? [] : this.#evaluated(whole, rule).where;
    const found = own && this.#withOwners(whole, own, rule);
    this.#visible.set(whole, found);
    return found;
  }

  #withOwners(whole: RecordType, own: readonly Filter[], rule: Rule | undefined): readonly Filter[] | undefined {
    const owners = ownersOf(whole, wholeData(this.#model));
    if (owners.length === 0) return rule === undefined ? undefined : own;
    const links = owners.flatMap(({ relation, isRequired }): readonly Filter[] => {
      const conditions = this.#ownerConditions(relation.target);
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

  #ownerConditions(owner: RecordType): readonly Filter[] | undefined {
    const type = this.#model.types.get(owner.name);
    return type && this.#isReadable(type) ? this.#visibleOf(owner) : undefined;
  }

  #evaluated(type: RecordType, { where, to, set, at }: Rule): Pick<Entry, 'where' | 'to' | 'set'> {
    const whole = wholeOfData(type, this.#model);
    const bound = (some: readonly JsonObject[]): readonly Filter[] =>
      some.flatMap((one) => bindConditions(one, whole, this.#binding));
    try {
      const values = Object.entries(set).map(([name, value = null]) => {
        return [name, boundValue(value, name, whole, this.#binding)] as const;
      });
      return { where: bound(where), to: to && bound(to), set: Object.fromEntries(values) };
    } catch (error) {
      if (!(error instanceof MissingClaim)) throw error;
      this.#onMissing(error.message, at);
      return { where: undefined, to: undefined, set: Object.fromEntries(Object.keys(set).map((name) => [name, null])) };
    }
  }
}
