// Deciding from another machine, as far as one can have it on this one: over TLS, by another user
// who has neither the socket nor the data folder, signed in at an issuer in the browser and with
// a key in a terminal.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { startIssuer } from '../idp.js';
import { Server, test, expect } from '../server.js';

test.use({ ignoreHTTPSErrors: true });

test('over TLS, as another user', async ({ page, playwright }) => {
  test.setTimeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  const [cert, key, keys, program] = ['cert.pem', 'key.pem', 'keys.yaml', 'a2a-server'].map((name) => join(folder, name));
  const server = await new Server('').start(); // its port is known before the issuer is asked for it
  await server.kill();
  server.url = server.url.replace('http:', 'https:');
  const idp = await startIssuer(`${server.url}/ui/signin/callback`);
  try {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    chmodSync(key, 0o600);
    const add = (id, role) => execFileSync(process.env.A2A_SERVER, ['keys', 'add', id, '--role', role, '--tenant', 'acme', '--file', keys], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    const asks = add('carol', 'requester'), approves = add('olga', 'approver');
    writeFileSync(server.file, `
tls: {cert: ${cert}, key: ${key}}
public_url: ${server.url}
auth:
  tenant: acme
  keys: {file: ${keys}}
  oidc:
    - name: corp
      issuer: ${idp.issuer}
      audiences: [https://a2a.example]
      networks: [127.0.0.1]
      client_id: pages
      client_secret: {secret: pages}
      scopes: [groups]
      roles: {claim: groups, map: {sre: [approver]}}
secrets: {pages: {env: PAGES_SECRET}}
`, { mode: 0o600 });
    process.env.PAGES_SECRET = 'secret-of-pages';
    await server.start();
    server.url = server.url.replace('http:', 'https:');
    const client = await playwright.request.newContext({ ignoreHTTPSErrors: true, extraHTTPHeaders: { 'X-API-Key': asks } });
    const send = async (text) => (await (await client.post(`${server.url}/message:send`, { data: { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] } } })).json()).task;
    const state = async (task) => (await (await client.get(`${server.url}/tasks/${task.id}`)).json()).status.state;

    // In the browser.
    const first = await send('/transfer_money amount=3 to=dave');
    await page.goto(server.url);
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Sign in');
    expect((await new AxeBuilder({ page }).analyze()).violations.map((v) => v.id)).toEqual([]);
    await page.getByText('Continue with corp').click();
    await page.locator('input[name=login]').fill('alice');
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.locator('button[type=submit]').click(); // consent
    const cookie = (await page.context().cookies(server.url)).find((c) => c.name.endsWith('a2a-session'));
    expect(cookie).toMatchObject({ name: '__Host-a2a-session', secure: true, httpOnly: true, sameSite: 'Lax', path: '/' });
    await page.locator('tr[data-id] a.sum').click();
    await page.getByText('Approve…').click();
    await page.getByLabel(/Type transfer_money/).fill('transfer_money');
    await page.waitForTimeout(700); // the page takes no decision in its first moment
    await page.getByRole('button', { name: 'Approve and run' }).click();
    await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');
    await expect.poll(() => state(first)).toBe('TASK_STATE_COMPLETED');

    // In a terminal, as a user who can read nothing of the server's.
    const second = await send('/transfer_money amount=4 to=erin');
    copyFileSync(process.env.A2A_SERVER, program);
    chmodSync(program, 0o755);
    chmodSync(folder, 0o755);
    const terminal = (...args) => spawnSync(program, args, {
      encoding: 'utf8', cwd: '/', ...(process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {}),
      env: { A2A_SERVER_URL: server.url, A2A_SERVER_TOKEN: approves, SSL_CERT_FILE: cert, HOME: '/nonexistent' },
    });
    const listed = JSON.parse(terminal('approvals', 'list', '-o', 'json').stdout);
    const [one] = listed.items ?? listed.approvals ?? listed;
    expect(one.task).toBe(second.id);
    expect(terminal('approvals', 'approve', one.id).status).toBe(3); // nobody has seen what runs
    const done = terminal('approvals', 'approve', one.id, '--yes', '--digest', one.digest);
    expect(done.stdout, done.stderr).toContain('approved by key:olga');
    await expect.poll(() => state(second)).toBe('TASK_STATE_COMPLETED');
    expect(readFileSync(join(server.folder, 'data', 'ledger.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2);
    await client.dispose();
  } finally {
    await server.stop();
    await idp.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
