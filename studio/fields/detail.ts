/** The second line that tells records of the same name apart: the identifier, and up to two fields. */
import { type ValueObject, textOf } from '../data/json.ts';
import { type FieldInfo, identifierOf, type TypeInfo } from '../data/model.ts';
import { plainText } from '../presentations/plain.ts';
import type { Say } from '../texts/texts.ts';

const MOST = 2;
const SHORT: ReadonlySet<string> = new Set(['string', 'integer', 'decimal', 'date']);

/** Fields that are unique first, then texts, in the order of the descriptor; those that every view shows. */
export function detailFields({ fields, variants }: TypeInfo, label: string | null): readonly FieldInfo[] {
  const hidden = new Set(variants?.omit[variants.default]);
  const rank = ({ unique, type }: FieldInfo): number => (unique === true ? 0 : type === 'string' ? 1 : 2);
  return fields
    .filter((field) => field.name !== label && !hidden.has(field.name) && SHORT.has(field.type))
    .filter(({ multiline, sensitive }) => multiline !== true && sensitive !== true)
    .toSorted((one, other) => rank(one) - rank(other))
    .slice(0, MOST);
}

export function detailOf(
  say: Say,
  type: TypeInfo,
  label: string | null,
  values: ValueObject,
  language?: string,
): string {
  const details = detailFields(type, label).map((field) => {
    const text = textOf(values[field.name]);
    return text === '' ? '' : plainText(say, field, text, language);
  });
  return [identifierOf(type, values), ...details].filter(Boolean).join(' · ');
}
