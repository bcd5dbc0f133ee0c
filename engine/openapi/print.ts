/** Prints documents as JSON and YAML, in turns: those of many types have megabytes. */
import { stringify } from 'yaml';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import type { Turns } from '../memo.ts';

/** Levels of a document that are printed member by member, such as `components`, `schemas` and one schema. */
const LEVELS = 3;

const isDivided = (value: JsonValue, levels: number): value is JsonObject =>
  levels > 0 && isObject(value) && Object.keys(value).length > 0;

export function* jsonText(value: JsonValue, levels = LEVELS): Turns<string> {
  yield;
  if (!isDivided(value, levels)) return JSON.stringify(value);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${yield* jsonText(member, levels - 1)}`);
  }
  return `{${members.join(',')}}`;
}

const INDENTED = /^(?=.)/gm;

export function* yamlText(value: JsonObject, levels = LEVELS): Turns<string> {
  const lines: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    yield;
    if (isDivided(member, levels - 1)) {
      lines.push(stringify({ [name]: null }).replace(' null\n', '\n'));
      lines.push((yield* yamlText(member, levels - 1)).replaceAll(INDENTED, '  '));
    } else lines.push(stringify({ [name]: member }, { aliasDuplicateObjects: false }));
  }
  return lines.join('');
}
