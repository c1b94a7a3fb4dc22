// Deciding: with a mouse, without a script, twice at once, and across a crash.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, expect, followLink } from '../server.js';

const transfer = '/transfer_money amount=250 to=bob';
const ledger = (server) => {
  try {
    return readFileSync(join(server.folder, 'data', 'ledger.jsonl'), 'utf8').trim().split('\n').length;
  } catch {
    return 0;
  }
};
const asks = async (server, text = transfer) => (await server.approvals((await server.send(text)).id))[0];

test('a new request appears within a second, and nothing moves', async ({ page, server }) => {
  await asks(server);
  await page.goto(`${server.url}/ui/`);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  const row = page.locator('tr[data-id]').first();
  const before = await row.boundingBox();
  await page.evaluate(() => {
    new MutationObserver(() => { window.appeared ??= performance.now(); }).observe(document.querySelector('#new'), { attributes: true });
    window.began = performance.now();
  });
  await asks(server);
  await expect(page.getByText('Show 1 new')).toBeVisible();
  expect(await page.evaluate(() => window.appeared - window.began)).toBeLessThan(1000);
  await expect(page).toHaveTitle(/^\(2\)/);
  await expect(page.locator('tr[data-id]')).toHaveCount(1);
  expect((await row.boundingBox()).x).toBe(before.x);
  await page.getByText('Show 1 new').click();
  await expect(page.locator('tr[data-id]')).toHaveCount(2);
});

test('a destructive call is approved in two steps, and runs once', async ({ page, server }) => {
  const one = await asks(server);
  await page.goto(`${server.url}/ui/`);
  await page.locator(`tr[data-id="${one.id}"] a.sum`).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('250');
  await page.getByText('Approve…').click();
  await page.waitForTimeout(700); // a panel takes no decision in its first moment
  const go = page.getByRole('button', { name: 'Approve and run' });
  await expect(go).toBeDisabled();
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await page.keyboard.press('Enter');
  expect(ledger(server)).toBe(0);
  await go.click();
  await expect(page.getByRole('status').filter({ hasText: /It ran|ran/ })).toBeVisible();
  expect(ledger(server)).toBe(1);
});

test('without a script a call is approved, edited and rejected', async ({ browser, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  const [approve, reject, edit] = [await asks(server), await asks(server), await asks(server)];

  await page.goto(`${server.url}/ui/approvals/${approve.id}`);
  await page.getByText('Approve…').click();
  await page.getByLabel(/Type transfer_money/).fill('transfer');
  await page.getByRole('button', { name: 'Approve and run' }).click();
  expect(ledger(server)).toBe(0);
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await page.getByRole('button', { name: 'Approve and run' }).click();
  await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');

  await page.goto(`${server.url}/ui/approvals/${reject.id}`);
  await page.getByText('Reject…').click();
  await page.getByLabel(/Reason for the agent/).fill('not today');
  await page.getByRole('button', { name: 'Reject', exact: true }).click();
  await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Rejected');
  expect((await server.approvals(reject.task))[0].resolution.reason).toContain('not today');

  await page.goto(`${server.url}/ui/approvals/${edit.id}/edit`);
  await page.getByLabel(/amount/).fill('5');
  await page.getByRole('button', { name: 'See what changes' }).click();
  await expect(page.getByLabel('What changes').first()).toContainText('250');
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await page.getByRole('button', { name: 'Approve, and run it like this' }).click();
  await expect(page.locator('#approval')).toHaveAttribute('data-state', /Approved/);
  await expect.poll(() => ledger(server)).toBe(2);
  expect(readFileSync(join(server.folder, 'data', 'ledger.jsonl'), 'utf8')).toContain('"amount":5');
  await context.close();
});

test('of two people who decide at once one counts, and both see the truth', async ({ browser, server }) => {
  const one = await asks(server);
  const people = await Promise.all([0, 1].map(async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${server.url}/ui/approvals/${one.id}`);
    return page;
  }));
  const [alice, bob] = people;
  await alice.getByText('Approve…').click();
  await alice.getByLabel(/Type transfer_money/).fill('transfer_money');
  await bob.getByText('Reject…').click();
  await bob.waitForTimeout(700);
  await Promise.all([
    alice.getByRole('button', { name: 'Approve and run' }).click(),
    bob.getByRole('button', { name: 'Reject', exact: true }).click(),
  ]);
  const now = async () => (await server.approvals(one.task))[0].state;
  await expect.poll(now).not.toBe('pending');
  const state = await now();
  const [winner, loser] = state === 'approved' ? people : [bob, alice];
  await expect(winner.getByText('was not counted')).toHaveCount(0);
  await expect(loser.getByText('Your decision was not counted')).toBeVisible();
  await expect.poll(() => ledger(server)).toBe(state === 'approved' ? 1 : 0);
});

test('a double click decides once', async ({ page, server }) => {
  const one = await asks(server);
  await followLink(page, server, `/ui/approvals/${one.id}?do=approve`);
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await page.waitForTimeout(700);
  await page.getByRole('button', { name: 'Approve and run' }).dblclick();
  await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');
  await expect(page.getByText('was not counted')).toHaveCount(0);
  expect(ledger(server)).toBe(1);
});

test('a page from before a crash decides after it', async ({ page, server }) => {
  const one = await asks(server);
  await followLink(page, server, `/ui/approvals/${one.id}?do=approve`);
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await server.kill();
  await expect(page.getByText(/Reconnecting/)).toBeVisible();
  await server.start();
  await expect(page.getByText('Live', { exact: true })).toBeVisible({ timeout: 20_000 });
  await page.getByRole('button', { name: 'Approve and run' }).click();
  await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');
  expect(ledger(server)).toBe(1);
});

test('a decided row stays, and says by whom', async ({ page, server }) => {
  const one = await asks(server);
  await page.goto(`${server.url}/ui/`);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await fetch(`${server.url}/api/v1/approvals/${one.id}/decision`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ decision: 'reject', digest: one.digest, reason: 'wrong target' }),
  });
  await expect(page.locator(`tr[data-id="${one.id}"]`)).toContainText(/Rejected by anonymous/);
  await expect(page.locator(`tr[data-id="${one.id}"]`)).toContainText('wrong target');
});

test.describe('several calls of one gate', () => {
  test.use({ config: 'gates: [{tool: echo, name: talk}]\n' });
  test('are decided together, with a result for each', async ({ page, server }) => {
    const all = [];
    for (const text of ['one', 'two', 'three']) all.push(await asks(server, `/echo ${text}`));
    await page.goto(`${server.url}/ui/`);
    for (const one of all.slice(0, 2)) await page.locator(`tr[data-id="${one.id}"] input[type=checkbox]`).check();
    await page.getByRole('button', { name: 'Review 2 selected…' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Decide these 2 calls together');
    await fetch(`${server.url}/api/v1/approvals/${all[0].id}/decision`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ decision: 'reject', digest: all[0].digest }),
    });
    await page.waitForTimeout(700);
    await page.getByRole('button', { name: 'Approve 2 and run' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Results');
    const states = async () => (await Promise.all(all.map((one) => server.approvals(one.task)))).map(([a]) => a.state);
    expect(await states()).toEqual(['rejected', 'approved', 'pending']);
  });
});

test.describe('by keyboard', () => {
  test.use({ config: 'gates: [{tool: echo, name: talk}]\n' });
  test('an approval is asked anew on stricter terms', async ({ page, server }) => {
    const [one] = await server.approvals((await server.send('/echo one')).id);
    writeFileSync(server.file, 'gates: [{tool: echo, name: talk, risk: high}]\n');
    server.process.kill('SIGHUP');
    const anew = page.getByText('Ask anew…');
    await expect(async () => {
      await page.goto(`${server.url}/ui/approvals/${one.id}`);
      await expect(anew).toBeVisible({ timeout: 300 });
    }).toPass();
    await page.waitForTimeout(700);
    await anew.focus();
    await page.keyboard.press('Enter');
    await page.waitForTimeout(700);
    await page.keyboard.press('Tab');
    await expect(page.getByRole('button', { name: 'Ask anew' })).toBeFocused();
    await page.keyboard.press('Space');
    await expect(page.locator('.risk')).toContainText('High');
    const [before, after] = await server.approvals(one.task);
    expect([before.state, after.state]).toEqual(['superseded', 'pending']);
    await expect(page.locator('#approval')).toHaveAttribute('data-id', after.id);
  });

  test('a press while a decision may be on its way says so', async ({ page, server }) => {
    const [one] = await server.approvals((await server.send('/echo one')).id);
    await page.goto(`${server.url}/ui/approvals/${one.id}`);
    await page.getByText('Approve…').click();
    await page.waitForTimeout(700);
    await page.route('**/decision', () => {}, { times: 1 }); // is never answered
    const approve = page.getByRole('button', { name: 'Approve and run' });
    await approve.focus();
    await page.keyboard.press('Space');
    await page.waitForTimeout(300);
    await (await page.context().newCDPSession(page)).send('Page.stopLoading');
    await page.keyboard.press('Space');
    await expect(page.getByText('Sent already')).toBeVisible();
    await page.waitForTimeout(5000);
    await page.keyboard.press('Space');
    await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');
  });
});
