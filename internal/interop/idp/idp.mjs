// A provider of OpenID Connect tokens, for tests. It writes its issuer as the first line,
// and ends with its standard input. A client "agent" gets tokens for itself, a client
// "web" for its users, whose names are what they type. The argument is the type that the
// header of its access tokens names; without one it is that of RFC 9068.
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const kind = process.argv[2];
const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    { client_id: 'agent', client_secret: 'secret-of-agent', grant_types: ['client_credentials'], response_types: [], redirect_uris: [] },
    { client_id: 'web', client_secret: 'secret-of-web', grant_types: ['authorization_code'], response_types: ['code'], redirect_uris: ['https://web.example/back'] },
  ],
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  extraTokenClaims: (ctx, token) => ({ groups: token.accountId ? ['people'] : ['programs'], ...(token.accountId && { auth_time: Math.floor(Date.now() / 1000) }) }),
  formats: {
    customizers: {
      jwt: (ctx, token, parts) => {
        if (kind) parts.header = { ...parts.header, typ: kind };
        return parts;
      },
    },
  },
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'https://a2a.example',
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => ({ scope: 'call', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 3600 }),
    },
  },
});

server.on('request', provider.callback());
process.stdout.write(`${issuer}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
