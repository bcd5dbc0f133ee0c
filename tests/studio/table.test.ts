/** Tables as Excel writes and reads them: what becomes of a cell, and of a file. */
import { NumberText } from '../../studio/data/json.ts';
import type { FieldInfo } from '../../studio/data/model.ts';
import { CellFault, cellOf, csvText, valueIn } from '../../studio/many/cells.ts';
import { readTable, type Table, writeCsv, writeXlsx } from '../../studio/many/table.ts';

const fieldOf = (words: Partial<FieldInfo>): FieldInfo => ({
  name: 'f',
  title: 'F',
  type: 'string',
  examples: [],
  operators: [],
  isOrderIndexed: false,
  ...words,
});
const say = (key: string): string => ({ 'table.true': 'WAHR', 'table.false': 'FALSCH' })[key] ?? key;
const german = { say, language: 'de', decimal: undefined };

const STATES = { enum: ['open', 'paid'], titles: { open: 'Offen' } };
test.each<[words: Partial<FieldInfo>, cell: string | NumberText | boolean | Date, value: unknown]>([
  [{ type: 'decimal', scale: 2 }, '1.234,50', '1234.50'],
  [{ type: 'decimal', scale: 2 }, '7,90', '7.90'],
  [{ type: 'decimal', scale: 2 }, new NumberText('1.5'), '1.5'],
  [{ type: 'integer' }, '3.000', new NumberText('3000')],
  [{ type: 'integer' }, new NumberText('12'), new NumberText('12')],
  [{ type: 'boolean' }, 'WAHR', true],
  [{ type: 'boolean' }, 'falsch', false],
  [{ type: 'boolean' }, true, true],
  [{ type: 'date' }, '28.11.2026', '2026-11-28'],
  [{ type: 'date' }, '1.2.26', '2026-02-01'],
  [{ type: 'date' }, '2026-11-28', '2026-11-28'],
  [{ type: 'date' }, new Date('2026-11-28T00:00:00Z'), '2026-11-28'],
  [{ type: 'timestamp' }, '2026-11-28T10:00:00Z', '2026-11-28T10:00:00Z'],
  [{ type: 'timestamp' }, '28.11.2026 10:30', new Date(2026, 10, 28, 10, 30).toISOString()],
  [{ type: 'timestamp' }, new Date('2026-11-28T10:30:00Z'), new Date(2026, 10, 28, 10, 30).toISOString()],
  [STATES, 'Offen', 'open'],
  [STATES, 'PAID', 'paid'],
  [{}, "'=1+1", '=1+1'],
  [{}, new NumberText('00123'), '00123'],
  [{ type: 'array', items: { type: 'string' } }, '["a","b"]', ['a', 'b']],
  [{}, '', null],
])('a cell of %j with %s is %j', (words, cell, value) => {
  expect(valueIn(fieldOf(words), cell, german)).toEqual(value);
});

test.each<[words: Partial<FieldInfo>, cell: string, said: string]>([
  [{ type: 'decimal' }, '1.500', 'fault.two_ways'],
  [{ type: 'decimal' }, 'viel', 'limit.number'],
  [{ type: 'integer' }, '1,5', 'limit.integer'],
  [{ type: 'date' }, '31.2.2026', 'fault.date'],
  [{ type: 'date' }, '11/28/2026', 'fault.date'],
  [{ type: 'timestamp' }, 'bald', 'fault.time'],
  [{ type: 'boolean' }, 'vielleicht', 'fault.boolean'],
  [STATES, 'lost', 'fault.enum'],
])('a cell of %j with %s has no value', (words, cell, said) => {
  expect(() => valueIn(fieldOf(words), cell, german)).toThrow(new CellFault(said));
});

test('a number that can be read in two ways is read with the decimal mark that was chosen', () => {
  const price = fieldOf({ type: 'decimal', scale: 2 });
  expect(valueIn(price, '1.500', { ...german, decimal: ',' })).toBe('1500');
  expect(valueIn(price, '1.500', { ...german, decimal: '.' })).toBe('1.50');
});

const bytesOf = async (blob: Blob): Promise<ArrayBuffer> => await blob.arrayBuffer();
const cellsIn = ({ rows }: Table) => rows.map(({ cells }) => cells);

test('what a workbook has is read again, with each digit and each day', async () => {
  const rows = [
    ['Preis', 'Tag', 'Zeit', 'Aktiv', 'Name'],
    [
      new NumberText('7.9'),
      new Date('2026-11-28T00:00:00Z'),
      new Date('2026-11-28T10:30:15Z'),
      true,
      'Müller & "Söhne"',
    ],
    [new NumberText('-1234567.25'), null, null, false, '=1+1'],
  ];
  const read = await readTable('a.xlsx', await bytesOf(await writeXlsx(rows, 'Preise: 1/2')));
  expect(read.head).toEqual(rows[0]);
  expect(read.rows.map(({ line }) => line)).toEqual([2, 3]);
  expect(cellsIn(read)).toEqual(rows.slice(1));
});

test('CSV as Excel opens it in German has a byte order mark, semicolons and decimal commas', async () => {
  const cells = [
    new NumberText('1234.5'),
    true,
    '=HYPERLINK("x")',
    new NumberText('-5'),
    new Date('2026-11-28T10:30:00Z'),
  ];
  const blob = await writeCsv([['A', 'B', 'C', 'D', 'E'], cells.map((cell) => csvText(say, cell, 'de'))], true);
  const bytes = await bytesOf(blob);
  expect([...new Uint8Array(bytes).slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  expect(new TextDecoder().decode(bytes)).toBe(
    'A;B;C;D;E\r\n1234,5;WAHR;"\'=HYPERLINK(""x"")";-5;2026-11-28 10:30:00\r\n',
  );
});

test.each([
  ['with semicolons, in Windows-1252', Buffer.from('Name;Preis\r\nM\xfcller;"1,5"\r\n;\r\nB;2\r\n', 'latin1')],
  ['with commas, in UTF-8 with its mark', Buffer.from('\uFEFFName,Preis\nMüller,"1,5"\n,\nB,2')],
  ['with tabs', Buffer.from('Name\tPreis\nMüller\t1,5\n\t\nB\t2\n')],
])('CSV %s', async (_, bytes) => {
  const table = await readTable('a.csv', new Uint8Array(bytes).buffer);
  expect(table.head).toEqual(['Name', 'Preis']);
  expect(table.rows).toEqual([
    { line: 2, cells: ['Müller', '1,5'] },
    { line: 4, cells: ['B', '2'] },
  ]);
});

test('a value is written as people read it, and read again as what it was', () => {
  const fields = [
    [fieldOf({ type: 'decimal', scale: 2 }), '1234567.50'],
    [fieldOf({ type: 'integer' }), new NumberText('3000')],
    [fieldOf(STATES), 'open'],
    [fieldOf({ type: 'date' }), '2026-11-28'],
    [fieldOf({ type: 'timestamp' }), '2026-11-28T10:30:00.000Z'],
    [fieldOf({ type: 'boolean' }), false],
  ] as const;
  for (const [field, value] of fields) {
    const cell = cellOf(say, field, value);
    expect(valueIn(field, cell, german)).toEqual(value);
    expect(valueIn(field, csvText(say, cell, 'de'), german)).toEqual(value);
  }
});
