/** Arrays in a query string: a repeated key, `[]` after it, or indices in any order. */
import { type Complain, quote } from './faults.ts';
import type { Parameter } from './parameters.ts';

export interface WireArray {
  /** Whether the client gave the places itself. */
  readonly indexed: boolean;
  /** Sorted by index. */
  readonly items: readonly WireItem[];
}

export interface WireItem {
  readonly index: number;
  readonly parameter: Parameter;
}

type Form = 'repeated' | 'brackets' | 'indices';
const FORMS = 'Repeat the key, or add [] to each, or [0], [1] …';
const INDEX = /^(?:0|[1-9]\d{0,5})$/;

/** How one item is written after the first `depth` steps of its key; undefined where it is no item of an array. */
function formOf({ steps = [] }: Parameter, depth: number): Form | undefined {
  if (steps.length === depth) return 'repeated';
  const step = steps[depth] ?? '';
  if (steps.length > depth + 1) return undefined;
  return step === '' ? 'brackets' : INDEX.test(step) ? 'indices' : undefined;
}

export function wireArray(parameters: readonly Parameter[], depth: number, complain: Complain): WireArray | undefined {
  const forms = new Set<Form>();
  for (const parameter of parameters) {
    const form = formOf(parameter, depth);
    if (!form) return complain('malformed-array', `${quote(parameter.key)} is no item of a list. ${FORMS}`);
    forms.add(form);
  }
  if (forms.size > 1) return complain('mixed-forms', `The items of one list must be written alike. ${FORMS}`);
  return forms.has('indices')
    ? byIndex(parameters, depth, complain)
    : { indexed: false, items: inSequence(parameters) };
}

const inSequence = (parameters: readonly Parameter[]): readonly WireItem[] =>
  parameters.map((parameter, index) => ({ index, parameter }));

function byIndex(parameters: readonly Parameter[], depth: number, complain: Complain): WireArray | undefined {
  const items = new Map<number, Parameter>();
  for (const parameter of parameters) {
    const index = Number(parameter.steps?.[depth]);
    if (items.has(index)) return complain('repeated', `${quote(parameter.key)} is given twice`);
    items.set(index, parameter);
  }
  const sorted = [...items].toSorted(([a], [b]) => a - b);
  return { indexed: true, items: sorted.map(([index, parameter]) => ({ index, parameter })) };
}
