/** Bodies for each record type, every field and every nested object filled; `n` makes those that must be unique differ. */
import type { Include } from './shape.ts';

interface Sample {
  /** `taxClass` is the identifier of a tax class that exists. */
  readonly full: (n: number, taxClass: number) => Readonly<Record<string, unknown>>;
  readonly include: Include;
  /** A change of one field, for update. */
  readonly change: Readonly<Record<string, unknown>>;
  /** The smallest body that is accepted, and what it is answered with beside the identifier. */
  readonly smallest: Readonly<Record<string, unknown>>;
  readonly defaults: Readonly<Record<string, unknown>>;
}

const method = (taxClass: number) => ({
  free: true,
  processor: 'offline',
  carrier: 'courier',
  code: 'GROUND',
  enabled: true,
  position: 3,
  taxClass: { id: taxClass },
  added: true,
  moduleName: 'Acme\\Courier',
  fromMarketplace: true,
  iconURL: 'https://cdn.example.com/courier.svg',
  tableType: 'W',
  handlingFee: '2.50',
  handlingFeeType: 'a',
});

const zone = {
  zone_name: 'Alpine countries',
  is_default: true,
  zone_elements: [
    { element_value: 'AT', element_type: 'C' },
    { element_value: 'CH', deep: { list: [1, null, 'é'] } },
  ],
};

export const SAMPLES: Readonly<Record<string, Sample>> = {
  ShippingMarkup: {
    full: (n, taxClass) => ({
      min_weight: '0.1250',
      max_weight: '31.5',
      min_total: '10',
      max_total: '99999.99',
      min_items: '1',
      max_items: String(n),
      markup_flat: '4.90',
      markup_percent: '-2.5',
      markup_per_item: '0.30',
      markup_per_weight: '1.20',
      shipping_method: method(taxClass),
      zone,
    }),
    include: {
      shipping_method: { shipping_markups: {}, taxClass: {} },
      zone: { zone_elements: {}, shipping_markups: {} },
    },
    change: { markup_flat: '5.00' },
    smallest: {},
    defaults: {
      min_weight: '0',
      max_weight: '999999999',
      min_total: '0',
      max_total: '999999999',
      min_items: '0',
      max_items: '999999999',
      markup_flat: '0',
      markup_percent: '0',
      markup_per_item: '0',
      markup_per_weight: '0',
      shipping_method: null,
      zone: null,
    },
  },
  SalesTaxRate: {
    full: (n, taxClass) => ({
      value: '19.0000',
      type: 'a',
      position: n,
      tax: { enabled: true },
      zone,
      taxClass: { id: taxClass },
      membership: {
        coupons: [{ code: 'WELCOME' }, { code: 'SPRING', share: 10 }],
        position: 4,
        enabled: false,
        quickData: [{ price: '9.95' }],
        categories: [{ name: 'Garden' }],
        products: [{ sku: 'A-1', tags: ['x'] }],
      },
      noTaxClass: true,
      taxableBase: 'DST+SH',
    }),
    include: {
      tax: { rates: {} },
      zone: { zone_elements: {} },
      taxClass: {},
      membership: { coupons: {}, quickData: {}, categories: {}, products: {} },
    },
    change: { value: '7.7' },
    smallest: {},
    defaults: {
      value: '0',
      type: 'p',
      position: 0,
      noTaxClass: false,
      taxableBase: 'ST',
      tax: null,
      zone: null,
      taxClass: null,
      membership: null,
    },
  },
  ContentImage: {
    full: (n) => ({
      path: `banners/${n}.jpg`,
      fileName: 'summer.jpg',
      mime: 'image/jpeg',
      storageType: 'u',
      size: 48213,
      width: 1280,
      height: 720,
      hash: 'd41d8cd98f00b204e9800998ecf8427e',
      date: 1735689600,
      needProcess: false,
      needMigration: true,
      cloudicons: [{ url: 'https://cdn.example.com/64.jpg', size: 64 }, 'x', 1.5, null, [true]],
    }),
    include: {},
    change: { cloudicons: [] },
    smallest: {},
    defaults: {
      path: null,
      fileName: null,
      mime: 'application/octet-stream',
      storageType: 'r',
      size: 0,
      width: 0,
      height: 0,
      hash: null,
      date: 0,
      needProcess: true,
      needMigration: false,
      cloudicons: [],
    },
  },
  GlobalTab: {
    full: (n) => ({
      enabled: false,
      link: 'specification',
      position: n,
      service_name: `Specification ${n}`,
      custom_tab: {},
      product_specific_aliases: [{ product: 12, alias: 'Details' }],
      providers: [{ code: 'Core' }, { code: 'Acme\\Reviews' }],
    }),
    include: { custom_tab: { global_tab: {} }, product_specific_aliases: {}, providers: { tab: {} } },
    change: { link: 'reviews' },
    smallest: {},
    defaults: {
      enabled: true,
      link: null,
      position: 0,
      service_name: null,
      custom_tab: null,
      product_specific_aliases: [],
      providers: [],
    },
  },
  NewsletterSubscriber: {
    full: (n) => ({ email: `jane.${n}@example.com`, profile: true }),
    include: {},
    change: { profile: false },
    smallest: { email: 'smallest@example.com' },
    defaults: { email: 'smallest@example.com', profile: false },
  },
  TaxClass: {
    full: (n) => ({ position: n, providerOneVATRate: '19.00', providerTwoVATRate: 1900 }),
    include: {},
    change: { providerTwoVATRate: 700 },
    smallest: {},
    defaults: { position: 0, providerOneVATRate: null, providerTwoVATRate: null },
  },
  TmpVar: {
    full: (n) => ({ name: `export ${n}`, value: '{"step":3}' }),
    include: {},
    change: { value: '' },
    smallest: {},
    defaults: { name: null, value: '' },
  },
};
