/** Faults to plant, each as the words of the source that it replaces. */
export interface Edit {
  /** Stands once in engine/, however it is laid out; the suites themselves are left alone. */
  readonly find: string;
  readonly replace: string;
  /** What the file exports, where the words stand in several. */
  readonly exporter?: string;
}

export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** The schema whose suites are tried first. */
  readonly schema?: string;
}

export const mutant = (name: string, find: string, replace: string, exporter?: string): Mutant => ({
  name,
  edits: [{ find, replace, ...(exporter && { exporter }) }],
});

export const mutants: readonly Mutant[] = [
  mutant(
    'a validator that accepts everything',
    'const errors = validate(body) ? undefined',
    'const errors = validate(body) || true ? undefined',
  ),
  mutant('a body that may contradict itself', 'if (!mayDiffer) return [];', 'if (mayDiffer || !mayDiffer) return [];'),
  mutant(
    'faults in any order',
    'for (const key of Object.keys(body)) {\n      if (first.length',
    'for (const key of Object.keys(body).toReversed()) {\n      if (first.length',
  ),
  mutant(
    'an update that resets what was left out',
    'const given = { records: items, raw,',
    'const given = { records: items.map((item) => item.identifier === undefined ? item : { ...item, body: { ...Object.fromEntries([...type.fields.values()].map((field) => [field.name, field.default ?? null])), ...item.body } }), raw,',
  ),
  mutant('a batch that names one record twice', 'if (known.has(root)) {', 'if (known.has(root) && root < 0) {'),
  mutant(
    'arrays that are not split at their commas',
    "!parameter.value.includes(',')) return parameter;",
    "parameter.value.includes(',')) return parameter;",
  ),
  mutant('a batch answered in another order', 'order by listed.key`', 'order by listed.key desc`'),
  mutant(
    'a fault without its item',
    'within: errorsWithin, place: pointer, isTold',
    "within: errorsWithin, place: '', isTold",
  ),
  mutant(
    'a batch with any tags',
    "if (matchesStrongly(tag, mode === 'off' ? '' : entityTag(current))) return;",
    'if (current !== undefined) return;',
  ),
  mutant('a batch that ignores If-Match', "if (errors.length > 0) throw faultyRequest('invalid-header', errors);", ''),
  mutant('an offset taken for the limit', 'index === place)', 'index === 1 - place)'),
  mutant('a delete that answers nothing', 'writeAnswer(request, 200, body, {})', "writeAnswer(request, 200, '', {})"),
  mutant(
    'a group that needs all its items',
    "return kind === 'any' ? any(conditions) : all(conditions);",
    'return all(conditions);',
  ),
  mutant('a negation that leaves out nulls', 'sql: `(${sql}) is not true`', 'sql: `not (${sql})`'),
  mutant('every taken for none', "kind === 'every' ? not(inner) : inner", 'inner'),
  mutant('none taken for some', "sql: kind === 'some' ? found :", "sql: kind !== 'every' ? found :"),
  mutant('none of a group that needs all its items', 'return not(any(conditions));', 'return not(all(conditions));'),
  mutant(
    'a long pattern taken for a short one',
    "segments === 0 ? `${column} ${like.short} ? escape '\\\\'` : like.long(column, segments)",
    "`${column} ${like.short} ? escape '\\\\'`",
  ),
  mutant(
    'a count of all records',
    'relatedRows(path.set, source.row(path.relations), source.set(), dialect)',
    "fromTables({ ...relatedTables(path.set, source.row(path.relations), source.set(), dialect), conditions: ['true'] })",
  ),
  mutant('a summary of all records', "where.sql === '' ? '' : ` where", "true ? '' : ` where"),
  mutant('sums that forget what the first values have less digits', '10n ** BigInt(most - digits)', '1n'),
  mutant('groups by what is written', 'computed: [`${comparable} as ${group}`', 'computed: [`${stored} as ${group}`'),
  mutant('groups without an order', '...rest.filter((key) => !order.some((one) => isSame(one, key)))', ''),
  mutant('a count of values that counts nulls', 'computed: [`count(${stored}) as', 'computed: [`count(*) as'),
  mutant('a least value that is the greatest', 'sign * (value - total.value) < 0', 'sign * (value - total.value) > 0'),
  mutant('a period that is not in UTC', "`case when substr(${column}, length(${column})) = 'Z'", '`case when true'),
  mutant('months with their day', 'month: orBegin(7, month)', 'month: orBegin(10, month)'),
  mutant('groups of a page beyond its limit', 'hasNext ? texts.slice(0, limit) : texts', 'texts'),
  mutant('an order that ignores desc', 'descending: term.descending', 'descending: false'),
  mutant(
    'nulls after everything else',
    "(expression, descending) => `${expression} ${descending ? 'desc' : 'asc'}`",
    "(expression, descending) => `${expression} ${descending ? 'desc nulls first' : 'asc nulls last'}`",
  ),
  mutant(
    'decimals through a float',
    "sqlType: 'text',\n      encode: String,",
    "sqlType: 'text',\n      encode: (value) => String(Number(value)),",
    'decimal',
  ),
  mutant(
    'a nested write outside the transaction',
    'throw new FailedHalfway();\n        connection.command(ROLLBACK);',
    'throw new FailedHalfway();\n        connection.command(COMMIT);',
    'createGroupCommit',
  ),
  mutant('a set that keeps what was left out', 'current.filter((identifier) => !isKept(identifier)),', '[],'),
  mutant('an unknown key ignored', 'additionalProperties: open', 'additionalProperties: true'),
  mutant('a 404 as 200 null', '?? noSuchRecord(type, identifier)', "?? 'null'"),
  mutant('a unique index missing', "create ${unique ? 'unique ' : ''}index", 'create index'),
  mutant('a filter ignored', 'and(conditions.map((condition) =>', 'and(conditions.slice(0, 1).map((condition) =>'),
  mutant(
    'a pointer one level short',
    'else yield [error, path];',
    "else yield [error, path.slice(0, path.lastIndexOf('/'))];",
  ),
  {
    name: 'totals that ignore filters',
    edits: [
      {
        find: "'count(*)', matching, dialect)",
        replace: "'count(*)', { sql: '', values: [] }, dialect)",
      },
      {
        find: 'filterValues: ({ filters }) => valuesOf(filters, dialect),',
        replace: 'filterValues: () => [],',
      },
    ],
  },
  mutant(
    'HEAD with a body',
    '  response.end(bytes);\n',
    '  Object.assign(response, { _hasBody: true });\n  response.end(bytes);\n',
  ),
  mutant(
    'a filter without the values after the first',
    'Array.isArray(value) ? value : [value]',
    'Array.isArray(value) ? value.slice(0, 1).concat(value.slice(0, 1), value.slice(2)) : [value]',
    'operatorsByName',
  ),
  mutant(
    'a merge patch that replaces',
    'mergePatch, view, author, caller,',
    'mergePatch: false, view, author, caller,',
  ),
  mutant(
    'a merge patch that writes what it leaves alone anew',
    'change === undefined ? takeValue(target)',
    'change === undefined ? JSON.stringify(JSON.parse(takeValue(target)))',
  ),
  mutant('a value kept as JSON.parse has it', 'raw?.get(key) ?? { name', '(raw ? undefined : undefined) ?? { name'),
  mutant(
    'open keys in the order of JavaScript',
    'return [...keys.filter((key) => !raw.has(key)), ...raw.keys()];',
    'return keys;',
  ),
  mutant('If-Match that is not looked at', '!matchesStrongly(expected, tag)', 'false'),
  mutant('a deletion that cascades where it must be refused', 'onDelete(ON_DELETE[onDelete])', "onDelete('cascade')"),
  mutant(
    'defaults that are not filled in',
    "return openColumn(node) ?? '{}'; return node.table.defaults.get(name) ?? null;",
    "return openColumn(node) ?? '{}'; return node.table.columns.some((one) => one.name === name && one.nullable) ? null : (node.table.defaults.get(name) ?? null);",
  ),
  mutant('a read-only field that can be written', 'field.readOnly &&', 'false &&', 'resolveBody'),
  mutant(
    'an owned child that changes its parent',
    'if (!relation.owned || (await mayOwn(',
    'if (true || (await mayOwn(',
  ),
  {
    name: 'a body of any size',
    edits: [
      {
        find: "if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit, mediaType);",
        replace: '',
      },
      { find: 'if (needed > limit) throw', replace: 'if (false) throw' },
    ],
  },
  mutant('two codings under one tag', 'codedTag(tag, coding)', 'tag'),
  mutant('a cache that mixes up codings', "['Accept', 'Accept-Encoding', 'Prefer']", "['Accept', 'Prefer']"),
  mutant('a refused media type without one that would do', "headers: { [header]: accepted.join(', ') }", 'headers: {}'),
  {
    name: 'an origin that nobody named',
    edits: [
      {
        find: 'known.size === 0 ? () => NO_HEADERS : headersOf',
        replace: 'headersOf',
      },
      { find: 'everyone || known.has(origin);', replace: 'true;' },
    ],
  },
  mutant('a page whose tag forgets the total', "${total ?? ''}", ''),
  mutant(
    'preferences that are followed in silence',
    '{ ...more, ...applied }, body: undefined',
    '{ ...more }, body: undefined',
  ),
  mutant(
    'a check that only new records meet',
    'check.fields.some((field) => isChanged(session, node, field))',
    'false',
  ),
  mutant(
    'a check that sees only what the body says',
    'assigned ? assigned.value : stored)',
    'assigned ? assigned.value : null)',
  ),
  mutant('stamps that bodies set', 'field.generated !== undefined && !session.rules.readOnlyToo', 'false'),
  mutant('a change without a stamp', 'stampChanged(session, changed);', ''),
  mutant(
    "a creation's stamp that every change moves",
    "new Set<Generated>(['updatedAt', 'updatedBy'])",
    "new Set<Generated>(['updatedAt', 'updatedBy', 'createdAt'])",
  ),
  mutant(
    'a stamp without a change',
    '.filter((node) => !session.deleted.has(node) && isChanged(node))',
    '.filter((node) => !session.deleted.has(node) && (node.table.filled.changed.length > 0 || isChanged(node)))',
  ),
  mutant(
    'a deletion that unlinks without a stamp',
    'if (!unlinksStamped(type)) return;',
    'if (unlinksStamped(type)) return;',
  ),
  mutant(
    'a set that unlinks without a stamp',
    'set ${quote(column)} = null${stamped} where',
    'set ${quote(column)} = null${stamped.slice(0, 0)} where',
  ),
  mutant(
    'two times in one request',
    'at: () => (time ??= clock())',
    'at: () => new Date(Number((time = clock())) + Math.random() * 1e6)',
  ),
  mutant(
    'copies of stamps that must agree',
    'if (field ? field.generated !== undefined : !type.open) continue;',
    'if (!field && !type.open) continue;',
  ),
  mutant('a tree that closes on itself', 'if (met !== undefined) for', 'if (met !== undefined && way.length < 2) for'),
  mutant('a tree that sees only what is stored', 'links.get(place) ?? (links.has(place)', '(false'),
  mutant('a tree that sees only what the body says', ': (stored.get(place) ?? null));', ': null);'),
  mutant(
    'a group of a check that null breaks',
    "const inner = group === 'none' && withNull !== undefined ? !withNull : withNull;",
    'const inner = withNull;',
    'meets',
  ),
  mutant(
    'a group of a check that needs all its items',
    "if (group === 'all') return (valueOf) => all.every((test) => test(valueOf));",
    "if (group !== 'none') return (valueOf) => all.every((test) => test(valueOf));",
  ),
  mutant('a check that null breaks', 'must.map((one) => tester(one, true))', 'must.map((one) => tester(one, false))'),
  mutant('a check of all records, whatever its case', '!cases.every((test) => test(valueOf)) ||', ''),
  mutant('a dry run that is kept', 'throw new Rehearsed()', 'return ended.result'),
  mutant('a dry run that forgets what it deletes', "note({ kind: 'deleted', type, identifiers })", 'all()'),
  mutant(
    'a dry run that takes a cascade for an unlink',
    "'cascade' ? 'deleted' : 'unlinked'",
    "'cascade' ? 'unlinked' : 'unlinked'",
  ),
  mutant(
    'a dry run that tells one side of a pair',
    'for (const [column, other] of sides)',
    'for (const [column, other] of sides.slice(1))',
  ),
  mutant('a dry run that takes every link for a new one', "value === null ? 'unlinked' : 'linked'", "'linked'"),
  mutant('a dry run that tells more of what is made', 'others.some(({ found }) => found.has(identifier))', 'false'),
  mutant('a deletion of more than is allowed', 'if (affected <= limit) return affected', 'return affected'),
  mutant(
    'a deletion that counts only what it finds',
    '(await countBelow(session, type, still, limit - still.length, true)).rows',
    '0',
  ),
  mutant('a deletion without filters', 'given.length === 0 && faults.length === 0', 'false'),
  mutant(
    'links that count twice',
    '!pairs.has(`${table.name} ${pair.join(',
    'true || !pairs.has(`${table.name} ${pair.join(',
  ),
  mutant('an upsert that always creates', 'identifier: found[index],', 'identifier: undefined,'),
  mutant(
    'an upsert of several that takes new ones for changes',
    '(identifier === undefined ? create : update)(variant)',
    'update(variant)',
  ),
  mutant(
    'an upsert of one record twice',
    "if (faults.length > 0) throw faultyRequest('invalid-body', faults);",
    '',
    'createUpsert',
  ),
  mutant(
    'an empty cell that is the empty text',
    'reading.at === at ? null : text.slice(at, reading.at)',
    'text.slice(at, reading.at)',
  ),
  mutant('a quote in a cell that stays twice', `return within.split('""').join('"');`, 'return within;'),
  mutant(
    'a cell of JSON that is a text',
    "{ value: value === undefined || typeof value === 'object' ? cell : value }",
    '{ value: value === undefined ? cell : String(value) }',
  ),
  mutant(
    'lines that begin with the second',
    '`/${gathered.records.length}`; let record',
    '`/${gathered.records.length + 1}`; let record',
  ),
  mutant(
    'an upsert of a record that is not there under If-Match',
    'absent: () => refuseAnyMatch(request)',
    'absent: () => undefined',
  ),
  mutant('a bound that is not met by itself', '(order) => order >= 0', '(order) => order > 0'),
  mutant('operands whose case counts', 'path.field?.caseless ? foldedValue(value) : value', 'value'),
  mutant(
    'a change that leaves the folded text as it was',
    '[change, [beside, foldedText(change[1])] as const]',
    '[change]',
  ),
  mutant(
    'a new record without its folded text',
    'if (text !== undefined) return foldedText(newValue(node, text));',
    'if (text !== undefined) return null;',
  ),
  mutant(
    'lists whose case counts',
    'comparedColumn(field, named, name, field.caseless ? field.folded : undefined)',
    'comparedColumn(field, named, name, undefined)',
  ),
  mutant(
    'a unique index whose case counts',
    'comparedColumn(member, dialect.quote, dialect.name, member.folded)',
    'comparedColumn(member, dialect.quote, dialect.name, undefined)',
  ),
  mutant('a conflict that looks for the same case', 'field.folded === undefined ? plain : foldedText(plain)', 'plain'),
  mutant(
    'checks whose case counts',
    'const isFolded = field.folded !== undefined || other?.folded !== undefined;',
    'const isFolded = false;',
  ),
  mutant('the least of texts by their case', "hex(${folded}) || '!' || ${text}", "hex(${text}) || '!' || ${text}"),
];
