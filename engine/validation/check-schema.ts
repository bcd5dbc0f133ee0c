/**
 * Checks a schema directory: its descriptors, then by the validators of its Model that each seed is valid as the body of a
 * create request, that all seeds together fit a new database, and that defaults meet the checks.
 */
import type { DescriptorFile } from '../descriptor/draft.ts';
import { loadDescriptors } from '../descriptor/load.ts';
import { inQuotes } from '../descriptor/report.ts';
import { diagnose, type YamlPath } from '../descriptor/source.ts';
import { type Diagnostic, isError } from '../diagnostic.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { asWritten } from '../field-types/columns.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue, unescapedSteps } from '../json/json.ts';
import { type Identifier, identifierOf } from '../model/identifier.ts';
import {
  type BodyRecord,
  closingLinks,
  identifierIn,
  joinIndexName,
  linkKeyIn,
  type Model,
  newItems,
  referredFirst,
  referenceIndexName,
  type RecordType,
  type Relation,
  relationsIn,
  uniqueIndexes,
  type UniqueMembers,
} from '../model/model.ts';
import { resolveModel } from '../model/resolve.ts';
import type { Fault } from '../problem.ts';
import { unmetBy } from '../query/operators.ts';
import { byRecord, validatorsOf } from './compile.ts';

/** Returns the Model, or every fault. */
export function checkSchema(directory: string) {
  const { files, diagnostics } = loadDescriptors(directory);
  const model = resolveModel(files.map(({ descriptor }) => descriptor));
  // Faulty relations make the order unknown.
  const order = diagnostics.some(isError) ? [] : referredFirst(model.types.values());
  const later = [...checkIndexNames(files, model), ...checkDefaults(files, model), ...checkSeeds(files, model, order)];
  // The first fault of a location is more specific.
  const reported = new Set(diagnostics.filter(isError).map(locationOf));
  const all = [...diagnostics, ...later.filter((one) => !reported.has(locationOf(one)))];
  return { model: all.some(isError) ? undefined : model, diagnostics: all };
}

const locationOf = ({ file, line, column }: Diagnostic): string => `${file}:${line}:${column}`;

/** Tables and indexes share one space of names. */
function checkIndexNames(files: readonly DescriptorFile[], { types, joinTables }: Model): readonly Diagnostic[] {
  const indexes = [
    ...[...types.values()].flatMap(({ table, indexes: own, references }) => [
      ...own.map(({ name }) => [name, table] as const),
      ...references.map((reference) => [referenceIndexName(table, reference), table] as const),
    ]),
    ...joinTables.map((join) => [joinIndexName(join), join.name] as const),
  ];
  const tableOf = new Map(indexes.map(([name, table]) => [name.toLowerCase(), table]));
  return files.flatMap((file) => {
    const { type, table: key } = file.descriptor;
    const table = types.get(type)?.table ?? '';
    const indexed = tableOf.get(table.toLowerCase());
    if (indexed === undefined) return [];
    const message = `the table "${table}" has the name of an index of table "${indexed}"; set another "table"`;
    return [diagnose(file, 'duplicate-table', [key === undefined ? 'type' : 'table'], 'value', message)];
  });
}

interface SeedNode {
  readonly file: DescriptorFile;
  readonly type: RecordType;
  /** The identifier of the record, or a negative number that no other record has. */
  readonly key: Identifier;
  readonly isNew: boolean;
  readonly body: JsonObject;
  readonly pointer: string;
  readonly links: Map<Relation, Identifier | null>;
}

function checkSeeds(
  files: readonly DescriptorFile[],
  model: Model,
  order: readonly RecordType[],
): readonly Diagnostic[] {
  const seeds = files.flatMap((file) => {
    const type = model.types.get(file.descriptor.type);
    if (!type || type.seed.length === 0) return [];
    const records = newItems(type.seed);
    const invalid = validatorsOf(model)(type).create(type.defaultVariant)(records);
    const invalidIn = byRecord(records, invalid);
    const valid = records.filter(({ pointer }) => invalidIn(pointer).length === 0);
    return [{ file, type, records, invalid, nodes: nodesIn(file, type, valid) }];
  });
  const inOrder = seeds.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
  const repeated = repeatedIn(inOrder.flatMap(({ nodes }) => nodes));
  return seeds.flatMap(({ file, type, records, invalid, nodes }) => {
    const inFile = repeated.flatMap(([at, fault]) => (at === file ? fault : []));
    const faultsIn = byRecord(records, [...invalid, ...cyclesIn(nodes), ...inFile]);
    return records.flatMap(({ body, pointer }) => {
      const faults = faultsIn(pointer);
      const within = nodes.filter((node) => `${node.pointer}/`.startsWith(`${pointer}/`));
      return (faults.length > 0 ? faults : unmetIn(type, within, order)).map((fault) => {
        const path: YamlPath = ['seed', ...('pointer' in fault ? unescapedSteps(fault.pointer) : [])];
        const [, , name = '', ...inside] = path;
        const field = inside.length > 0 ? undefined : type.fields.get(String(name));
        // YAML may read an unquoted string as a number or boolean.
        const accepts = (text: string): boolean => field?.type.parse(text) !== undefined;
        const at = fault.code === 'unknown-key' ? 'key' : 'value';
        const advice = inQuotes(field?.type.schema(field)['type'], body[String(name)], accepts);
        return diagnose(file, 'invalid-seed', path, at, fault.message + advice(file.written(path)));
      });
    });
  });
}

let unnamed = 0;

/** All records that the seeds name, parents before nested records. */
function nodesIn(file: DescriptorFile, root: RecordType, records: readonly BodyRecord[]): readonly SeedNode[] {
  const nodes: SeedNode[] = [];
  const visit = (type: RecordType, body: JsonObject, pointer: string, isNew: boolean): SeedNode => {
    const key = identifierIn(body, type) ?? (unnamed -= 1);
    const node: SeedNode = { file, type, key, isNew, body, pointer, links: new Map() };
    nodes.push(node);
    for (const relation of relationsIn(type, body)) {
      const { name, target, owned, toMany, inverse } = relation;
      const value = body[name] ?? null;
      if (value === null) node.links.set(relation, null);
      for (const [index, item] of [value].flat().entries()) {
        // Unique values name a record that is there.
        if (!isObject(item) || linkKeyIn(relation, item)) continue;
        const at = `${pointer}/${escapeStep(name)}`;
        // Only the database knows whether a stored record has an owned child.
        const isMade = identifierIn(item, target) === undefined && (toMany || !owned || isNew);
        const child = visit(target, item, toMany ? `${at}/${index}` : at, isMade);
        if (inverse && !child.links.has(inverse)) child.links.set(inverse, key);
        if (!toMany) node.links.set(relation, child.key);
      }
    }
    return node;
  };
  for (const { body, pointer } of records) visit(root, body, pointer, true);
  return nodes;
}

function cyclesIn(nodes: readonly SeedNode[]): readonly Fault[] {
  const message = 'This link closes a cycle of new records; leave it out, and set it through an API request';
  const made = new Map(nodes.filter(({ isNew }) => isNew).map((node) => [`${node.type.name} ${node.key}`, node]));
  const linksOf = (node: SeedNode) =>
    [...node.links].flatMap(([{ link, name, target }, key]) => {
      const to = link.at === 'source' ? made.get(`${target.name} ${key ?? ''}`) : undefined;
      return to && to !== node ? { to, pointer: `${node.pointer}/${escapeStep(name)}` } : [];
    });
  return closingLinks(made.values(), linksOf).map(({ pointer }) => ({ pointer, code: 'cycle', message }));
}

/** Unmet checks of new records, and links to seeds of later types. */
function unmetIn(type: RecordType, nodes: readonly SeedNode[], order: readonly RecordType[]): readonly Fault[] {
  const later = new Set(order.slice(order.indexOf(type) + 1));
  return nodes.flatMap(({ type: of, key, isNew, body, pointer: at }) => {
    const { name } = of.identifier;
    if (later.has(of) && of.seed.some((seed) => identifierOf(of.identifier, seed[name]) === key)) {
      const message = `${of.name} ${key} is not there yet: the seeds of ${of.name} come after those of ${type.name}, which it refers to; link it from there, or through an API request`;
      return [{ pointer: `${at}/${escapeStep(name)}`, code: 'not-found', message }];
    }
    return (isNew ? unmetBy(of, body) : []).map((check) => {
      return { pointer: `${at}/${escapeStep(check.at.name)}`, code: 'check', message: check.message };
    });
  });
}

/** Finds unique values that records, nested or not, repeat; reported at the second. */
function repeatedIn(all: readonly SeedNode[]): readonly (readonly [DescriptorFile, Fault])[] {
  return [...Map.groupBy(all, ({ type }) => type)].flatMap(([type, ofType]) => {
    const records = [...Map.groupBy(ofType, ({ key }) => key).values()];
    return uniqueIndexes(type).flatMap(({ members }) => {
      const order = members.map((member) => ('link' in member ? asWritten : member.type).compare);
      const valued = records.map((nodes) => ({ nodes, values: members.map((member) => valueIn(member, nodes)) }));
      type Valued = (typeof valued)[number];
      const compared = (one: Valued, other: Valued): number =>
        order.reduce((sign, compare, at) => sign || compare(one.values[at] ?? null, other.values[at] ?? null), 0);
      const sorted = valued.filter(({ values }) => !values.includes(null)).toSorted(compared);
      return sorted.flatMap((one, at) => {
        const [before, [earlier] = []] = [sorted[at - 1], sorted[at - 1]?.nodes];
        if (!before || !earlier || compared(before, one) !== 0) return [];
        const [first] = members;
        const naming = first && one.nodes.findLast(({ body }) => Object.hasOwn(body, first.name));
        const { file, pointer } = naming ?? one.nodes[0] ?? earlier;
        const who =
          typeof earlier.key === 'number' && earlier.key < 0
            ? `another ${type.name} of the seeds`
            : `the seed record ${earlier.key}`;
        const message = `${who} has this value of ${members.map(({ name }) => `"${name}"`).join(' and ')} already`;
        const where = naming ? `${pointer}/${escapeStep(first.name)}` : pointer;
        return [[file, { pointer: where, code: 'unique', message }] as const];
      });
    });
  });
}

/** The last value that a node gives, or the default of a new record; null if unknown. */
function valueIn(member: UniqueMembers['members'][number], nodes: readonly SeedNode[]): JsonValue {
  if ('link' in member) return nodes.flatMap(({ links }) => links.get(member) ?? []).at(-1) ?? null;
  const { name, generated, isNowByDefault, caseless, default: value } = member;
  const last = nodes.findLast(({ body }) => Object.hasOwn(body, name));
  const isDefault = !isNowByDefault && nodes.some(({ isNew }) => isNew);
  const given = (last ? last.body[name] : isDefault ? value : null) ?? null;
  return generated || given === null ? null : caseless ? foldedValue(given) : given;
}

function checkDefaults(files: readonly DescriptorFile[], { types }: Model): readonly Diagnostic[] {
  return files.flatMap((file) => {
    const type = types.get(file.descriptor.type);
    const unmet = new Set(type ? unmetBy(type, {}) : []);
    return [...(type?.checks ?? [])].flatMap((check, index) => {
      const isDefault = check.fields.every((field) => (field.default ?? null) !== null);
      const message = `the defaults break this check: ${check.message}; change one of them`;
      return isDefault && unmet.has(check)
        ? [diagnose(file, 'broken-default', ['checks', index], 'value', message)]
        : [];
    });
  });
}
