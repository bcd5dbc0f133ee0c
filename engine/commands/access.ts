/** `access` prints what the roles allow, and `access explain` what becomes of a request, with the rules that decide. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { stringify } from 'yaml';
import { bindConditions, type Claims } from '../access/conditions.ts';
import { placeOf, type Role, type Written } from '../access/roles.ts';
import { createBinder, hasNull, type Rule, ruleOf } from '../access/rules.ts';
import { type Engine, startEngine } from '../engine.ts';
import { unescaped } from '../http/routes.ts';
import { isObject, type JsonObject, type JsonValue, parsedJson } from '../json/json.ts';
import { prefixed } from '../model/filters.ts';
import { identifierIn, type Model, newItems, ownersOf, type RecordType, recordsWithin } from '../model/model.ts';
import { type Action, ACTIONS, ALL_RIGHTS, entryOf, requiresHidden, withOwned } from '../model/rights.ts';
import { type Fault, StartError } from '../problem.ts';
import { print } from '../process.ts';
import { orderBy } from '../query/paging.ts';
import { defaultView, ownFields } from '../query/paths.ts';
import { type Command, command, readAccess, roleNamed, STRING, STRINGS, typeNamed } from './command.ts';
import { claimsIn } from './token.ts';

const USAGE = `records access [ROLE [TYPE]]: prints what holds, with file and line of each rule
records access explain --role ROLE [--claim NAME=VALUE]... METHOD PATH [--body FILE]: prints the status of a request, and the rule and the conditions that decide it; nothing is written`;

const list = command(USAGE, {}, ['[ROLE]', '[TYPE]'], async (_, [roleName, typeName], settings) => {
  const { roles, model } = readAccess(settings);
  const shown = roleName === undefined || roleName === '' ? [...roles.values()] : [roleNamed(roles, roleName)];
  const types = typeName === undefined || typeName === '' ? [...model.types.values()] : [typeNamed(model, typeName)];
  print(shown.map((role) => describeRole(role, types, model)).join('\n\n') || 'There are no roles.');
  return 0;
});

function describeRole(role: Role, types: readonly RecordType[], model: Model): string {
  const scopes = role.files.flatMap((file) =>
    file.scope === undefined ? [] : `  scope ${yamlOf(file.scope)} (${placeOf({ file, path: ['scope'] })})`,
  );
  const known = knownOf(role, model);
  const rows = types.flatMap((type) => [
    ...ACTIONS.map((action) => `  ${type.name} ${action}: ${describeRule(known, type, action)}`),
    ...(type.history ? [`  ${type.name} history: ${describeHistory(role, type, model)}`] : []),
  ]);
  return [`${role.name} (${placeOf({ file: role.file, path: ['role'] })})`, ...scopes, ...rows].join('\n');
}

const knownOf = (role: Role, model: Model) => ({ role, model, rights: createBinder(role, model, () => undefined)({}) });

function describeRule({ role, model, rights }: ReturnType<typeof knownOf>, type: RecordType, action: Action): string {
  const rule = ruleOf(role, type, model, action);
  const [written] = role.entriesOf(type, action);
  if (rule === false) return `no (${written ? placeOf(written) : ''})`;
  const owners = ownersOf(type);
  if (!entryOf(rights, type.name, action)) return 'no';
  if (action === 'create' && requiresHidden(rights, type, rule ? undefined : owners[0]?.relation))
    return `no, since a new record must link one of a type that may not be read${rule ? ` (${rule.at})` : ''}`;
  if (rule) return `${summaryOf(rule, written?.value)} (${rule.at})`;
  return `with its owner, through ${owners.map(({ parts }) => `${parts.source.name}.${parts.name}`).join(' or ')}`;
}

const describeHistory = (role: Role, { name }: RecordType, model: Model): string =>
  withOwned(model, role.history).has(name) ? 'yes' : 'no';

function summaryOf({ where, to, set }: Rule, written: Written['value'] = true): string {
  const { only, except } = typeof written === 'object' ? written : {};
  const all = (some: readonly JsonObject[]) => (some.length > 1 ? { $all: some } : some[0]);
  const conditions = { where: all(where), to: to && (all(to) ?? {}) };
  const words = { ...conditions, only, except, set: Object.keys(set).length === 0 ? undefined : set };
  const texts = Object.entries(words).flatMap(([word, value]) => (value ? `${word} ${yamlOf(value)}` : []));
  return ['yes', ...texts].join(', ');
}

const yamlOf = (value: unknown): string => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();

const ACTIONS_OF: Readonly<Record<string, readonly Action[]>> = {
  POST: ['create'],
  PUT: ['read', 'update'],
  PATCH: ['read', 'update'],
  DELETE: ['read', 'delete'],
};
const ACTIONS_OF_UPSERT: readonly Action[] = ['read', 'create', 'update'];

/** Sends the request to a service of its own, as a dry run. */
const explain = command(
  USAGE,
  { role: STRING, claim: STRINGS, body: STRING },
  ['METHOD', 'PATH'],
  async ({ role: name, claim = [], body: file }, [word, path], settings) => {
    if (name === undefined) throw new StartError(`--role says whose request it is\n${USAGE}`);
    const role = roleNamed(readAccess(settings).roles, name);
    const given = file === undefined ? undefined : readFileSync(file, 'utf8');
    const [method, claims] = [word.toUpperCase(), claimsIn(claim)];
    const identify = () => ({ name: 'explain', role: role.name, claims });
    const quiet = { migrate: false, logLevel: 'silent', rateLimit: Infinity } as const;
    const engine = await startEngine({ ...settings, ...quiet, identify });
    const server = createServer((request: IncomingMessage, response) => engine.handler(request, response));
    try {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = new URL(path, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      if (method !== 'GET' && method !== 'HEAD') url.searchParams.set('dryRun', 'true');
      const body = given ?? (method === 'PATCH' || method === 'PUT' ? '{}' : null);
      const [, segment = '', identifier = ''] = /^\/api\/([^/?]+)(?:\/([^/?$][^/?]*))?/.exec(url.pathname) ?? [];
      // The question is what the role may do, not whether a client has read the record.
      const tag = identifier !== '' && ACTIONS_OF[method]?.includes('read') ? { 'if-match': '*' } : {};
      const headers = { 'content-type': 'application/json', prefer: 'max-affected=10000', ...tag };
      const answer = await fetch(url, { method, headers, body });
      const lines = [`${answer.status} ${method} ${path}`];
      if (answer.status >= 400) lines.push(...reasonsIn(await answer.text()));
      const known = knownOf(role, engine.model);
      const type = [...engine.model.types.values()].find((one) => one.path === unescaped(segment));
      const unmetOf = (text: string, of: RecordType, action: Action) => unmetBy(text, of, action, engine, role, claims);
      for (const action of url.searchParams.has('on') ? ACTIONS_OF_UPSERT : (ACTIONS_OF[method] ?? ['read'])) {
        if (!type) break;
        const unmet =
          identifier === '' || answer.status === 400 ? [] : await unmetOf(unescaped(identifier), type, action);
        lines.push(`  ${action}: ${describeRule(known, type, action)}`, ...unmet);
        // The empty body changes nothing, which is always allowed.
        if (action === 'update' && given === undefined && answer.status < 400 && unmet.length > 0)
          lines[0] = `403 ${method} ${path}`;
      }
      const named = type ? namedIn(type, parsedJson(given ?? ''), method === 'PATCH') : [];
      for (const { type: target, body: sent, identifier: of, pointer } of named) {
        if (of === undefined) continue;
        for (const action of (Object.keys(sent).length > 1 && ACTIONS_OF['PATCH']) || ['read']) {
          const unmet = await unmetOf(String(of), target, action);
          const described = describeRule(known, target, action);
          if (unmet.length > 0) lines.push(`  ${pointer}, ${action} of ${target.name}: ${described}`, ...unmet);
        }
      }
      if (type?.history) lines.push(`  history: ${describeHistory(role, type, engine.model)}`);
      print(lines.join('\n'));
      return 0;
    } finally {
      await new Promise((resolve) => server.close(resolve));
      await engine.close();
    }
  },
);

/** The records that a body names: stored items of an array, and what is nested. */
function namedIn(type: RecordType, sent: JsonValue | undefined, areStored: boolean) {
  const items = Array.isArray(sent) ? newItems(sent.filter(isObject)) : [];
  const own = areStored ? items.map((item) => ({ ...item, type, identifier: identifierIn(item.body, type) })) : [];
  const roots = isObject(sent) ? [{ body: sent, pointer: '' }] : items;
  const nested = roots.flatMap(({ body, pointer }) => recordsWithin(type, body, pointer));
  return [...own, ...nested.map(({ relation, ...record }) => ({ ...record, type: relation.target }))];
}

/** The faults of a problem, each with its place in the body, or else its detail. */
function reasonsIn(problem: string): readonly string[] {
  const { detail = '', errors = [] } = JSON.parse(problem || '{}') as { detail?: string; errors?: readonly Fault[] };
  const faults = errors.flatMap((one) => ('pointer' in one && one.pointer ? `  ${one.pointer}: ${one.message}` : []));
  return faults.length > 0 ? faults : [`  ${detail}`];
}

/** A line for each claim that an entry misses, else for each of its conditions that the record does not meet. */
async function unmetBy(text: string, type: RecordType, action: Action, engine: Engine, role: Role, claims: Claims) {
  const missing = new Map<string, string>();
  const rights = createBinder(role, engine.model, (claim, at) => missing.set(at, claim))(claims);
  const binding = { claims, now: new Date() };
  const { store } = engine.clients().unrestricted.serviceOf(type);
  const view = ownFields(defaultView(type, { name: '', fields: [] }, ALL_RIGHTS));
  const unmet: string[] = [];
  await ask(type, action);
  return unmet;

  /** Asks for the conditions of a rule, and of the owners that decide about a part. */
  async function ask(one: RecordType, how: Action, links: ReturnType<typeof ownersOf> = []): Promise<void> {
    const rule = ruleOf(role, one, engine.model, how);
    const miss = (what: string) => void unmet.push(`    not met: ${what}${one === type ? '' : ` of ${one.name}`}`);
    // Entries report the claims that they miss when they are asked.
    const claim = entryOf(rights, one.name, how)?.where === undefined && rule ? missing.get(rule.at) : undefined;
    if (claim !== undefined) return miss(`the claim ${claim} is missing, or no value of the field`);
    for (const [name, value = null] of rule ? rule.where.flatMap((written) => Object.entries(written)) : []) {
      let filters = bindConditions({ [name]: value }, one, binding);
      for (const { relation } of links.toReversed())
        filters = [{ kind: 'any', items: [[hasNull(relation, true)], prefixed(relation, filters)] }];
      filters = [...bindConditions({ [type.identifier.name]: text }, type, binding), ...filters];
      const query = { view, filters, order: orderBy(type, undefined), offset: 0, limit: 1 };
      const { records } = await store.page({ ...query, cursor: undefined, shared: '' }, 'none');
      if (records.length === 0) miss(yamlOf({ [name]: value }));
    }
    for (const link of rule === undefined || how === 'read' ? ownersOf(one) : [])
      if (!links.includes(link)) await ask(link.relation.target, how === 'read' ? how : 'update', [...links, link]);
  }
}

export const access: Command = {
  usage: USAGE,
  run: (args) => (args[0] === 'explain' ? explain.run(args.slice(1)) : list.run(args)),
};
