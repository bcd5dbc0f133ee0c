/**
 * What was typed into a form that is gone without a question, as when its address is edited by hand: kept in this tab until
 * it is taken again or dropped.
 */
import { isValueObject, parseJson, type Value, writeJson } from '../data/json.ts';
import type { StudioRecord } from '../data/provider.ts';
import type { RecordDraft } from './draft.ts';

export interface KeptForm {
  /** The initial state of the form, so that a later change by someone else is still noticed. */
  readonly began: { readonly record: StudioRecord | undefined; readonly draft: RecordDraft };
  readonly typed: RecordDraft;
}

const keyOf = (address: string): string => `records-form ${address}`;

export function keepForm(address: string, form: KeptForm): void {
  try {
    sessionStorage.setItem(keyOf(address), writeJson(form as unknown as Value));
  } catch {
    // There is no room for it: then it is as if the person had left.
  }
}

export function keptForm(address: string): KeptForm | undefined {
  const kept = parseJson(sessionStorage.getItem(keyOf(address)) ?? 'null');
  return isValueObject(kept) ? (kept as unknown as KeptForm) : undefined;
}

export const dropForm = (address: string): void => sessionStorage.removeItem(keyOf(address));
