/** Arrays in a query string: a repeated key, `[]` after it, indices in any order, or commas where items have none. */
import { type Complain, type Parameter, quote } from './parameters.ts';

interface WireArray {
  /** Whether the client wrote indices. */
  readonly indexed: boolean;
  /** Sorted by index. */
  readonly items: readonly WireItem[];
}

export interface WireItem {
  readonly index: number;
  readonly parameter: Parameter;
}

type Form = 'repeated' | 'brackets' | 'indices';
const FORMS = 'Repeat the key, or append [] to each, or [0], [1] …';
const INDEX = /^(?:0|[1-9]\d{0,5})$/;

/** What a step of a key says of an item's form. Undefined: nothing, since it is a name. */
function stepForm(step: string | undefined): Form | undefined {
  if (step === undefined) return 'repeated';
  return step === '' ? 'brackets' : INDEX.test(step) ? 'indices' : undefined;
}

/** How one item is written after the first `depth` steps of its key; undefined if it is not an item of an array. */
const formOf = ({ steps = [] }: Parameter, depth: number): Form | undefined =>
  steps.length > depth + 1 ? undefined : stepForm(steps[depth]);

export function wireArray(parameters: readonly Parameter[], depth: number, complain: Complain): WireArray | undefined {
  const forms = new Set<Form>();
  for (const parameter of parameters) {
    const form = formOf(parameter, depth);
    if (!form) return complain('malformed-array', `${quote(parameter.key)} is not an item of a list. ${FORMS}`);
    forms.add(form);
  }
  if (forms.size > 1) return complain('mixed-forms', `Write all items of a list in the same way. ${FORMS}`);
  return forms.has('indices')
    ? byIndex(parameters, depth, complain)
    : { indexed: false, items: inSequence(parameters) };
}

/** The items of parameters without indices that are joined by commas, each as a parameter of its own. */
export const splitAtCommas = (parameters: readonly Parameter[], depth: number): readonly Parameter[] =>
  parameters.flatMap((parameter) => {
    const form = formOf(parameter, depth);
    if (form === undefined || form === 'indices' || !parameter.value.includes(',')) return parameter;
    return parameter.value.split(',').map((value) => ({ ...parameter, value }));
  });

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

// Arrays of objects: `[0][name]=x&[0][code]=y`, `[][name]=x`, or without either.

export interface ItemGroups {
  /** Whether each item is written as one. Otherwise `items` has a single element: all parameters. */
  readonly indexed: boolean;
  /** How many steps of the keys lead into an item. */
  readonly at: number;
  /** The parameters of each item, by index; each `[]` begins an item of its own. */
  readonly items: readonly (readonly Parameter[])[];
}

const ITEM_FORMS = 'Write [0], [1] … before the conditions of each item, or [] before each, or neither';

export function itemGroups(parameters: readonly Parameter[], at: number, complain: Complain): ItemGroups | undefined {
  const forms = new Set(parameters.map(({ steps = [] }) => stepForm(steps[at]) ?? 'repeated'));
  if (forms.size > 1) return complain('mixed-forms', `Write all items in the same way. ${ITEM_FORMS}`);
  if (forms.has('repeated')) return { indexed: false, at, items: [parameters] };
  if (forms.has('brackets')) return { indexed: true, at: at + 1, items: parameters.map((one) => [one]) };
  const items = Map.groupBy(parameters, ({ steps = [] }) => Number(steps[at]));
  const sorted = [...items].toSorted(([a], [b]) => a - b);
  return { indexed: true, at: at + 1, items: sorted.map(([, item]) => item) };
}
