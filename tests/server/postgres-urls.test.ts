/** `DATABASE_URL` and `READ_URL` of PostgreSQL, tested without a server. */
import { inspect } from 'node:util';
import { StartError } from '../../engine/problem.ts';
import { parseAddress, parseAddresses } from '../../engine/storage/postgres/address.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings, withoutPassword } from '../../engine/settings/settings.ts';
import { databaseAt } from '../../engine/storage/open.ts';

const SSL_MODES = 'expected disable, prefer, require, verify-ca, verify-full, no-verify';

describe('without a server', () => {
  const bad = ['pool=0', 'pool=many', 'prepared=maybe', 'prepared=toString', 'lock_timeout=-1'];
  it.each(bad)('?%s is refused by its name', (parameter) => {
    expect(() => parseAddress(`postgres://localhost/x?${parameter}`)).toThrow(StartError);
    expect(() => parseAddress(`postgres://localhost/x?${parameter}`)).toThrow(parameter);
  });

  it.each([
    ['pol=3', 'DATABASE_URL has pol, which is not a known parameter; did you mean "pool"?'],
    ['lock-timeout=3', 'DATABASE_URL has lock-timeout, which is not a known parameter; did you mean "lock_timeout"?'],
    ['sslmod=require', 'DATABASE_URL has sslmod, which is not a known parameter; did you mean "sslmode"?'],
    ['sslmode=requir', `DATABASE_URL has sslmode=requir; ${SSL_MODES}; did you mean "require"?`],
    ['sslmode=', `DATABASE_URL has sslmode=; ${SSL_MODES}`],
    [
      'sslnegotiation=Direct',
      'DATABASE_URL has sslnegotiation=Direct; expected postgres, direct; did you mean "direct"?',
    ],
    ['whatever=1', 'DATABASE_URL has whatever, which is not a known parameter'],
    ['statement_timeout=1', 'DATABASE_URL has statement_timeout; use the setting STATEMENT_TIMEOUT, in seconds'],
  ])('?%s is refused by its name, with the nearest that is known', (parameter, message) => {
    expect(() => parseAddress(`postgres://localhost/x?${parameter}`)).toThrow(new StartError(message));
  });

  it.each([
    ['postgres://me:secret@a,b:5433/x', /DATABASE_URL names 2 servers \(a\/x, b:5433\/x\); expected one: .*proxy.*DNS/],
    ['postgres://me:secret@c/x?host=a,b', /DATABASE_URL names 2 servers \(a, b\)/],
    [
      'postgres://h/x?target_session_attrs=primary',
      /DATABASE_URL has target_session_attrs; use the address of a proxy/,
    ],
  ])('%s is refused: a proxy or a DNS name leads to the primary', (url, message) => {
    expect(() => parseAddress(url)).toThrow(StartError);
    expect(() => parseAddress(url)).toThrow(message);
  });

  it('READ_URL may name several servers', () =>
    expect(parseAddresses('postgres://me@a,b:5433/x?pool=2', 'READ_URL')).toMatchObject([
      { url: 'postgres://me@a/x', pool: 2 },
      { url: 'postgres://me@b:5433/x', pool: 2 },
    ]));

  it('parameters that the client knows are handed on', () => {
    const { url, pool } = parseAddress(
      'postgres://me:x@h/x?pool=3&sslmode=require&application_name=a&options=-c%20x%3D1',
    );
    expect([url, pool]).toEqual(['postgres://me:x@h/x?sslmode=require&application_name=a&options=-c+x%3D1', 3]);
  });

  describe.each([
    'postgres://me:s3cret@127.0.0.1:1/x',
    'postgres://127.0.0.1:1/x?user=me&password=s3cret',
    'postgres://127.0.0.1:1/x?user=me&pass%77ord=s3cret',
    'postgres://127.0.0.1:1/x?password=a@s3cret',
    'postgres://127.0.0.1:1/x%3Fpassword=s3cret',
    'postgres://me:a@s3cret@127.0.0.1:1/x',
    'postgres://me:a/s3cret@127.0.0.1:1/x',
    'postgres://me:12/s3cret@127.0.0.1:1/x',
    'postgres://me:12?s3cret@127.0.0.1:1/x',
    'postgres://me:12#s3cret@127.0.0.1:1/x',
    'postgres://me:12#s3cret&3@127.0.0.1:1/x',
    'postgres://me%3As3cret%40127.0.0.1:1/x',
    'postgres://me:s3cret@127.0.0.1:one/x',
    'postgres://me:s3cret',
    'postgres:me:s3cret@127.0.0.1/x',
    'postgres:me:s3cret',
    'postgres:/me:s3cret@127.0.0.1/x',
    'Postgres://me:s3cret@127.0.0.1/x',
    'mysql://127.0.0.1/x?password=s3cret',
    'me:s3cret@127.0.0.1/x',
    'postgres://127.0.0.1:1/x?password=a&s3cret',
    'postgres://127.0.0.1:1/x?password=a&s3cret=1',
    'host=127.0.0.1 user=me password=s3cret',
    'sqlite://me:s3cret@x.db',
    'sqlite://me:s3cret%40x.db',
    'sqlite:x.db?password=s3cret',
    'sqlite:x.db?key=s3cret',
    'sqlite:file:x.db?key=s3cret',
    'sqlite:postgres://me:s3cret@127.0.0.1/x',
    'sqlite:postgres://me:s3cret',
    'postgres://me%3As3cret',
    'postgres://me%253As3cret%2540127.0.0.1:1/x',
    'postgres://me:a@b:s3cret@127.0.0.1:1/x',
    'postgres://me:s3cret＠127.0.0.1:1/x',
    'postgres://127.0.0.1:1,me:s3cret@127.0.0.1:2/x',
    'postgres://me:a,s3cret@127.0.0.1:1/x',
    'postgres://127.0.0.1:1/x?host=me:s3cret@127.0.0.1',
    'postgres://127.0.0.1:1/x?sslpassword=s3cret',
    'postgres://127.0.0.1:1/x?s3cret',
    'postgres://127.0.0.1:1/x&password=s3cret',
    'postgres://127.0.0.1:1/x;password=s3cret',
    'postgres://127.0.0.1:1/x password=s3cret',
    'postgres://127.0.0.1:1/x:s3cret',
    'postgres:///me:s3cret',
    "host=127.0.0.1 user=me password='s3cret s3cret'",
    'host=127.0.0.1 user=me pwd=s3cret',
    'host=127.0.0.1 user=me:s3cret',
    'postgres://host=127.0.0.1 user=me pwd=s3cret',
    'jdbc:postgresql://me:s3cret',
    'mysql://me:s3cret',
    'postgres//me:s3cret',
    '//me:s3cret',
    'me:s3cret',
    ' postgres://me:s3cret',
    '"postgres://me:s3cret"',
    'psql postgres://me:s3cret',
    'DATABASE_URL=postgres://me:s3cret',
  ])('the password in %s', (url) => {
    const secret = /s3cret/i;

    it('is not shown', () => expect(withoutPassword(url)).not.toMatch(secret));

    it.each(['DATABASE_URL', 'READ_URL'])('is in no message about %s', async (name) => {
      const started = async (): Promise<unknown> => {
        const { databaseUrl, readUrl } = readSettings({ [name]: url });
        if (name === 'DATABASE_URL') return databaseAt(databaseUrl).open();
        return parseAddresses(readUrl, name).map(({ shown }) => shown);
      };
      const said: unknown = await started().catch((error: unknown) => error);
      if (name === 'DATABASE_URL') expect(said).toBeInstanceOf(StartError);
      expect(inspect(said)).not.toMatch(secret);
    });
  });

  it.each([
    ['sqlite:data/records.db', 'sqlite:data/records.db'],
    ['postgres://records@localhost/shop', 'postgres://…@localhost/shop'],
    ['postgres://localhost:5432/shop?pool=3', 'postgres://localhost:5432/shop?…'],
    ['data/records.db', 'data/records.db'],
    ['sqlite:C:\\shop\\records.db', 'sqlite:C:\\shop\\records.db'],
    ['postgres://%2Fvar%2Frun%2Fpostgresql/shop', 'postgres://%2Fvar%2Frun%2Fpostgresql/shop'],
    ['postgres://me@[::1]:5432/b%C3%BCcher', 'postgres://…@[::1]:5432/b%C3%BCcher'],
    ['postgres://me:pw@a:1,b:2/shop', 'postgres://…@a:1,b:2/shop'],
  ])('%s is shown as %s', (url, shown) => expect(withoutPassword(url)).toBe(shown));

  it('a server that is not there is named, without the password', async () => {
    const refused = serve({ ...readSettings({}), port: 0, databaseUrl: 'postgres://me:secret@127.0.0.1:1/x' });
    await expect(refused).rejects.toBeInstanceOf(StartError);
    await expect(refused).rejects.toThrow(/127\.0\.0\.1:1\/x .*ECONNREFUSED/);
    await expect(refused).rejects.not.toThrow('secret');
  });
});
