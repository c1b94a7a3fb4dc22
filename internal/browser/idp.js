// A provider of OpenID Connect that was not written here: people sign in with any name, and
// programs get tokens of their own.
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

export async function startIssuer(redirect) {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      { client_id: 'pages', client_secret: 'secret-of-pages', grant_types: ['authorization_code'], response_types: ['code'], redirect_uris: [redirect] },
      { client_id: 'agent', client_secret: 'secret-of-agent', grant_types: ['client_credentials'], response_types: [], redirect_uris: [] },
    ],
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, groups: [id === 'vera' ? 'readers' : 'sre'] }) }),
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    extraTokenClaims: () => ({ groups: ['programs'] }),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://a2a.example',
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource) => ({ scope: 'groups', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 3600 }),
      },
    },
  });
  server.on('request', provider.callback());
  const token = async () => {
    const response = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: `Basic ${btoa('agent:secret-of-agent')}` },
      body: 'grant_type=client_credentials&resource=https://a2a.example',
    });
    return (await response.json()).access_token;
  };
  const close = () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
  return { issuer, token, close };
}
