/** What the columns enforce: bodies that are just accepted, and the same a step further. */
const SUBSCRIBERS = '/api/newsletter-subscribers';
const MARKUPS = '/api/shipping-markups';
const RATES = '/api/sales-tax-rates';
const IMAGES = '/api/content-images';
const TABS = '/api/global-tabs';

/** A field of text, and a body that holds nothing but this field. */
interface Place {
  readonly field: string;
  readonly path: string;
  readonly body: (text: string) => unknown;
}

const own = (path: string, name: string): Place => ({ field: name, path, body: (text) => ({ [name]: text }) });

const inside = (path: string, relation: string, name: string): Place => ({
  field: `${relation}.${name}`,
  path,
  body: (text) => ({ [relation]: { [name]: text } }),
});

export const LENGTHS: readonly (Place & { readonly length: number })[] = [
  { ...own(IMAGES, 'path'), length: 512 },
  { ...own(IMAGES, 'fileName'), length: 255 },
  { ...own(IMAGES, 'mime'), length: 128 },
  { ...own(IMAGES, 'storageType'), length: 255 },
  { ...own(IMAGES, 'hash'), length: 255 },
  { ...own(TABS, 'link'), length: 255 },
  { ...own(TABS, 'service_name'), length: 255 },
  { field: 'providers.code', path: TABS, body: (code) => ({ providers: [{ code }] }), length: 255 },
  { ...own(RATES, 'type'), length: 255 },
  { ...own(RATES, 'taxableBase'), length: 255 },
  { ...own('/api/tax-classes', 'providerOneVATRate'), length: 255 },
  { ...own('/api/tmp-vars', 'name'), length: 128 },
  { ...inside(MARKUPS, 'zone', 'zone_name'), length: 64 },
  { ...inside(MARKUPS, 'shipping_method', 'processor'), length: 255 },
  { ...inside(MARKUPS, 'shipping_method', 'carrier'), length: 255 },
  { ...inside(MARKUPS, 'shipping_method', 'code'), length: 255 },
  { ...inside(MARKUPS, 'shipping_method', 'moduleName'), length: 255 },
  { ...inside(MARKUPS, 'shipping_method', 'iconURL'), length: 255 },
  { ...inside(MARKUPS, 'shipping_method', 'tableType'), length: 255 },
  { ...inside(MARKUPS, 'shipping_method', 'handlingFeeType'), length: 255 },
];

export const DECIMALS: readonly (Place & { readonly whole: number; readonly fraction: number })[] = [
  { ...own(MARKUPS, 'min_weight'), whole: 10, fraction: 4 },
  { ...own(MARKUPS, 'max_weight'), whole: 10, fraction: 4 },
  { ...own(MARKUPS, 'min_total'), whole: 12, fraction: 2 },
  { ...own(MARKUPS, 'max_total'), whole: 12, fraction: 2 },
  { ...own(MARKUPS, 'min_items'), whole: 14, fraction: 0 },
  { ...own(MARKUPS, 'max_items'), whole: 14, fraction: 0 },
  { ...own(MARKUPS, 'markup_flat'), whole: 12, fraction: 2 },
  { ...own(MARKUPS, 'markup_percent'), whole: 12, fraction: 2 },
  { ...own(MARKUPS, 'markup_per_item'), whole: 12, fraction: 2 },
  { ...own(MARKUPS, 'markup_per_weight'), whole: 12, fraction: 2 },
  { ...own(RATES, 'value'), whole: 10, fraction: 4 },
  { ...inside(MARKUPS, 'shipping_method', 'handlingFee'), whole: 12, fraction: 2 },
];

export const REFUSED: readonly (readonly [why: string, path: string, body: unknown])[] = [
  ['an email is required', SUBSCRIBERS, {}],
  ['an email is not null', SUBSCRIBERS, { email: null }],
  ['an email has the form of one', SUBSCRIBERS, { email: 'jane at example' }],
  ['a size is not negative', IMAGES, { size: -1 }],
  ['a width is not negative', IMAGES, { width: -1 }],
  ['a height is not negative', IMAGES, { height: -1 }],
  ['a date is not negative', IMAGES, { date: -1 }],
  ['icons are an array', IMAGES, { cloudicons: {} }],
  ['a flag is not null', TABS, { enabled: null }],
  ['a weight is not a number', MARKUPS, { min_weight: 1 }],
  ['a tax class is linked, never made', RATES, { taxClass: { position: 1 } }],
];

export const UNIQUE: readonly (readonly [path: string, body: unknown])[] = [
  [SUBSCRIBERS, { email: 'twice@example.com' }],
  [TABS, { service_name: 'Twice' }],
  ['/api/tmp-vars', { name: 'twice' }],
];

/** Fields that are unique where present: any number of records may have none. */
export const UNIQUE_OR_NULL: readonly (readonly [path: string, body: unknown])[] = [
  [TABS, { service_name: null }],
  ['/api/tmp-vars', { name: null }],
];
