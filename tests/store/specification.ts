/** The published interface of the store administration records, typed in by hand: what a wrong descriptor cannot agree with. */

/** A JSON type, `any[]`, the name of a record type for one object, or `Name[]` for a set of them. */
type FieldTable = Readonly<Record<string, string>>;

export const OBJECTS: Readonly<Record<string, FieldTable>> = {
  ShippingMarkup: {
    markup_id: 'integer',
    min_weight: 'string',
    max_weight: 'string',
    min_total: 'string',
    max_total: 'string',
    min_items: 'string',
    max_items: 'string',
    markup_flat: 'string',
    markup_percent: 'string',
    markup_per_item: 'string',
    markup_per_weight: 'string',
    shipping_method: 'ShippingMethod',
    zone: 'Zone',
  },
  ShippingMethod: {
    free: 'boolean',
    method_id: 'integer',
    processor: 'string',
    carrier: 'string',
    code: 'string',
    enabled: 'boolean',
    position: 'integer',
    shipping_markups: 'ShippingMarkup[]',
    taxClass: 'TaxClass',
    added: 'boolean',
    moduleName: 'string',
    fromMarketplace: 'boolean',
    iconURL: 'string',
    tableType: 'string',
    handlingFee: 'string',
    handlingFeeType: 'string',
  },
  Zone: {
    zone_id: 'integer',
    zone_name: 'string',
    is_default: 'boolean',
    zone_elements: 'ZoneElement[]',
    shipping_markups: 'ShippingMarkup[]',
  },
  SalesTaxRate: {
    id: 'integer',
    value: 'string',
    type: 'string',
    position: 'integer',
    tax: 'Tax',
    zone: 'Zone',
    taxClass: 'TaxClass',
    membership: 'Membership',
    noTaxClass: 'boolean',
    taxableBase: 'string',
  },
  Tax: { id: 'integer', enabled: 'boolean', rates: 'SalesTaxRate[]' },
  Membership: {
    coupons: 'Coupon[]',
    membership_id: 'integer',
    position: 'integer',
    enabled: 'boolean',
    quickData: 'QuickData[]',
    categories: 'Category[]',
    products: 'Product[]',
  },
  ContentImage: {
    id: 'integer',
    path: 'string',
    fileName: 'string',
    mime: 'string',
    storageType: 'string',
    size: 'integer',
    width: 'integer',
    height: 'integer',
    hash: 'string',
    date: 'integer',
    needProcess: 'boolean',
    needMigration: 'boolean',
    cloudicons: 'any[]',
  },
  GlobalTab: {
    id: 'integer',
    enabled: 'boolean',
    link: 'string',
    position: 'integer',
    service_name: 'string',
    custom_tab: 'CustomTab',
    product_specific_aliases: 'ProductTab[]',
    providers: 'TabProvider[]',
  },
  CustomTab: { id: 'integer', global_tab: 'GlobalTab' },
  TabProvider: { id: 'integer', tab: 'GlobalTab', code: 'string' },
  NewsletterSubscriber: { id: 'integer', email: 'string', profile: 'boolean' },
  TaxClass: { id: 'integer', position: 'integer', providerOneVATRate: 'string', providerTwoVATRate: 'integer' },
  TmpVar: { id: 'integer', name: 'string', value: 'string' },
  Notification: {
    templatesDirectory: 'string',
    availableForAdmin: 'boolean',
    availableForCustomer: 'boolean',
    enabledForAdmin: 'boolean',
    enabledForCustomer: 'boolean',
    adminHeaderEnabled: 'boolean',
    adminGreetingEnabled: 'boolean',
    adminSignatureEnabled: 'boolean',
    customerHeaderEnabled: 'boolean',
    customerGreetingEnabled: 'boolean',
    customerSignatureEnabled: 'boolean',
    position: 'integer',
    editable: 'boolean',
  },
};

/** Types that are named without their fields: an identifier, and whatever a client keeps there. */
export const OPEN_TYPES = ['ZoneElement', 'ProductTab', 'Coupon', 'QuickData', 'Category', 'Product'] as const;

/** A related record of which only these fields are shown. */
export const PARTIAL: Readonly<Record<string, readonly string[]>> = { 'SalesTaxRate.taxClass': ['id', 'position'] };

const ALL = ['list', 'get', 'create', 'update', 'delete'] as const;

interface Resource {
  readonly path: string;
  readonly identifier: string;
  readonly operations: readonly (typeof ALL)[number][];
}

export const RESOURCES: Readonly<Record<string, Resource>> = {
  ShippingMarkup: { path: '/api/shipping-markups', identifier: 'markup_id', operations: ALL },
  SalesTaxRate: { path: '/api/sales-tax-rates', identifier: 'id', operations: ALL },
  ContentImage: { path: '/api/content-images', identifier: 'id', operations: ALL },
  GlobalTab: { path: '/api/global-tabs', identifier: 'id', operations: ALL },
  NewsletterSubscriber: { path: '/api/newsletter-subscribers', identifier: 'id', operations: ALL },
  TaxClass: { path: '/api/tax-classes', identifier: 'id', operations: ALL },
  TmpVar: { path: '/api/tmp-vars', identifier: 'id', operations: ALL },
  Notification: { path: '/api/notifications', identifier: 'id', operations: ['list', 'get', 'update', 'delete'] },
};

/** Identifiers of the types that are only reached through others, where the name is not `id`. */
const RELATED_IDENTIFIERS: Readonly<Record<string, string>> = {
  ShippingMethod: 'method_id',
  Zone: 'zone_id',
  Membership: 'membership_id',
};

export const NOTIFICATION_VARIANTS = { A: [], B: ['editable'], C: ['position', 'editable'] } as const;

export const identifierOf = (type: string): string => RESOURCES[type]?.identifier ?? RELATED_IDENTIFIERS[type] ?? 'id';

/** The fields of a record as they are answered: the specification's, and the identifier where it lists none. */
export const answered = (type: string): FieldTable => ({ [identifierOf(type)]: 'integer', ...OBJECTS[type] });
