/** The inputs of a record, its own and those of the records within it. */
import { Box, TextField } from '@mui/material';
import type { ReactNode } from 'react';
import { useController, useWatch } from 'react-hook-form';
import { type FieldInfo, isToMany, type RelationInfo, type TypeInfo, useModel } from '../data/model.ts';
import { hasOwnList } from '../data/includes.ts';
import { inputFields } from '../presentations/field-draft.ts';
import { isWide } from '../presentations/choose.ts';
import { useText } from '../texts/texts.ts';
import { keyOf, OTHER_KEYS, type RecordDraft } from './draft.ts';
import { FieldInput } from './field-input.tsx';

/** The input of a relation, which may have those of a whole record within it. */
export type RelationInputs = (relation: RelationInfo, path: string) => ReactNode;

interface RecordInputsProps {
  readonly type: TypeInfo;
  /** In the form, with a dot at its end; empty for the record itself. */
  readonly path: string;
  /** Keys that the record has in the form. */
  readonly draft: RecordDraft;
  readonly through?: RelationInfo | undefined;
  readonly inputFor: RelationInputs;
}

export function RecordInputs({ type, path, draft, through, inputFor }: RecordInputsProps) {
  const model = useModel();
  const has = (name: string): boolean => keyOf(name) in draft;
  const relations = type.relations.filter(
    (relation) =>
      has(relation.name) && !relation.readOnly && relation.name !== through?.inverse && !hasOwnList(model, relation),
  );
  return (
    <Box
      sx={{
        display: 'grid',
        columnGap: 2.5,
        // The gap leaves room for the help of an input.
        rowGap: 3,
        gridTemplateColumns: 'repeat(auto-fill, minmax(min(100%, 19rem), 1fr))',
        alignItems: 'start',
      }}
    >
      {membersOf(type, relations)
        .filter(({ name }) => has(name))
        .map((member) =>
          'kind' in member ? (
            inputFor(member, `${path}${keyOf(member.name)}`)
          ) : (
            <Box key={member.name} sx={isWide(member) ? WIDE : undefined}>
              <FieldInput field={member} path={`${path}${keyOf(member.name)}`} />
            </Box>
          ),
        )}
      {OTHER_KEYS in draft && (
        <Box sx={WIDE}>
          <OtherKeys path={`${path}${OTHER_KEYS}`} />
        </Box>
      )}
    </Box>
  );
}

export const WIDE = { gridColumn: '1 / -1' } as const;

/** What has to be filled in comes first; what the service fills in is no input. */
function membersOf(type: TypeInfo, relations: readonly RelationInfo[]): readonly (FieldInfo | RelationInfo)[] {
  const writable = inputFields(type);
  const first = writable.filter(({ name }, index) => name === type.label || index === 0);
  const needed = relations.filter((relation) => relation.required === true && !isToMany(relation));
  return [
    ...first,
    ...needed,
    ...writable.filter((field) => !first.includes(field)),
    ...relations.filter((relation) => !needed.includes(relation)),
  ];
}

function OtherKeys({ path }: { readonly path: string }) {
  const say = useText();
  const { field, fieldState } = useController({ name: path });
  const text: unknown = useWatch({ name: path });
  return (
    <TextField
      label={say('record.other_keys')}
      value={typeof text === 'string' ? text : ''}
      onChange={field.onChange}
      inputRef={field.ref}
      multiline
      minRows={3}
      error={fieldState.error !== undefined}
      helperText={fieldState.error?.message ?? say('form.other_keys_help')}
      slotProps={{
        inputLabel: { shrink: true },
        htmlInput: { spellCheck: false, style: { fontFamily: 'ui-monospace, monospace', fontSize: '0.85rem' } },
      }}
    />
  );
}
