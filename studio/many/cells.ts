/** Values in the cells of spreadsheets: written as the reader's language has them, and read as people write them. */
import { NumberText, parseJson, textOf, type Value, writeJson } from '../data/json.ts';
import type { FieldInfo } from '../data/model.ts';
import { itemOf } from '../presentations/choose.ts';
import { isJson, isNumber, placesOf } from '../presentations/field-draft.ts';
import { numberReadings, numberTyped } from '../presentations/numbers.ts';
import { titleOfValue } from '../presentations/plain.ts';
import { localInput, storedTime } from '../presentations/times.ts';
import type { Say } from '../texts/texts.ts';
import type { Cell } from './table.ts';

/** Excel keeps so many digits of a number. */
const MOST_DIGITS = 15;

/** The value of a field in a workbook. Points in time are written in local time, which is all that Excel knows. */
export function cellOf(say: Say, field: FieldInfo, value: Value | undefined): Cell {
  if (value === null || value === undefined || value === '') return null;
  const text = textOf(value);
  if (field.enum !== undefined && field.type !== 'array') return titleOfValue(say, field, text);
  if (isNumber(field)) return text.replace(/\D/g, '').length > MOST_DIGITS ? text : new NumberText(text);
  if (typeof value === 'boolean') return value;
  if (field.type === 'date') return dated(`${text}T00:00:00Z`) ?? text;
  if (field.type === 'timestamp') return dated(`${localInput(text) ?? ''}Z`) ?? text;
  return isJson(field) ? writeJson(value) : text;
}

function dated(text: string): Date | undefined {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() < 1900 ? undefined : date;
}

/** The same in CSV, as Excel writes it in this language. */
export function csvText(say: Say, cell: Cell, language: string): string {
  if (cell === null) return '';
  if (cell instanceof NumberText) return numberTyped(cell.text, language);
  if (typeof cell === 'boolean') return say(cell ? 'table.true' : 'table.false');
  if (cell instanceof Date)
    return cell
      .toISOString()
      .replace(/T00:00:00.000Z$/, '')
      .replace('T', ' ')
      .slice(0, 19);
  return cell;
}

export interface Customs {
  readonly say: Say;
  readonly language: string;
  /** What a person has said of the numbers that can be read in two ways. */
  readonly decimal: string | undefined;
}

/** A cell without a value that its field takes. */
export class CellFault extends Error {}
export class OpenCell extends CellFault {}

const TRUE: ReadonlySet<string> = new Set(['true', 'wahr', 'yes', 'ja', '1', 'vrai', 'oui']);
const FALSE: ReadonlySet<string> = new Set(['false', 'falsch', 'no', 'nein', '0', 'faux', 'non']);

export const plainCell = (cell: Cell): string => {
  if (cell instanceof Date) return cell.toISOString();
  const text = cell instanceof NumberText ? cell.text : String(cell ?? '');
  // Put there so that no spreadsheet runs it.
  return /^'[=+\-@\t\r]/.test(text) ? text.slice(1) : text;
};

/** Throws a CellFault. An empty cell is null. */
export function valueIn(field: FieldInfo, cell: Cell, customs: Customs): Value {
  const { say } = customs;
  const text = plainCell(cell);
  if (text.trim() === '') return null;
  if (isNumber(field)) return numberValue(field, cell, customs);
  if (field.enum !== undefined && field.type !== 'array') {
    const small = text.trim().toLowerCase();
    const found = field.enum.find((value) =>
      [value, titleOfValue(say, field, value)].some((one) => one.toLowerCase() === small),
    );
    if (found === undefined)
      throw new CellFault(
        say('fault.enum', { values: field.enum.map((one) => titleOfValue(say, field, one)).join(', ') }),
      );
    return found;
  }
  if (field.type === 'boolean') {
    const small = text.trim().toLowerCase();
    if (TRUE.has(small) || FALSE.has(small)) return TRUE.has(small);
    throw new CellFault(say('fault.boolean'));
  }
  if (field.type === 'date' || field.type === 'timestamp') return timeValue(field, cell, customs);
  if (!isJson(field)) return text;
  try {
    return parseJson(text);
  } catch {
    const item = itemOf(field);
    if (item === undefined) throw new CellFault(say('limit.json'));
    return text.split(';').map((part) => valueIn(item, part.trim(), customs));
  }
}

function numberValue(field: FieldInfo, cell: Cell, { say, language, decimal }: Customs): Value {
  const places = placesOf(field);
  const text = plainCell(cell);
  const readings = cell instanceof NumberText ? [cell.text] : numberReadings(text, language, places);
  const [first, second] = readings.toSorted((one, other) => Math.abs(Number(one)) - Math.abs(Number(other)));
  if (first === undefined) throw new CellFault(say(places === 0 ? 'limit.integer' : 'limit.number'));
  if (second !== undefined && decimal === undefined) throw new OpenCell(say('fault.two_ways'));
  const number = second === undefined || text.includes(decimal ?? '') ? first : second;
  return field.type === 'decimal' ? number : new NumberText(number);
}

/** The parts of a date in the order of a language. */
function datePartsOf(language: string): readonly string[] {
  const parts = new Intl.DateTimeFormat(language, {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts();
  return parts.map(({ type }) => type).filter((type) => type !== 'literal');
}

const two = (text: string): string => text.padStart(2, '0');

function dayOf(text: string, language: string): string | undefined {
  const numbers = /^(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})\.?$/.exec(text)?.slice(1);
  if (numbers === undefined) return undefined;
  const order = numbers[0]?.length === 4 ? ['year', 'month', 'day'] : datePartsOf(language);
  const part = (name: string): string => numbers[order.indexOf(name)] ?? '';
  const year = part('year').length === 2 ? `20${part('year')}` : part('year').padStart(4, '0');
  const day = `${year}-${two(part('month'))}-${two(part('day'))}`;
  const date = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== day ? undefined : day;
}

function timeValue(field: FieldInfo, cell: Cell, { say, language }: Customs): Value {
  const text = plainCell(cell).trim();
  const isStored = /^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:\d{2})$/.test(text) && !(cell instanceof Date);
  const [date = '', clock = '00:00'] = (cell instanceof Date ? text.slice(0, 19) : text).split(/[T\s,]+/);
  const day = dayOf(date, language);
  if (field.type === 'timestamp' && isStored) return text;
  const time = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(clock)?.slice(1);
  if (day === undefined || time === undefined)
    throw new CellFault(say(field.type === 'date' ? 'fault.date' : 'fault.time'));
  const [hours = '', minutes = '', seconds = '00'] = time;
  return field.type === 'date' ? day : storedTime(`${day}T${two(hours)}:${minutes}:${seconds}`);
}
