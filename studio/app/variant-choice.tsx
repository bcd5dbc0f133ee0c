/** Which view of a type is shown: one of its variants. The address holds it. */
import { useSearchParams } from 'react-router-dom';
import { VIEW } from '../data/address.ts';
import type { TypeInfo } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { Select } from './select.tsx';

/** Undefined: the one that requests get that do not choose. */
export const useVariant = (): string | undefined => useSearchParams()[0].get(VIEW) ?? undefined;

export function VariantChoice({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  if (type.variants === undefined) return undefined;
  const { default: first, omit } = type.variants;
  const choose = (name: string): void => {
    const next = new URLSearchParams(search);
    if (name === first) next.delete(VIEW);
    else next.set(VIEW, name);
    setSearch(next);
  };
  return (
    <Select
      label={say('list.variant')}
      value={search.get(VIEW) ?? first}
      onChoose={choose}
      options={Object.keys(omit).map((name) => [name, name])}
      sx={{ width: 110 }}
    />
  );
}
