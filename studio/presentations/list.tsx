/** The input of an array whose items are of one plain type: an input for each. The form holds the array as JSON. */
import { Box, Button, FormHelperText, Typography } from '@mui/material';
import type { ReactNode } from 'react';
import { AddIcon, CloseIcon } from '../app/icons.tsx';
import { SmallButton } from '../app/small-button.tsx';
import { isValueList, parseJson, textOf, type Value, writeJson } from '../data/json.ts';
import { WHOLE } from '../forms/faults.ts';
import { PLAIN_CHIP } from './choice.tsx';
import { itemOf } from './choose.ts';
import { draftOf, type FieldDraft, isNumber, valueOf } from './field-draft.ts';
import { number } from './number.tsx';
import { isOpen } from './numbers.ts';
import { inSentence } from '../texts/texts.ts';
import { helpOf } from './field-help.tsx';
import { ShownJson } from './json.tsx';
import { type InputProps, type Presentation, type ShowProps, titleOf } from './presentation.ts';
import { text } from './text.tsx';

function itemsIn(draft: InputProps['control']['value']): readonly Value[] {
  try {
    const value = typeof draft === 'string' ? parseJson(draft) : null;
    return isValueList(value) ? value : [];
  } catch {
    return [];
  }
}

function ListInput({ field, control, faults, onClearFaults, say }: InputProps): ReactNode {
  const item = itemOf(field) ?? field;
  const faultOf = (part: string | number): string | undefined =>
    typeof faults[part] === 'string' ? faults[part] : undefined;
  const fault = faultOf(WHOLE);
  const { value, onChange, onBlur, name, ref } = control;
  const items = itemsIn(value);
  const id = `help-${name}`;
  const put = (next: readonly Value[]): void => onChange(writeJson(next, 2));
  const replace = (at: number, draft: FieldDraft): void =>
    put(items.with(at, typeof draft === 'string' && isOpen(draft) ? draft : (valueOf(item, draft) ?? null)));
  const { Input } = isNumber(item) ? number : text;
  return (
    <Box
      component="fieldset"
      aria-describedby={id}
      sx={{ border: 0, p: 0, m: 0, minWidth: 0, display: 'grid', gap: 1 }}
    >
      <Typography
        component="legend"
        variant="body2"
        sx={{ p: 0, mb: 0.5, color: fault ? 'error.main' : 'text.secondary' }}
      >
        {titleOf(field)}
      </Typography>
      {items.map((one, index) => (
        // Items have nothing of their own that tells them apart.
        // oxlint-disable-next-line react/no-array-index-key
        <Box key={index} sx={{ display: 'flex', gap: 0.5, alignItems: 'start' }}>
          <Box sx={{ flexGrow: 1 }}>
            <Input
              field={{ ...item, nullable: false, title: `${field.title} ${index + 1}`, examples: [] }}
              control={{
                name: `${name}.${index}`,
                value: draftOf(item, one),
                onChange: (draft: FieldDraft) => replace(index, draft),
                onBlur,
                ref: index === 0 ? ref : () => undefined,
              }}
              fault={faultOf(index)}
              faults={{}}
              onClearFaults={onClearFaults}
              say={say}
            />
          </Box>
          <SmallButton
            text={say('form.remove', { name: `${field.title} ${index + 1}` })}
            Icon={CloseIcon}
            onClick={() => {
              // The faults of those behind it would stand at others.
              onClearFaults();
              put(items.toSpliced(index, 1));
            }}
          />
        </Box>
      ))}
      <Box sx={{ display: 'flex', gap: 1, alignItems: 'center', flexWrap: 'wrap' }}>
        <Button
          size="small"
          startIcon={<AddIcon />}
          aria-label={say('form.add', { type: inSentence(field.title) })}
          onClick={() => put([...items, item.type === 'string' ? '' : null])}
        >
          {say('form.add_item')}
        </Button>
        {items.length === 0 && value !== undefined && (
          <Typography variant="body2" sx={{ color: 'text.secondary' }}>
            {value === null ? say('value.null') : say('value.items', { smart_count: 0 })}
          </Typography>
        )}
      </Box>
      <FormHelperText id={id} error={fault !== undefined} sx={{ mt: 0 }}>
        {fault ?? helpOf(say, field, item)}
      </FormHelperText>
    </Box>
  );
}

/** In a list, one after the other. */
function ShownList(props: ShowProps): ReactNode {
  const { value, isShort, say } = props;
  if (!isValueList(value)) return <ShownJson {...props} />;
  if (value.length === 0) return say('value.items', { smart_count: 0 });
  const items = value.map((one, index) => ({ key: index, text: textOf(one) }));
  return isShort ? (
    <bdi>{items.map(({ text: item }) => item).join(', ')}</bdi>
  ) : (
    <Box component="ul" sx={{ m: 0, p: 0, display: 'flex', flexWrap: 'wrap', gap: 0.5, listStyle: 'none' }}>
      {items.map(({ key, text: item }) => (
        <li key={key}>
          <bdi style={PLAIN_CHIP}>{item}</bdi>
        </li>
      ))}
    </Box>
  );
}

export const list: Presentation = { Show: ShownList, Input: ListInput };
