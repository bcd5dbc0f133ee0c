/** The input of a field, by its presentation, and what is wrong with it. */
import type { ReactNode } from 'react';
import { useController, useFormContext } from 'react-hook-form';
import type { FieldInfo } from '../data/model.ts';
import type { FieldDraft } from '../presentations/field-draft.ts';
import { brokenLimits } from '../presentations/limits.ts';
import { presentationOf } from '../presentations/registry.ts';
import { useText } from '../texts/texts.ts';

interface FieldInputProps {
  readonly field: FieldInfo;
  /** In the form. */
  readonly path: string;
}

export function FieldInput({ field, path }: FieldInputProps): ReactNode {
  const say = useText();
  const { clearErrors } = useFormContext();
  const { field: control, fieldState } = useController({ name: path });
  const { Input } = presentationOf(field);
  const said = fieldState.error?.message;
  const broken =
    said === undefined && fieldState.isTouched ? brokenLimits(say, field, control.value as FieldDraft) : undefined;
  return (
    // A message that appears when a person leaves an input must not move the next one under the mouse.
    <div className={broken === undefined ? undefined : 'broken-limit'}>
      <Input
        field={field}
        control={control}
        fault={said ?? broken}
        faults={fieldState.error?.types ?? {}}
        onClearFaults={() => clearErrors(path)}
        say={say}
      />
    </div>
  );
}
