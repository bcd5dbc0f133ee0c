/** The inputs of a record, its own and those of the records within it. */
import { Box, TextField, Typography } from '@mui/material';
import type { ReactNode } from 'react';
import { useController, useWatch } from 'react-hook-form';
import type { RelationInfo, TypeInfo } from '../data/model.ts';
import type { ValueObject } from '../data/json.ts';
import { useModel } from '../data/model.ts';
import { hasOwnList } from '../data/includes.ts';
import { Related } from '../fields/related.tsx';
import { isWritable } from '../presentations/field-draft.ts';
import { isWide } from '../presentations/choose.ts';
import { Shown } from '../presentations/shown.tsx';
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
  /** The stored record; undefined for a new one. */
  readonly values?: ValueObject | undefined;
  readonly through?: RelationInfo | undefined;
  readonly inputFor: RelationInputs;
}

export function RecordInputs({ type, path, draft, values, through, inputFor }: RecordInputsProps) {
  const model = useModel();
  const has = (name: string): boolean => keyOf(name) in draft;
  const relations = type.relations.filter(
    (relation) => has(relation.name) && relation.name !== through?.inverse && !hasOwnList(model, relation),
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
      {type.fields
        .filter(({ name }) => has(name))
        .map((field) =>
          isWritable(field) ? (
            <Box key={field.name} sx={isWide(field) ? WIDE : undefined}>
              <FieldInput field={field} path={`${path}${keyOf(field.name)}`} />
            </Box>
          ) : (
            values !== undefined && (
              <ReadOnly key={field.name} title={field.title} help={field.description}>
                <Shown field={field} value={values[field.name]} />
              </ReadOnly>
            )
          ),
        )}
      {relations.map((relation) =>
        relation.readOnly
          ? values !== undefined && (
              <ReadOnly key={relation.name} title={relation.title} help={relation.description}>
                <Related relation={relation} value={values[relation.name]} />
              </ReadOnly>
            )
          : inputFor(relation, `${path}${keyOf(relation.name)}`),
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

interface ReadOnlyProps {
  readonly title: string;
  readonly help?: string | undefined;
  readonly children: ReactNode;
}

const ReadOnly = ({ title, help, children }: ReadOnlyProps) => (
  <Box title={help}>
    <Typography variant="caption" component="div" sx={{ color: 'text.secondary' }}>
      {title}
    </Typography>
    <Typography variant="body2" component="div">
      {children}
    </Typography>
  </Box>
);

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
