/** A value as plain text: in a filter, or among versions to choose from. */
import type { FieldInfo } from '../data/model.ts';
import type { Say } from '../texts/texts.ts';
import { presentationName } from './choose.ts';
import { numberShown } from './numbers.ts';
import { dateText, fromSeconds, timeText } from './times.ts';

export const pageLanguage = (): string => globalThis.document?.documentElement.lang || 'en';

export const titleOfValue = (say: Say, { titles }: FieldInfo, value: string): string =>
  titles?.[value] ?? (value === '' ? say('value.empty_text') : value);

/** `text`: the value as it is stored, or sent. */
export function plainText(say: Say, field: FieldInfo, text: string, language = pageLanguage()): string {
  if (field.sensitive === true) return '••••••';
  const name = presentationName(field);
  if (name === 'choice') return titleOfValue(say, field, text);
  if (name === 'flag') return say(text === 'true' ? 'value.yes' : 'value.no');
  if (name === 'number') return numberShown(field, text, language);
  if (name === 'seconds') return timeText(fromSeconds(text) ?? text, language);
  if (name === 'date') return dateText(text, language);
  return name === 'timestamp' ? timeText(text, language) : text;
}
