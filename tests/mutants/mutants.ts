/** Faults to plant, each as the words of the source that it replaces. The words must stand there exactly once. */
export interface Edit {
  /** From the root of the project. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
}

const mutant = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  edits: [{ file: `engine/${file}`, find, replace }],
});

export const mutants: readonly Mutant[] = [
  mutant(
    'a validator that accepts everything',
    'validation/compile.ts',
    'validate(body) ? [] : (validate.errors ?? [])',
    'validate(body) ? [] : []',
  ),
  mutant(
    'a body that may contradict itself',
    'validation/agreement.ts',
    'if (!mayDiffer) return [];',
    'if (mayDiffer || !mayDiffer) return [];',
  ),
  mutant('faults in any order', 'document-order.ts', 'for (const key of keys)', 'for (const key of keys.toReversed())'),
  mutant(
    'an update that resets what was left out',
    'storage/write/writes.ts',
    '{ mergePatch, readOnlyToo: false },\n          { body, raw, faults, writeRows },',
    '{ mergePatch, readOnlyToo: false },\n          { body: { ...Object.fromEntries([...type.fields.values()].map((field) => [field.name, field.default ?? null])), ...body }, raw, faults, writeRows },',
  ),
  mutant('an offset taken for the limit', 'query/prepared-type.ts', 'index === place)', 'index === 1 - place)'),
  mutant(
    'a delete that answers nothing',
    'http/operations.ts',
    'writeAnswer(request, 200, written.body, {})',
    "writeAnswer(request, 200, '', {})",
  ),
  mutant('an order that ignores desc', 'query/order.ts', 'descending: term.descending', 'descending: false'),
  mutant(
    'nulls after everything else',
    'storage/sqlite/dialect.ts',
    "? 'desc' : 'asc'}`",
    "? 'desc nulls first' : 'asc nulls last'}`",
  ),
  mutant(
    'decimals through a float',
    'field-types/decimal.ts',
    "sqlType: 'text',\n      encode: String,",
    "sqlType: 'text',\n      encode: (value) => String(Number(value)),",
  ),
  mutant(
    'a nested write outside the transaction',
    'storage/sqlite/group-commit.ts',
    'if (connection.database.inTransaction) connection.command(ROLLBACK);',
    'if (connection.database.inTransaction) connection.command(COMMIT);',
  ),
  mutant(
    'a set that keeps what was left out',
    'storage/write/relation.ts',
    'current.filter((identifier) => !isKept(identifier)),',
    '[],',
  ),
  mutant(
    'an unknown key ignored',
    'validation/body-schema.ts',
    '...(type.open ? {} : { additionalProperties: false }),',
    '',
  ),
  mutant('a 404 as 200 null', 'http/operations.ts', '?? noSuchRecord(type, identifier)', "?? 'null'"),
  mutant('a unique index missing', 'storage/define.ts', "create ${unique ? 'unique ' : ''}index", 'create index'),
  mutant(
    'a filter ignored',
    'storage/read/lists.ts',
    'and(filters.map((filter) =>',
    'and(filters.slice(0, 1).map((filter) =>',
  ),
  mutant(
    'a pointer one level short',
    'validation/faults.ts',
    'pointer: instancePath,',
    "pointer: instancePath.slice(0, instancePath.lastIndexOf('/')),",
  ),
  {
    name: 'totals that ignore filters',
    edits: [
      {
        file: 'engine/storage/read/lists.ts',
        find: "'count(*)', filterCondition(query, counted, dialect)",
        replace: "'count(*)', { sql: '', values: [] }",
      },
      {
        file: 'engine/storage/read/lists.ts',
        find: 'filterValues: (asked) => filterValues(asked, filterPaths),',
        replace: 'filterValues: () => [],',
      },
    ],
  },
  mutant(
    'HEAD with a body',
    'http/send.ts',
    '  response.end(bytes);\n',
    '  Object.assign(response, { _hasBody: true });\n  response.end(bytes);\n',
  ),
  mutant(
    'a filter without the values after the first',
    'query/operators.ts',
    'Array.isArray(value) ? value : [value]',
    'Array.isArray(value) ? value.slice(0, 1).concat(value.slice(0, 1), value.slice(2)) : [value]',
  ),
  mutant('a merge patch that replaces', 'http/operations.ts', '      mergePatch,\n', '      mergePatch: false,\n'),
  mutant(
    'a merge patch that writes what it leaves alone anew',
    'storage/write/record.ts',
    'change === undefined ? takeValue(target)',
    'change === undefined ? JSON.stringify(JSON.parse(takeValue(target)))',
  ),
  mutant(
    'a value kept as JSON.parse has it',
    'storage/write/record.ts',
    'raw?.get(key) ?? { name',
    '(raw ? undefined : undefined) ?? { name',
  ),
  mutant(
    'open keys in the order of JavaScript',
    'storage/write/record.ts',
    'return [...keys.filter((key) => !raw.has(key)), ...raw.keys()];',
    'return keys;',
  ),
  mutant('If-Match that is not looked at', 'http/conditions.ts', '!matchesStrongly(expected, tag)', 'false'),
  mutant(
    'a deletion that cascades where it must be refused',
    'storage/define.ts',
    'onDelete(ON_DELETE[onDelete])',
    "onDelete('cascade')",
  ),
  mutant(
    'defaults that are not filled in',
    'storage/write/execute.ts',
    '(assigned ? valueOf(assigned.value) : node.table.defaults.get(name)) ?? null',
    '(assigned ? valueOf(assigned.value) : undefined) ?? null',
  ),
  mutant('a read-only field that can be written', 'storage/write/record.ts', 'field.readOnly &&', 'false &&'),
  mutant(
    'an owned child that changes its parent',
    'storage/write/relation.ts',
    'if (!relation.owned || (await mayOwn(',
    'if (true || (await mayOwn(',
  ),
  {
    name: 'a body of any size',
    edits: [
      {
        file: 'engine/http/content.ts',
        find: "if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);",
        replace: '',
      },
      { file: 'engine/http/content.ts', find: 'if (needed > limit) throw', replace: 'if (false) throw' },
    ],
  },
  mutant('two codings under one tag', 'http/send.ts', 'codedTag(tag, coding)', 'tag'),
  mutant(
    'a cache that mixes up codings',
    'http/envelope.ts',
    "['Accept', 'Accept-Encoding', 'Prefer']",
    "['Accept', 'Prefer']",
  ),
  mutant(
    'a refused media type without one that would do',
    'http/negotiation.ts',
    "headers: { [header]: accepted.join(', ') }",
    'headers: {}',
  ),
  {
    name: 'an origin that nobody named',
    edits: [
      {
        file: 'engine/http/envelope.ts',
        find: 'known.size === 0 ? () => NO_HEADERS : headersOf',
        replace: 'headersOf',
      },
      { file: 'engine/http/envelope.ts', find: '!(everyone || known.has(origin))', replace: 'false' },
    ],
  },
  mutant('a page whose tag forgets the total', 'http/conditions.ts', "${total ?? ''}", ''),
  mutant(
    'preferences that are followed in silence',
    'http/record-answer.ts',
    '{ ...more, ...applied }, body: undefined',
    '{ ...more }, body: undefined',
  ),
];
