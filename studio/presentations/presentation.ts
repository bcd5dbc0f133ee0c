/** The interface of presentations: how values are shown, typed and looked for. */
import type { ReactNode } from 'react';
import type { ControllerRenderProps } from 'react-hook-form';
import type { Value, ValueObject } from '../data/json.ts';
import type { FieldInfo } from '../data/model.ts';
import type { Say } from '../texts/texts.ts';
import type { FieldDraft } from './field-draft.ts';

export interface ShowProps {
  readonly field: FieldInfo;
  readonly value: Value;
  /** On a line of a table there is little room. */
  readonly isShort: boolean;
  /** The record that it is of. */
  readonly record?: ValueObject | undefined;
  readonly say: Say;
}

export interface InputProps {
  readonly field: FieldInfo;
  readonly control: Omit<ControllerRenderProps, 'value'> & { readonly value: FieldDraft };
  readonly fault: string | undefined;
  /** The messages at the items of a list. */
  readonly faults: Readonly<Record<string, unknown>>;
  readonly onClearFaults: () => void;
  readonly say: Say;
}

export interface FilterProps {
  readonly field: FieldInfo;
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly say: Say;
}

export interface Presentation {
  readonly Show: (props: ShowProps) => ReactNode;
  readonly Input: (props: InputProps) => ReactNode;
  /** The input of a value to compare with; undefined: text. */
  readonly Filter?: (props: FilterProps) => ReactNode;
}

export const titleOf = ({ title, required }: Pick<FieldInfo, 'title' | 'required'>): string =>
  required === true ? `${title} *` : title;

export const SHRUNK = { inputLabel: { shrink: true } } as const;

/** Lists have many cells: what each of them needs is written as cheaply as it can be. */
export const DIGITS = { fontVariantNumeric: 'tabular-nums' } as const;
