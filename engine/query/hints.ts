/** Parameters of other products, with the parameter that means the same here. */
import { shortened } from '../names.ts';

const PAGE = 20;

const whole = (text: string, otherwise: number): number => (/^\d{1,9}$/.test(text) ? Number(text) : otherwise);

const condition = (): string => '_cnd[FIELD]=VALUE';
const search = (): string => '_cnd[FIELD][like]=*TEXT*';

function order(value: string): string {
  const [name = 'FIELD'] = /[\p{L}_][\p{L}\p{N}_.]*/u.exec(value) ?? [];
  return `_cnd[orderBy]=${name}${/^-|\bdesc\b/i.test(value) ? ',desc' : ''}`;
}

const HABITS: ReadonlyMap<string, (value: string) => string> = new Map([
  ['limit', (value: string) => `_cnd[limit]=0,${whole(value, PAGE)}`],
  ['offset', (value: string) => `_cnd[limit]=${whole(value, 0)},${PAGE}`],
  ['page', (value: string) => `_cnd[limit]=${Math.max(0, whole(value, 1) - 1) * PAGE},${PAGE}`],
  ['sort', order],
  ['filter', condition],
  ['cnd', condition],
  ['q', search],
  ['search', search],
  ['expand', (value: string) => `include=${value}`],
]);

/** `page[number]` and `_page` mean the same as `page`. */
export const habitHint = (key: string, value: string): string | undefined =>
  HABITS.get(/^[_$]?([a-z]{1,9})(?:\[[^\]]*\])*$/.exec(key)?.[1] ?? '')?.(value);

const MAX_HINT = 100;

/** The end of a message. */
export const didYouMeanHint = (hint: string | undefined): string =>
  hint === undefined ? '' : `; did you mean "${shortened(hint, MAX_HINT)}"?`;
