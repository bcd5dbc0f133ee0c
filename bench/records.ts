/** Records of the shipped types, worked out from their identifiers. */
export const METHODS = 20;
export const ZONES = 10;

export const dateOf = (id: number): number => 1_735_689_600 + id * 60;

export const imageOf = (id: number) => ({
  id,
  path: `banners/summer-${id}.jpg`,
  fileName: `summer-${id}.jpg`,
  mime: id % 3 === 0 ? 'image/png' : 'image/jpeg',
  storageType: 'r',
  size: 48_213 + id,
  width: 1280,
  height: 720,
  hash: `d41d8cd98f00b204e980${String(id).padStart(12, '0')}`,
  date: dateOf(id),
  needProcess: id % 2 === 0,
  needMigration: false,
  cloudicons: [{ size: 64, url: `https://cdn.example.com/summer-${id}-64.jpg` }],
});

export const methodOf = (id: number) => ({
  method_id: id,
  free: id % 5 === 0,
  processor: 'offline',
  carrier: 'courier',
  code: `GROUND-${id}`,
  enabled: true,
  position: id * 10,
  added: true,
  moduleName: 'Acme\\Courier',
  fromMarketplace: false,
  iconURL: `https://cdn.example.com/courier-${id}.svg`,
  tableType: 'W',
  handlingFee: `${id}.50`,
  handlingFeeType: 'a',
});

export const zoneOf = (id: number) => ({ zone_id: id, zone_name: `Zone ${id}`, is_default: id === 1 });

export const amountsOf = (id: number) => ({
  markup_id: id,
  min_weight: '0.5',
  max_weight: '31.5',
  min_total: `${id % 100}.00`,
  max_total: '999999999',
  min_items: '1',
  max_items: '20',
  markup_flat: `${id % 50}.90`,
  markup_percent: '2.5',
  markup_per_item: '0.30',
  markup_per_weight: '1.20',
});

export const methodIdOf = (id: number): number => 1 + (id % METHODS);
export const zoneIdOf = (id: number): number => 1 + (id % ZONES);
