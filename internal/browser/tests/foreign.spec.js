// Clicks that were meant for something else: a page of another origin sends the approver's window
// to a decision under its own popup, which closes when the mouse goes down, so that the second half
// of a double click lands on the decision.
import { createServer } from 'node:http';
import { test as base, expect, followLink } from '../server.js';

const test = base.extend({
  // foreign is the port of a site with a page that sends its window to the address in ?to= under a
  // popup; on /lure it does so at the first press, without one, and goes back where ?to= is empty.
  foreign: async ({}, use) => { // eslint-disable-line no-empty-pattern
    const site = createServer((request, response) => {
      response.setHeader('Content-Type', 'text/html');
      if (request.url.startsWith('/lure')) {
        response.end(`<!doctype html><body style="height:100vh"><p>Press and hold!</p><script>
const to = new URLSearchParams(location.search).get('to');
onkeydown = onclick = () => { if (to) location = to; else history.back(); };
</script>`);
        return;
      }
      response.end(request.url.startsWith('/popup') ? '<!doctype html>Click twice!<script>onmousedown = () => close()</script>' : `<!doctype html><button>Play</button><script>
document.querySelector('button').onclick = () => { open('/popup', '_blank', 'popup,width=1280,height=800'); location = new URLSearchParams(location.search).get('to'); }
</script>`);
    });
    await new Promise((done) => { site.listen(0, '127.0.0.1', done); });
    await use(site.address().port);
    site.close();
    site.closeAllConnections();
  },
});
test.use({ config: 'gates: [{tool: echo, name: talk}]\n' });

const asks = async (server, text) => (await server.approvals((await server.send(text)).id))[0];
const middle = async (locator) => {
  const box = await locator.boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
};
const state = async (server, one) => (await server.approvals(one.task))[0].state;

for (const host of ['127.0.0.1', 'localhost']) {
  test(`a double click that begins on a popup of ${host} decides nothing`, async ({ page, server, foreign }) => {
    const [one, two] = [await asks(server, '/echo one'), await asks(server, '/echo two')];
    for (const [path, button] of [
      [`/ui/approvals/${one.id}?do=approve`, 'Approve and run'],
      [`/ui/batch?id=${one.id}&id=${two.id}`, 'Approve 2 and run'],
    ]) {
      await followLink(page, server, path);
      const spot = await middle(page.getByRole('button', { name: button }));
      await page.goto(`http://${host}:${foreign}/?to=${encodeURIComponent(server.url + path)}`);
      const [popup] = await Promise.all([page.waitForEvent('popup'), page.getByText('Play').click()]);
      await page.waitForURL((url) => url.href.startsWith(server.url + path.split('?')[0]));
      await page.waitForTimeout(700); // longer than the page's first moment
      await popup.mouse.move(...spot);
      await Promise.all([popup.waitForEvent('close'), popup.mouse.down().catch(() => {})]);
      await page.mouse.click(...spot);
      await page.waitForTimeout(300); // a form that is sent has been answered by then
      expect([await state(server, one), await state(server, two)], path).toEqual(['pending', 'pending']);
    }
  });
}

// Headless browsers send no event when a window gets the focus, so the tests send it.
for (const [what, happens] of Object.entries({
  'the window gets the focus': () => window.dispatchEvent(new Event('focus')),
  'the page is seen again': () => document.dispatchEvent(new Event('visibilitychange')),
  'the panel opens': () => { for (const open of [false, true]) document.querySelector('#p-approve').open = open; },
})) {
  test(`a click right after ${what} decides nothing`, async ({ page, server }) => {
    const one = await asks(server, '/echo one');
    await followLink(page, server, `/ui/approvals/${one.id}?do=approve`);
    const go = page.getByRole('button', { name: 'Approve and run' });
    await page.waitForTimeout(700);
    await go.evaluate((button, event) => new Promise((done) => {
      button.dispatchEvent(new MouseEvent('pointerdown', { bubbles: true }));
      new Function(`(${event})()`)();
      setTimeout(() => { button.click(); done(); }, 50);
    }), String(happens));
    await expect(page.getByText('Not sent: the page had just changed')).toBeVisible();
    expect(await state(server, one)).toBe('pending');
    await page.waitForTimeout(700);
    await go.click();
    await expect(page.locator('#approval')).toHaveAttribute('data-state', 'Approved');
  });
}

test('a press that begins too early decides nothing, however late it ends', async ({ page, server }) => {
  const one = await asks(server, '/echo one');
  await followLink(page, server, `/ui/approvals/${one.id}?do=approve`);
  await page.mouse.move(...await middle(page.getByRole('button', { name: 'Approve and run' })));
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await page.mouse.down();
  await page.waitForTimeout(800);
  await page.mouse.up();
  await expect(page.getByText('Not sent: the page had just changed')).toBeVisible();
  expect(await state(server, one)).toBe('pending');
});

test('an address opens no panel by what it names in it', async ({ page, server }) => {
  const one = await asks(server, '/echo one');
  for (const part of ['#reject-reason', '#:~:text=Reason%20for%20the%20agent', '#:~:text=Approve%20and%20run']) {
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/approvals/${one.id}${part}`);
    await page.waitForTimeout(300);
    expect(await page.locator('#decide details[open]').count(), part).toBe(0);
  }
});

test('on the page to try the agent buttons decide, and words do not', async ({ page, server }) => {
  const task = await server.send('/echo one');
  const [one] = await server.approvals(task.id);
  await page.goto(`${server.url}/ui/try?task=${task.id}&text=approve`);
  await expect(page.getByRole('textbox')).toHaveValue('');
  await page.getByRole('textbox').fill('approve');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.locator('.mine').last()).toHaveText('approve');
  expect(await state(server, one)).toBe('pending');

  // A click that was meant for what was here before the page has grown.
  await page.getByText('Approve…').click();
  await page.waitForTimeout(700);
  await page.evaluate(() => {
    window.grown = new Promise((done) => {
      new MutationObserver(() => setTimeout(() => { document.querySelector('button[value=approve]').dispatchEvent(new PointerEvent('click', { bubbles: true, cancelable: true, pointerType: 'mouse' })); done(); }, 50)).observe(document.querySelector('ol.turn'), { childList: true });
    });
  });
  await server.send('more words', { taskId: task.id });
  await page.evaluate(() => window.grown);
  await expect(page.getByText('Not sent: the page had just changed')).toBeVisible();
  expect(await state(server, one)).toBe('pending');
  await page.waitForTimeout(700);
  await page.getByRole('button', { name: 'Approve and run' }).click();
  await expect(page.locator('main')).toContainText('Completed');
});

test('the buttons of a batch are below all of its calls', async ({ page, server }) => {
  const all = [];
  for (const text of ['one', 'two', 'three']) all.push(await asks(server, `/echo ${JSON.stringify({ text: 'line\n'.repeat(40) + text })}`));
  await followLink(page, server, `/ui/batch?${all.map((a) => `id=${a.id}`).join('&')}`);
  const go = page.getByRole('button', { name: 'Approve 3 and run' });
  await expect(go).not.toBeInViewport();
  const below = (await go.boundingBox()).y;
  for (const call of await page.getByRole('region').all()) {
    const box = await call.boundingBox();
    expect(box.y + box.height).toBeLessThan(below);
    expect(await call.locator('.val').evaluateAll((values) => values.filter((v) => v.scrollHeight > v.clientHeight + 1).length)).toBe(0);
  }
});

// What goes on while the window changes: a key that is held down repeats here, and presses do not stop.
const lure = (page, server, foreign, path) => page.goto(`http://localhost:${foreign}/lure?to=${path ? encodeURIComponent(server.url + path) : ''}`);
const during = async (ms, act) => { for (const end = Date.now() + ms; Date.now() < end;) await act(); };
const hold = async (page, key, ms) => {
  await during(ms, async () => { await page.keyboard.down(key); await page.waitForTimeout(30); });
  await page.keyboard.up(key);
};
const clicks = (page, spot, ms) => during(ms, async () => { await page.mouse.click(...spot); await page.waitForTimeout(150); });
const answers = (page) => page.waitForTimeout(300); // a form that is sent has been answered by then
const openPanels = (page) => page.locator('main details[open]:has([data-decides])').count();

test.describe('presses that go on', () => {
  test.use({ config: 'tools: [{builtin: demo}, {builtin: ask_user}]\ngates: [{tool: echo, name: talk}]\n' });

  test('a key that is held down decides nothing and opens no panel', async ({ page, server, foreign }) => {
    const [one, two] = [await asks(server, '/echo one'), await asks(server, '/echo two')];
    const form = { type: 'object', properties: { answer: { type: 'string', default: 'yes' } } };
    const question = await asks(server, `/ask_user ${JSON.stringify({ question: 'Delete it?', form })}`);
    for (const [path, key] of [
      [`/ui/approvals/${one.id}#:~:text=Enter%20does%20not%20send%20this`, 'Space'],
      [`/ui/approvals/${one.id}`, 'a'],
      [`/ui/approvals/${one.id}`, 'd'],
      [`/ui/batch?id=${one.id}&id=${two.id}#:~:text=Approve%202%20and%20run`, 'Shift'],
      [`/ui/approvals/${question.id}#f:answer`, 'Enter'],
      [`/ui/try?task=${question.task}#f:answer${question.id}`, 'Enter'],
    ]) {
      await lure(page, server, foreign, path);
      await hold(page, key, 1500);
      await answers(page);
      expect(await openPanels(page), path).toBe(0);
      expect([await state(server, one), await state(server, question)], path).toEqual(['pending', 'pending']);
    }
  });

  test('keys that are pressed in turn approve nothing', async ({ page, server, foreign }) => {
    const one = await asks(server, '/echo one');
    await lure(page, server, foreign, `/ui/approvals/${one.id}`);
    await during(2500, async () => { for (const key of ['a', 'Space']) { await page.keyboard.press(key); await page.waitForTimeout(90); } });
    await answers(page);
    expect(await state(server, one)).toBe('pending');
  });

  test('clicks that go on decide and cancel nothing', async ({ page, server, foreign }) => {
    const one = await asks(server, '/echo one');
    await page.goto(`${server.url}/ui/tasks/${one.task}`);
    const cancel = await middle(page.getByRole('button', { name: 'Cancel this call' }));
    await lure(page, server, foreign, `/ui/tasks/${one.task}`);
    await clicks(page, cancel, 2000);
    await followLink(page, server, `/ui/approvals/${one.id}?do=approve`);
    const go = await middle(page.getByRole('button', { name: 'Approve and run' }));
    await lure(page, server, foreign, '');
    await clicks(page, go, 2000);
    await answers(page);
    expect(await state(server, one)).toBe('pending');
  });

  test('going back from elsewhere opens no panel', async ({ page, server, foreign }) => {
    const one = await asks(server, '/echo one');
    await followLink(page, server, `/ui/approvals/${one.id}?do=approve`);
    await lure(page, server, foreign, '');
    await page.keyboard.press('Shift');
    await page.waitForURL((url) => url.href.startsWith(server.url));
    expect(await openPanels(page)).toBe(0);
  });
});

for (const [what, happens] of Object.entries({
  'when the window gets the focus': async (page) => { await page.mouse.down(); await page.evaluate(() => window.dispatchEvent(new Event('focus'))); },
  'with another key meanwhile': async (page) => { await page.evaluate(() => window.dispatchEvent(new Event('focus'))); await page.mouse.down(); await page.keyboard.press('Shift'); },
})) {
  test(`a press that is under way ${what} decides nothing`, async ({ page, server }) => {
    const one = await asks(server, '/echo one');
    await followLink(page, server, `/ui/approvals/${one.id}?do=approve`);
    await page.mouse.move(...await middle(page.getByRole('button', { name: 'Approve and run' })));
    await page.waitForTimeout(700);
    await happens(page);
    await page.waitForTimeout(700);
    await page.mouse.up();
    await answers(page);
    expect(await state(server, one)).toBe('pending');
  });
}

// Chromium takes presses before it paints a page, unless a test's browser is told otherwise, as Playwright does.
test('a press while the script of the page is on its way decides nothing', async ({ playwright, launchOptions, server, foreign }) => {
  const browser = await playwright.chromium.launch({ ...launchOptions, ignoreDefaultArgs: ['--allow-pre-commit-input'] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const one = await asks(server, '/echo one');
  await page.goto(`${server.url}/ui/tasks/${one.task}`);
  const cancel = await middle(page.getByRole('button', { name: 'Cancel this call' }));
  await lure(page, server, foreign, `/ui/tasks/${one.task}`);
  let come;
  const held = new Promise((done) => { come = done; });
  await page.route('**/app.js', async (route) => { await held; await route.continue(); });
  await Promise.all([page.waitForRequest('**/app.js'), page.mouse.click(...cancel)]);
  await page.getByRole('button', { name: 'Cancel this call' }).waitFor();
  const press = page.mouse.click(...cancel);
  await page.waitForTimeout(1500);
  expect(await state(server, one)).toBe('pending');
  come();
  await press;
  await expect(page.getByText('Not sent')).toBeVisible();
  expect(await state(server, one)).toBe('pending');
  await page.waitForTimeout(700);
  await page.mouse.click(...cancel);
  await expect.poll(() => state(server, one)).toBe('canceled');
  await browser.close();
});

test('where the script cannot come, forms are sent as they are', async ({ page, server }) => {
  const one = await asks(server, '/echo one');
  await page.route('**/app.js', (route) => route.abort());
  await page.goto(`${server.url}/ui/tasks/${one.task}`);
  await page.getByRole('button', { name: 'Cancel this call' }).click();
  await expect.poll(() => state(server, one)).toBe('canceled');
});
