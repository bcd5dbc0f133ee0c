/** Arrays in a query string: a repeated key, `[]` after it, indices in any order, or commas where items have none. */
import { type Complain, type Parameter, quote } from './parameters.ts';

export interface WireItem {
  readonly index: number;
  readonly parameter: Parameter;
}

interface WireArray {
  /** How the items are written; `plain`: without brackets of their own. */
  readonly form: 'plain' | 'brackets' | 'indices';
  /** The parameters of each item, sorted by index; one item if they are plain. */
  readonly items: readonly (readonly [index: number, parameters: readonly Parameter[]])[];
}

const INDEX = /^(?:0|[1-9]\d{0,5})$/;

function formOf(step: string | undefined): WireArray['form'] {
  if (step === '') return 'brackets';
  return step !== undefined && INDEX.test(step) ? 'indices' : 'plain';
}

/** Reads the notation of an array, whose items stand in the step `at` of the keys. */
export function wireArray(parameters: readonly Parameter[], at: number, complain: Complain): WireArray | undefined {
  const [form = 'plain', ...others] = new Set(parameters.map(({ steps = [] }) => formOf(steps[at])));
  if (others.length > 0)
    return complain(
      'mixed-forms',
      'Write all items in the same way: [0], [1] … in each key, or [] in each, or neither',
    );
  if (form === 'plain') return { form, items: [[0, parameters]] };
  if (form === 'brackets') return { form, items: parameters.map((parameter, index) => [index, [parameter]]) };
  const items = Map.groupBy(parameters, ({ steps = [] }) => Number(steps[at]));
  return { form, items: [...items].toSorted(([a], [b]) => a - b) };
}

/** An array of texts. `joined`: whether commas separate items that have no index. */
export function textArray(
  parameters: readonly Parameter[],
  at: number,
  complain: Complain,
  joined = true,
): { readonly indexed: boolean; readonly items: readonly WireItem[] } | undefined {
  const array = wireArray(parameters, at, complain);
  if (!array) return undefined;
  const indexed = array.form === 'indices';
  const length = array.form === 'plain' ? at : at + 1;
  const other = parameters.find(({ steps = [] }) => steps.length > length);
  if (other)
    return complain(
      'malformed-array',
      `${quote(other.key)} is not an item of a list. Repeat the key, or append [] to each, or [0], [1] …`,
    );
  if (indexed) {
    const twice = array.items.find(([, same]) => same.length > 1)?.[1][0];
    if (twice) return complain('repeated', `${quote(twice.key)} is given twice`);
    return { indexed, items: array.items.flatMap(([index, [parameter]]) => (parameter ? { index, parameter } : [])) };
  }
  const items = joined ? parameters.flatMap(splitAtCommas) : parameters;
  return { indexed, items: items.map((parameter, index) => ({ index, parameter })) };
}

const splitAtCommas = (parameter: Parameter): readonly Parameter[] =>
  parameter.value.includes(',') ? parameter.value.split(',').map((value) => ({ ...parameter, value })) : [parameter];
