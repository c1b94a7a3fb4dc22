// A provider of OpenID Connect that was not written here: people sign in with any name, and
// programs get tokens of their own. The client "cli" gets tokens for people at the command line.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const groups = { vera: ['readers'], alice: ['sre', 'staff'], bob: ['sre', 'finance'], carol: ['sre', 'finance'] };
const groupsOf = (id) => groups[id] ?? ['sre'];
const back = 'http://127.0.0.1:9/back'; // nobody listens there

export async function startIssuer(redirect) {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      { client_id: 'pages', client_secret: 'secret-of-pages', grant_types: ['authorization_code'], response_types: ['code'], redirect_uris: [redirect] },
      { client_id: 'cli', application_type: 'native', token_endpoint_auth_method: 'none', grant_types: ['authorization_code'], response_types: ['code'], redirect_uris: [back] },
      { client_id: 'agent', client_secret: 'secret-of-agent', grant_types: ['client_credentials'], response_types: [], redirect_uris: [] },
    ],
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, groups: groupsOf(id) }) }),
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    extraTokenClaims: (ctx, token) => ({ groups: token.accountId ? groupsOf(token.accountId) : ['programs'], ...(token.accountId && { auth_time: Math.floor(Date.now() / 1000) }) }),
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
  // login signs a person in with a browser's page, and returns an access token for the command line.
  const login = async (page, name) => {
    const verifier = 'a-verifier-of-at-least-forty-three-characters';
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    await page.route(`${back}*`, (route) => route.fulfill({ body: 'done' }));
    await page.goto(`${issuer}/auth?${new URLSearchParams({ client_id: 'cli', response_type: 'code', redirect_uri: back, scope: 'openid groups', code_challenge: challenge, code_challenge_method: 'S256' })}`);
    await signIn(page, name);
    await page.waitForURL(`${back}*`);
    const code = new URL(page.url()).searchParams.get('code');
    const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'cli', code, redirect_uri: back, code_verifier: verifier });
    return (await (await fetch(`${issuer}/token`, { method: 'POST', body })).json()).access_token;
  };
  const close = () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
  return { issuer, token, login, close };
}

// signIn fills in the provider's pages.
export async function signIn(page, name) {
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.locator('button[type=submit]').click(); // consent
}
