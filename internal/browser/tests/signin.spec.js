// Signing in at an issuer that was not written here, and what a session is good for.
import { writeFileSync } from 'node:fs';
import { signIn as login, startIssuer } from '../idp.js';
import { Server, test as base, expect } from '../server.js';

// test has a server with an issuer: people of the group sre approve, readers read, and programs
// ask.
const test = base.extend({
  world: async ({}, use) => {
    const server = await new Server('').start(); // its port is known before the issuer is asked for it
    await server.kill();
    const idp = await startIssuer(`${server.url}/ui/signin/callback`);
    writeFileSync(server.file, `
auth:
  tenant: acme
  oidc:
    - name: corp
      issuer: ${idp.issuer}
      audiences: [https://a2a.example]
      networks: [127.0.0.1]
      client_id: pages
      client_secret: {secret: pages}
      scopes: [groups]
      roles: {claim: groups, map: {sre: [approver], readers: [viewer], programs: [requester]}}
secrets: {pages: {env: PAGES_SECRET}}
`, { mode: 0o600 });
    process.env.PAGES_SECRET = 'secret-of-pages';
    await server.start();
    const headers = { Authorization: `Bearer ${await idp.token()}` };
    await use({ server, idp, headers });
    await server.stop();
    await idp.close();
  },
});

const signIn = async (page, name) => {
  await page.getByText('Continue with corp').click();
  await login(page, name);
};

test('an approver signs in, decides, and signs out', async ({ page, world: { server, headers } }) => {
  const task = await server.send('/transfer_money amount=3 to=dave', { headers });
  const [one] = await server.approvals(task.id, headers);
  await page.goto(`${server.url}/ui/approvals/${one.id}`);
  await expect(page).toHaveURL(/\/ui\/signin/);
  await signIn(page, 'alice');
  await expect(page).toHaveURL(`${server.url}/ui/approvals/${one.id}`);
  await expect(page.locator('header')).toContainText('corp:alice');
  await page.getByText('Approve…').click();
  await page.waitForTimeout(700); // a panel takes no decision in its first moment
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await page.getByRole('button', { name: 'Approve and run' }).click();
  await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');
  const [decided] = await server.approvals(task.id, headers);
  expect(decided.resolution.by.subject).toBe('corp:alice');

  // The session is for the pages: the API takes no cookie.
  const cookies = (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join('; ');
  expect((await fetch(`${server.url}/api/v1/approvals`, { headers: { Cookie: cookies } })).status).toBe(401);

  await page.locator('#menu summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.locator('main')).toContainText('signed out');
  await page.goto(`${server.url}/ui/`);
  await expect(page).toHaveURL(/\/ui\/signin/);
});

test('a session outlives a restart, and a viewer decides nothing', async ({ page, world: { server, headers } }) => {
  const task = await server.send('/transfer_money amount=3 to=dave', { headers });
  const [one] = await server.approvals(task.id, headers);
  await page.goto(`${server.url}/ui/`);
  await signIn(page, 'vera');
  await expect(page.locator('tr[data-id]')).toHaveCount(1);
  await server.kill();
  await server.start();
  await page.goto(`${server.url}/ui/approvals/${one.id}`);
  await expect(page.locator('#decide')).toContainText('You cannot decide this');
  await expect(page.getByText('Approve…')).toHaveCount(0);
});
