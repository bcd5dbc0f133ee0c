/** Settings that could never match are refused, with the value that seems to be meant. */
import { readSettings } from '../../engine/settings/settings.ts';

const HOSTS = 'expected auto, or *, or host names like records.example.com, without ports, separated by commas';
const ORIGINS = 'expected none, or *, or origins like https://shop.example.com, separated by commas';
const IMAGES = 'expected none, or origins like https://images.example.com, separated by commas';

test.each([
  ['CORS_ORIGINS', 'https://Shop.example', ORIGINS, 'https://shop.example'],
  ['CORS_ORIGINS', 'HTTPS://shop.example', ORIGINS, 'https://shop.example'],
  ['CORS_ORIGINS', 'https://shop.example:443', ORIGINS, 'https://shop.example'],
  ['CORS_ORIGINS', 'http://shop.example:80', ORIGINS, 'http://shop.example'],
  ['CORS_ORIGINS', 'https://shop.example/', ORIGINS, 'https://shop.example'],
  [
    'CORS_ORIGINS',
    'http://a.example, https://bücher.example',
    ORIGINS,
    'http://a.example,https://xn--bcher-kva.example',
  ],
  ['IMAGE_ORIGINS', 'https://pictures.example/', IMAGES, 'https://pictures.example'],
  ['ALLOWED_HOSTS', 'records.example.', HOSTS, 'records.example'],
  ['ALLOWED_HOSTS', 'records.example:8080', HOSTS, 'records.example'],
  ['ALLOWED_HOSTS', 'https://records.example/', HOSTS, 'records.example'],
  ['ALLOWED_HOSTS', 'localhost,bücher.example', HOSTS, 'localhost,xn--bcher-kva.example'],
  ['ALLOWED_HOSTS', 'records.example/api', HOSTS, 'records.example'],
  ['ALLOWED_HOSTS', 'records.example,', HOSTS, 'records.example'],
  ['ALLOWED_HOSTS', 'records.example www.example', HOSTS, 'records.example,www.example'],
  ['CORS_ORIGINS', 'https://shop.example/cart, ', ORIGINS, 'https://shop.example'],
  ['CORS_ORIGINS', 'https://a.example;https://b.example', ORIGINS, 'https://a.example,https://b.example'],
  ['ALLOWED_HOSTS', 'a.example;b.example', HOSTS, 'a.example,b.example'],
  ['IMAGE_ORIGINS', 'https://a.example;https://b.example', IMAGES, 'https://a.example,https://b.example'],
  ['CORS_ORIGINS', '"https://shop.example"', ORIGINS, 'https://shop.example'],
  ['CORS_ORIGINS', ',https://a.example,,*', ORIGINS, 'https://a.example,*'],
])('%s=%s', (name, value, expected, meant) => {
  expect(() => readSettings({ [name]: value })).toThrow(`${name} is "${value}"; ${expected}; did you mean ${meant}?`);
  expect(readSettings({ [name]: meant })).toMatchObject({});
});

test.each([
  ['CORS_ORIGINS', 'shop.example'],
  ['CORS_ORIGINS', 'ftp://shop.example'],
  ['CORS_ORIGINS', 'null'],
  ['CORS_ORIGINS', 'https://*.shop.example'],
  ['CORS_ORIGINS', ' , '],
  ['CORS_ORIGINS', 'https://.shop.example'],
  ['ALLOWED_HOSTS', 'a b%'],
  ['ALLOWED_HOSTS', '.shop.example'],
  ['ALLOWED_HOSTS', 'auto,shop.example'],
  ['ALLOWED_HOSTS', 'none'],
  ['ALLOWED_HOSTS', '*.shop.example'],
  ['ALLOWED_HOSTS', 'shop!.example'],
  ['ALLOWED_HOSTS', 'shop.example|www.example'],
  ['IMAGE_ORIGINS', 'https://a..example'],
  ['IMAGE_ORIGINS', 'https://shop.example|www.example'],
  ['CORS_ORIGINS', 'https://shop.example$'],
])('%s=%s has no nearest value', (name, value) => {
  expect(() => readSettings({ [name]: value })).toThrow(/separated by commas$/);
});

test.each([
  ['CORS_ORIGINS', 'http://localhost:5173,https://shop.example,http://[::1]:8080,https://xn--bcher-kva.example'],
  ['IMAGE_ORIGINS', 'https://*.shop.example'],
  ['ALLOWED_HOSTS', 'Records.Example.com,my_host,10.0.0.7'],
  ['HOST', 'my_host.example'],
  ['HOST', '::'],
  ['HOST', 'fe80::1%eth0'],
])('%s=%s is accepted', (name, value) => expect(readSettings({ [name]: value })).toMatchObject({}));

test.each([
  ['LOG_LEVEL', 'WARN', 'debug, info, warn, error, silent; did you mean warn?'],
  ['DIALECTS', 'JSON-server,simple_rest', 'separated by commas; did you mean json-server,simple-rest?'],
  ['ALLOWED_HOSTS', 'a.example,::1', 'without ports, separated by commas; did you mean a.example,\\[::1\\]?'],
  ['DIALECTS', 'graphql', 'some of json-server, simple-rest, separated by commas'],
])('%s=%s is refused with the words that are meant', (name, value, says) => {
  expect(() => readSettings({ [name]: value })).toThrow(new RegExp(`${says.replaceAll('?', '\\?')}$`));
});

test('PUBLIC_URL is one address, no pattern', () => {
  expect(() => readSettings({ PUBLIC_URL: 'https://*.shop.example' })).toThrow(/^PUBLIC_URL is .*; expected none, or/);
});

test.each(['0.0.0.0:3000', 'localhost:3000', '[::1]', 'http://localhost'])('HOST=%s is refused', (value) => {
  expect(() => readSettings({ HOST: value })).toThrow(`HOST is "${value}"; expected a host name or an IP address`);
});

test.each(['::1/129', '10.0.0.0/8,fe80::/10/2, ::ffff:10.0.0.1/200', '2001:db8:::1', '12345::1', 'fe80::1%eth0/300'])(
  'TRUSTED_PROXIES=%s is refused, and shown',
  (value) => {
    expect(() => readSettings({ TRUSTED_PROXIES: value })).toThrow(`TRUSTED_PROXIES is "${value}"; expected none, or`);
  },
);

test.each(['me:s3cret:1', '::1:s3cret', 'cafe:beef:s3cret', '::1 me:s3cret', 's3cret::1'])(
  'TRUSTED_PROXIES=%s, which may be a password, is refused and not shown',
  (value) =>
    expect(() => readSettings({ TRUSTED_PROXIES: value })).toThrow('TRUSTED_PROXIES is "…"; expected none, or'),
);
