/** The input of an array whose items are of one plain type: an input for each. The form holds the array as JSON. */
import { Box, Button, FormHelperText, TextField, Typography } from '@mui/material';
import type { ReactNode, Ref } from 'react';
import { AddIcon, CloseIcon } from '../app/icons.tsx';
import { SmallButton } from '../app/small-button.tsx';
import { isValueList, parseJson, type Value, writeJson } from '../data/json.ts';
import { WHOLE } from '../forms/faults.ts';
import { itemOf } from './choose.ts';
import type { FieldInfo } from '../data/model.ts';
import { draftOf, type FieldDraft, isNumber, valueOf } from './field-draft.ts';
import { useNumberText } from './number.tsx';
import { isOpen } from './numbers.ts';
import { inSentence } from '../texts/texts.ts';
import { helpOf, modeOf } from './field-help.tsx';
import { ShownJson } from './json.tsx';
import { type InputProps, type Presentation, titleOf } from './presentation.ts';

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
  const replace = (at: number, text: string): void =>
    put(items.map((one, index) => (index === at ? (isOpen(text) ? text : (valueOf(item, text) ?? null)) : one)));
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
          <ItemInput
            item={item}
            draft={draftOf(item, one)}
            label={`${field.title} ${index + 1}`}
            fault={faultOf(index)}
            isFaulty={fault !== undefined}
            say={say}
            onDraft={(text) => replace(index, text)}
            onBlur={onBlur}
            inputRef={index === 0 ? ref : null}
          />
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
        {typeof value !== 'string' || items.length > 0 ? undefined : (
          <Typography variant="body2" sx={{ color: 'text.secondary' }}>
            {say('value.items', { smart_count: 0 })}
          </Typography>
        )}
        {value === null && (
          <Typography variant="body2" sx={{ color: 'text.secondary', fontStyle: 'italic' }}>
            {say('value.null')}
          </Typography>
        )}
      </Box>
      <FormHelperText id={id} error={fault !== undefined} sx={{ mt: 0 }}>
        {fault ?? helpOf(say, field, item)}
      </FormHelperText>
    </Box>
  );
}

interface ItemInputProps extends Pick<InputProps, 'say' | 'fault'> {
  readonly item: FieldInfo;
  readonly draft: FieldDraft;
  readonly label: string;
  readonly isFaulty: boolean;
  readonly onDraft: (text: string) => void;
  readonly onBlur: () => void;
  readonly inputRef: Ref<HTMLInputElement>;
}

function ItemInput({ item, draft, label, fault, isFaulty, say, onDraft, onBlur, inputRef }: ItemInputProps) {
  const asNumber = useNumberText(say, item, draft, onDraft);
  const { text, onText, onLeave, note } = isNumber(item)
    ? asNumber
    : { text: String(draft ?? ''), onText: onDraft, onLeave: () => undefined, note: undefined };
  return (
    <div style={{ flexGrow: 1 }}>
      <TextField
        value={text}
        placeholder={draft === null ? say('value.null') : undefined}
        onChange={({ target }) => onText(target.value)}
        onBlur={() => {
          onLeave();
          onBlur();
        }}
        autoComplete="off"
        error={isFaulty || fault !== undefined}
        helperText={fault}
        inputRef={inputRef}
        slotProps={{ htmlInput: { dir: 'auto', 'aria-label': label, inputMode: modeOf(item) } }}
      />
      {note}
    </div>
  );
}

export const list: Presentation = { Show: ShownJson, Input: ListInput };
