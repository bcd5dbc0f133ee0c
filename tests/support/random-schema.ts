/** Small random schemas, from the grammar: any kinds of fields and relations over one to three types. */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkSchema } from '../../engine/validation/check-schema.ts';
import {
  type CheckDescriptor,
  type Descriptor,
  type FieldDescriptor,
  type RelationDescriptor,
} from '../../engine/descriptor/descriptor.ts';
import type { JsonValue } from '../../engine/json/json.ts';
import type { Model } from '../../engine/model/model.ts';
import fc from './fast-check.ts';

const NAMES = ['Red', 'Green', 'Blue'] as const;

const FIELDS: readonly FieldDescriptor[] = [
  { type: 'string', multiline: true },
  { type: 'string', title: 'Überschrift "<1>"', maxLength: 12, unique: true },
  { type: 'string', required: true, minLength: 1 },
  { type: 'string', enum: ['a', 'B', 'é', ''], titles: { B: 'Bé', '': 'None' }, default: 'a' },
  { type: 'string', maxLength: 12, unique: true, caseless: true },
  { type: 'string', enum: ['étui', 'Straße', 'STRASSE', 'E\u0301tui', ''], default: 'Straße', caseless: true },
  { type: 'integer' },
  { type: 'integer', default: 0, minimum: -3, maximum: 20 },
  { type: 'boolean', nullable: true, default: true },
  { type: 'decimal', precision: 8, scale: 2 },
  { type: 'decimal', precision: 10, scale: 3, minimum: '-5.5' },
  { type: 'decimal', precision: 8, scale: 2, unique: true },
  { type: 'date' },
  { type: 'string', default: 'fixed', readOnly: true },
  { type: 'integer', readOnly: true, sensitive: true },
  { type: 'any', readOnly: true },
  { type: 'timestamp' },
  { type: 'timestamp', generated: 'updatedAt' },
  { type: 'string', generated: 'createdBy' },
  { type: 'date', default: 'now' },
  { type: 'number' },
  { type: 'any' },
  { type: 'array', default: [] },
  { type: 'array', maxItems: 3, items: { type: 'decimal', precision: 6, scale: 2, nullable: true } },
];

interface TypeChoice {
  readonly fields: readonly FieldDescriptor[];
  readonly open: boolean;
  readonly order: boolean;
  readonly orderDown: boolean;
  /** A field and a link that are unique together. */
  readonly together: boolean;
  readonly checks: readonly CheckChoice[];
}

interface CheckChoice {
  readonly field: number;
  readonly other: number;
  readonly operator: 'gte' | 'lt' | 'eq' | 'ne';
  readonly always: boolean;
  readonly group: 'plain' | '$any' | '$all' | '$none';
}

interface RelationChoice {
  readonly from: number;
  readonly to: number;
  readonly shape: keyof typeof SHAPES;
  readonly inverse: boolean;
  readonly nested: boolean;
  readonly backNested: boolean;
  readonly onDelete: 'restrict' | 'cascade' | 'setNull';
  readonly shown: boolean;
  readonly backShown: boolean;
  readonly acyclic: boolean;
}

type Sides = readonly [RelationDescriptor, RelationDescriptor | undefined];
type Side = Omit<RelationDescriptor, 'type'>;

/** Each shape as its side at the source and, where it has one, the other. */
const SHAPES = {
  belongsTo: ({ onDelete }: RelationChoice): readonly [Side, Side] => [
    { kind: 'belongsTo', onDelete },
    { kind: 'hasMany' },
  ],
  belongsToOne: ({ onDelete }: RelationChoice): readonly [Side, Side] => [
    { kind: 'belongsTo', onDelete },
    { kind: 'hasOne' },
  ],
  ownsMany: (): readonly [Side, Side] => [{ kind: 'hasMany', owned: true }, { kind: 'belongsTo' }],
  ownsOne: (): readonly [Side, Side] => [{ kind: 'hasOne', owned: true }, { kind: 'belongsTo' }],
  hasMany: (): readonly [Side, Side] => [{ kind: 'hasMany' }, { kind: 'belongsTo' }],
  manyToMany: (): readonly [Side, Side] => [{ kind: 'manyToMany' }, { kind: 'manyToMany' }],
} as const;

const typeChoice: fc.Arbitrary<TypeChoice> = fc.record({
  fields: fc.uniqueArray(fc.constantFrom(...FIELDS), { maxLength: 3 }),
  open: fc.boolean(),
  order: fc.boolean(),
  orderDown: fc.boolean(),
  together: fc.boolean(),
  checks: fc.array(
    fc.record({
      field: fc.nat(2),
      other: fc.nat(2),
      operator: fc.constantFrom('gte', 'lt', 'eq', 'ne'),
      always: fc.boolean(),
      group: fc.constantFrom('plain', 'plain', '$any', '$all', '$none'),
    }),
    { maxLength: 2 },
  ),
});

const NUMBERS: ReadonlySet<unknown> = new Set(['integer', 'number', 'decimal']);

/** Of two fields that can be compared; of others, one must be there where the other is not. */
function checkOf(
  { field, other, operator, always, group }: CheckChoice,
  fields: readonly (readonly [string, FieldDescriptor])[],
): readonly CheckDescriptor[] {
  const [one, another] = [fields[field], fields[other]];
  if (!one || !another || one === another) return [];
  const isNumber = [one, another].every(([, { type }]) => NUMBERS.has(type));
  const { type } = one[1];
  const isOrdered = (isNumber || type === another[1].type) && (type !== 'boolean' || ['eq', 'ne'].includes(operator));
  const must = isOrdered ? { [operator]: { field: another[0] } } : { null: false };
  const when = always && isOrdered ? {} : { when: { [another[0]]: { null: !isOrdered } } };
  const rule = { [one[0]]: must };
  if (group === 'plain') return [{ must: rule, ...when }];
  const items = [rule, { [one[0]]: { null: true }, [another[0]]: { null: false } }];
  // Either may be what must hold, or a case.
  return always
    ? [{ must: { [group]: items } }]
    : [{ must: rule, when: { $any: [{ $none: [rule] }, { [group]: items }] } }];
}

const relationChoice = (types: number): fc.Arbitrary<RelationChoice> =>
  fc.record({
    from: fc.nat(types - 1),
    to: fc.nat(types - 1),
    shape: fc.constantFrom(...(Object.keys(SHAPES) as (keyof typeof SHAPES)[])),
    inverse: fc.boolean(),
    nested: fc.boolean(),
    backNested: fc.boolean(),
    onDelete: fc.constantFrom('restrict', 'cascade', 'setNull'),
    shown: fc.boolean(),
    backShown: fc.boolean(),
    acyclic: fc.boolean(),
  });

/** Both sides, named by their number. A side that is owned always writes. */
function sidesOf(choice: RelationChoice, index: number, names: readonly string[]): Sides {
  const [here, there] = SHAPES[choice.shape](choice);
  const [from, to] = [names[choice.from] ?? '', names[choice.to] ?? ''];
  const nested = (side: Side, writes: boolean) =>
    side.owned ? {} : { nested: writes ? ('write' as const) : ('link' as const) };
  const isTree = choice.acyclic && from === to && here.kind !== 'manyToMany';
  const tree = isTree ? { acyclic: true } : {};
  const forth = { ...here, ...tree, type: to, shown: choice.shown, ...nested(here, choice.nested) };
  if (!choice.inverse) return [forth, undefined];
  return [
    { ...forth, inverse: `back${index}` },
    { ...there, type: from, inverse: `link${index}`, shown: choice.backShown, ...nested(there, choice.backNested) },
  ];
}

function assemble(types: readonly TypeChoice[], relations: readonly RelationChoice[]): Descriptor[] {
  const names = NAMES.slice(0, types.length);
  const sides = relations.map((choice, index) => ({ choice, index, pair: sidesOf(choice, index, names) }));
  return types.map((type, place) => {
    const forth = sides
      .filter(({ choice }) => choice.from === place)
      .map(({ index, pair }) => [`link${index}`, pair[0]] as const);
    const back = sides.flatMap(({ choice, index, pair }) =>
      choice.to === place && pair[1] ? [[`back${index}`, pair[1]] as const] : [],
    );
    const fields = type.fields.map((field, index) => [`field${index}`, field] as const);
    const comparable = fields.filter(([, field]) => field.type !== 'any' && field.type !== 'array');
    const [first] = comparable[0] ?? [];
    const settable = comparable.filter(([, { generated }]) => generated === undefined);
    const checks = type.checks.flatMap((check) => checkOf(check, settable));
    const order = type.order && first !== undefined ? [`${first}${type.orderDown ? ' desc' : ''}`] : [];
    const link = forth.find(([, { kind }]) => kind === 'belongsTo')?.[0];
    const [member] = settable[0] ?? [];
    const together = type.together && member !== undefined && link !== undefined ? [[member, link]] : [];
    return {
      type: names[place] ?? '',
      order,
      ...(type.orderDown ? { title: { one: 'Colour', many: 'Colours' } } : {}),
      ...(type.orderDown && first !== undefined ? { label: first } : {}),
      unique: together,
      checks: [...new Map(checks.map((check) => [JSON.stringify(check), check])).values()],
      open: type.open,
      fields: Object.fromEntries(fields),
      relations: Object.fromEntries([...forth, ...back]),
    };
  });
}

export const randomSchema: fc.Arbitrary<readonly Descriptor[]> = fc
  .array(typeChoice, { minLength: 1, maxLength: 3 })
  .chain((types) => fc.tuple(fc.constant(types), fc.array(relationChoice(types.length), { maxLength: 4, size: 'max' })))
  .map(([types, relations]) => assemble(types, relations));

/** JSON is YAML. */
const yamlOf = (descriptor: Descriptor): string => JSON.stringify(descriptor as unknown as JsonValue, null, 1);

export function writeSchema(descriptors: readonly Descriptor[]): string {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'schema-'));
  for (const descriptor of descriptors)
    writeFileSync(join(directory, `${descriptor.type.toLowerCase()}.yaml`), yamlOf(descriptor));
  return directory;
}

/** Not everything that can be drawn is a schema: the descriptor stage has the say. */
export const readModel = (directory: string): Model | undefined => checkSchema(directory).model;
