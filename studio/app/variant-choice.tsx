/** Which view of a type is shown: one of its variants. The address holds it. */
import { MenuItem, TextField } from '@mui/material';
import { useSearchParams } from 'react-router-dom';
import { VIEW } from '../data/address.ts';
import type { TypeInfo } from '../data/model.ts';
import { useText } from '../texts/texts.ts';

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
    <TextField
      select
      label={say('list.variant')}
      value={search.get(VIEW) ?? first}
      onChange={({ target: { value } }) => choose(value)}
      sx={{ width: 110 }}
    >
      {Object.keys(omit).map((name) => (
        <MenuItem key={name} value={name}>
          {name}
        </MenuItem>
      ))}
    </TextField>
  );
}
