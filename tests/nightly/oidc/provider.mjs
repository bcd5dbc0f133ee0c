/** An OpenID provider, as others run it. It tells its parent where it is; a message `rotate` gives it new keys. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const GROUPS = { clerk: ['other', 'staff'], guest: ['guests'], stranger: [] };
const AUDIENCES = { 'urn:records': 'records', 'urn:other': 'other' };

function newKeys() {
  const jwkOf = (alg, type, options) => ({
    ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }),
    kid: randomUUID(),
    use: 'sig',
    alg,
  });
  return [
    jwkOf('RS256', 'rsa', { modulusLength: 2048 }),
    jwkOf('ES256', 'ec', { namedCurve: 'P-256' }),
    jwkOf('EdDSA', 'ed25519', {}),
  ];
}

function providerWith(issuer, keys) {
  const provider = new Provider(issuer, {
    clients: Object.keys(GROUPS).map((client_id) => ({
      client_id,
      client_secret: 'secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    jwks: { keys },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: ({ oidc }, resource) => ({
          scope: 'RS256 ES256 EdDSA',
          audience: AUDIENCES[resource],
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg: oidc.params.scope ?? 'RS256' } },
        }),
      },
    },
    extraTokenClaims: (_, { clientId }) => ({ groups: GROUPS[clientId] }),
  });
  return provider.callback();
}

let serve = () => undefined;
const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  serve = providerWith(issuer, newKeys());
  process.on('message', () => {
    serve = providerWith(issuer, newKeys());
    process.send('rotated');
  });
  process.send(issuer);
});
process.on('disconnect', () => process.exit());
