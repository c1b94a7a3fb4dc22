// Every page: no violations that axe finds in either theme, nothing that scrolls sideways on a
// small screen or at 200 %, and nothing of an agent's that becomes markup.
import { createServer } from 'node:http';
import AxeBuilder from '@axe-core/playwright';
import { test, expect, followLink } from '../server.js';

test.use({ config: `gates: [{tool: echo, name: talk, when: "args.text == 'talk'"}]\n` });

// world makes one of everything, and returns the paths of the pages that show it.
async function world(server) {
  const waiting = await server.send('/transfer_money amount=18400 to=dave');
  const [pending] = await server.approvals(waiting.id);
  const done = await server.send('/transfer_money amount=1 to=carol');
  const [one] = await server.approvals(done.id);
  await fetch(`${server.url}/api/v1/approvals/${one.id}/decision`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ decision: 'approve', digest: one.digest }),
  });
  await server.send('/stream chunks=3 size=12');
  const talk = await server.send('/echo talk');
  const [said] = await server.approvals(talk.id);
  return [
    '/ui/', '/ui/?mine=1&order=time', `/ui/approvals/${pending.id}`, `/ui/approvals/${pending.id}?do=approve`, `/ui/approvals/${pending.id}?do=reject`,
    `/ui/approvals/${pending.id}/edit`, `/ui/approvals/${pending.id}/edit?view=json`, `/ui/approvals/${one.id}`,
    '/ui/tasks', `/ui/tasks/${waiting.id}`, `/ui/tasks/${done.id}`, '/ui/try', `/ui/try?task=${talk.id}`, `/ui/batch?id=${said.id}`, '/ui/history', '/ui/history?what=all', '/ui/about', '/ui/policy', '/ui/nothing',
  ];
}

for (const colorScheme of ['light', 'dark']) {
  test(`axe finds nothing on any page, ${colorScheme}`, async ({ browser, server }) => {
    test.setTimeout(240_000);
    const paths = await world(server);
    const page = await (await browser.newContext({ colorScheme })).newPage();
    for (const path of paths) {
      await followLink(page, server, path);
      const axe = new AxeBuilder({ page });
      if (colorScheme === 'light') axe.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']);
      else axe.withRules(['color-contrast']); // themes differ in nothing else
      const { violations } = await axe.analyze();
      expect(violations.map((v) => `${path}: ${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`)).toEqual([]);
    }
  });
}

test('no page scrolls sideways at 320 px, or at 200 %', async ({ browser, server }) => {
  const paths = await world(server);
  for (const size of [{ width: 320, height: 640 }, { width: 640, height: 400 }]) {
    const page = await (await browser.newContext({ viewport: size, deviceScaleFactor: size.width === 640 ? 2 : 1 })).newPage();
    for (const path of paths) {
      await followLink(page, server, path);
      const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      expect(content, `${path} at ${size.width} px`).toBeLessThanOrEqual(window);
    }
  }
});

test('what an agent or a caller writes is text', async ({ page, server }) => {
  const hostile = '<img src=x onerror=alert(1)> </script><script>alert(2)</script> \u202Egpj.exe \u200B' + 'line\n'.repeat(5000);
  const failures = [];
  page.on('dialog', (dialog) => { failures.push(dialog.message()); dialog.dismiss(); });
  page.on('console', (line) => { if (line.type() === 'error' && /Content Security Policy/.test(line.text())) failures.push(line.text()); });
  const task = await server.send(`/transfer_money ${JSON.stringify({ amount: 1, to: '<b>bob</b>\u202E\u200B"' })}`);
  const other = await server.send('/echo ' + JSON.stringify({ text: hostile }));
  const [one] = await server.approvals(task.id);
  for (const path of ['/ui/', `/ui/approvals/${one.id}`, `/ui/tasks/${task.id}`, '/ui/tasks', '/ui/history', `/ui/tasks/${other.id}`, `/ui/try?context=${other.contextId}`]) {
    await page.goto(server.url + path);
    const html = await page.content();
    expect(html, path).not.toContain('\u202E');
    expect(html, path).not.toContain('\u200B');
    expect(await page.locator('main img, main b:has-text("bob") > b').count(), path).toBe(0);
  }
  expect(failures).toEqual([]);
});

test('someone tries the agent, and decides on the way', async ({ page, server }) => {
  await page.goto(`${server.url}/`);
  await expect(page).toHaveURL(/\/ui\/$/);
  await page.getByRole('link', { name: 'Try it', exact: true }).click();
  await page.getByRole('textbox', { name: 'Message' }).fill('/transfer_money amount=7 to=carol');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('link', { name: /Look and decide/ }).click();
  await page.getByText('Approve…').click();
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await page.waitForTimeout(700);
  await page.getByRole('button', { name: 'Approve and run' }).click();
  await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');
  await page.getByRole('link', { name: 'The task', exact: true }).click();
  await expect(page.locator('main')).toContainText(/Completed/i);
});

test('a task is followed as it streams', async ({ page, server }) => {
  const sent = server.send('/stream chunks=40 size=4');
  await page.goto(`${server.url}/ui/tasks`);
  const task = await sent;
  await page.goto(`${server.url}/ui/tasks/${task.id}`);
  await expect(page.locator('main')).toContainText('Artifact');
});

test('a desktop notice names the tool, and has no argument', async ({ page, server }) => {
  await page.addInitScript(() => {
    window.notices = [];
    window.Notification = class {
      static permission = 'granted';

      static async requestPermission() { return 'granted'; }

      constructor(...given) { window.notices.push(JSON.stringify(given)); }
    };
    Object.defineProperty(document, 'hidden', { get: () => window.away ?? false });
  });
  await page.goto(`${server.url}/ui/`);
  await page.locator('#menu summary').click();
  await page.getByLabel(/Desktop notices/).check();
  await expect.poll(() => page.evaluate(() => localStorage.getItem('notice'))).toBe('on');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.evaluate(() => { window.away = true; });
  const task = await server.send('/transfer_money amount=98765 to=mallory');
  await expect.poll(() => page.evaluate(() => window.notices.length)).toBe(1);
  const [notice] = await page.evaluate(() => window.notices);
  expect(notice).toContain('transfer_money');
  expect(notice).toContain(task.id);
  for (const value of ['98765', 'mallory']) expect(notice).not.toContain(value);
});

test('the deadline moves without a script', async ({ browser, server }) => {
  const task = await server.send('/transfer_money amount=5 to=bob');
  const [one] = await server.approvals(task.id);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${server.url}/ui/approvals/${one.id}`);
  const section = page.getByRole('region', { name: 'If nobody decides' });
  await section.getByText('Extend…').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect.poll(async () => Date.parse((await server.approvals(task.id))[0].deadline) - Date.parse(one.deadline)).toBe(15 * 60_000);
  await context.close();
});

test.describe('with webhooks', () => {
  const headers = { 'X-User': 'olga' };
  test.use({
    config: `
push: {enabled: true, allow_http: true, allow_loopback: true}
auth: {tenant: acme, proxy: {header: X-User, from: [127.0.0.1], roles: [requester, operator]}}
`,
    extraHTTPHeaders: headers,
  });
  test('the page of a task has them, without their secrets', async ({ page, server }) => {
    const hook = createServer((request, response) => { request.resume(); response.writeHead(request.url.startsWith('/fails') ? 500 : 200).end(); });
    await new Promise((done) => { hook.listen(0, '127.0.0.1', done); });
    try {
      const task = await server.send('/transfer_money amount=5 to=bob', { headers });
      for (const path of ['works', 'fails']) {
        const set = await fetch(`${server.url}/tasks/${task.id}/pushNotificationConfigs`, {
          method: 'POST', headers: { 'Content-Type': 'application/json', ...headers },
          body: JSON.stringify({ id: path, url: `http://127.0.0.1:${hook.address().port}/${path}?key=s3cret-key`, token: 's3cret-token' }),
        });
        expect(set.ok, await set.text()).toBe(true);
      }
      await fetch(`${server.url}/tasks/${task.id}:cancel`, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: '{}' });
      const hooks = page.getByRole('region', { name: 'Webhooks' });
      await expect.poll(async () => {
        await page.goto(`${server.url}/ui/tasks/${task.id}`);
        return hooks.locator('li').allInnerTexts();
      }).toEqual(expect.arrayContaining([expect.stringMatching(/^active/), expect.stringMatching(/^retrying[^]*500[^]*\d+ tr/)]));
      await expect(hooks).toContainText('127.0.0.1');
      expect(await page.content()).not.toContain('s3cret');
    } finally {
      hook.close();
      hook.closeAllConnections();
    }
  });
});

test.describe('while a task goes on', () => {
  test.use({ config: 'tools: [{builtin: demo}, {builtin: ask_user}]\ngates: [{tool: echo, name: talk}]\n' });

  test('an answer that was typed on the page to try stays', async ({ page, server }) => {
    const form = { type: 'object', properties: { answer: { type: 'string' } } };
    const calls = [{ tool: 'echo', args: { text: 'hi' } }, { tool: 'ask_user', args: { question: 'Why?', form } }];
    const task = await server.send('', { parts: [{ data: { calls } }] });
    await page.goto(`${server.url}/ui/try?task=${task.id}`);
    await page.getByLabel('answer').fill('a long answer');
    await page.getByRole('textbox', { name: 'Message' }).focus();
    const echo = (await server.approvals(task.id)).find((a) => a.tool === 'echo');
    await fetch(`${server.url}/api/v1/approvals/${echo.id}/decision`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ decision: 'approve', digest: echo.digest }) });
    await expect(page.locator('.ask')).toHaveCount(1);
    await expect(page.getByLabel('answer')).toHaveValue('a long answer');
    await page.waitForTimeout(700);
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await expect(page.locator('main')).toContainText('Completed');
  });

  test('the keyboard cancels it on a small screen, where forms move', async ({ page, server }) => {
    await page.setViewportSize({ width: 400, height: 800 });
    const task = await server.send('/echo one');
    await page.goto(`${server.url}/ui/tasks/${task.id}`);
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
    await page.getByText('Cancel the task…').click();
    await page.waitForTimeout(700);
    const cancel = page.getByRole('button', { name: 'Cancel the task', exact: true });
    await cancel.focus();
    await page.evaluate(() => {
      window.grown = new Promise((done) => { new MutationObserver(done).observe(document.querySelector('ol.tl'), { childList: true }); });
    });
    await server.send('more words', { taskId: task.id });
    await page.evaluate(() => window.grown.then(() => {}));
    await page.keyboard.press('Space');
    await expect(page.locator('main')).toContainText('Canceled');
  });
});
