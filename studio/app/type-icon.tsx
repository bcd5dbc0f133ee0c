/** The icon of a type, by what its records are like: people, what happened, things with a price, pictures, choices, or texts. */
import { firstMeasure } from '../charts/figures.ts';
import type { TypeInfo } from '../data/model.ts';
import { ChoiceIcon, ImageIcon, PersonIcon, ReceiptIcon, TagIcon, TextIcon } from './icons.tsx';

function iconFor(type: TypeInfo): typeof TextIcon {
  const { fields } = type;
  if (fields.some(({ format }) => format === 'email')) return PersonIcon;
  if (firstMeasure(type) !== undefined) return ReceiptIcon;
  if (fields.some(({ format }) => format === 'uri')) return ImageIcon;
  if (fields.some(({ type: name }) => name === 'decimal')) return TagIcon;
  return fields.some((field) => field.type === 'boolean' || field.enum !== undefined) ? ChoiceIcon : TextIcon;
}

export function TypeIcon({ of: type }: { readonly of: TypeInfo }) {
  const Icon = iconFor(type);
  return <Icon fontSize="small" />;
}
