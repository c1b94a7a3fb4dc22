// The pictures of README.md and docs/inbox.md. Beside each stand the words of the page that it shows; a page
// with other words needs another picture, and PICTURES=1 makes both.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, expect } from '../server.js';

test.use({
  config: `
agent: {name: ops-agent}
gates:
  - {tool: transfer_money, name: payments, hint: "Pay {amount} to {to}?", four_eyes: false}
  - {tool: echo, name: mail-out, risk: low, expires: 50m}
`,
  viewport: { width: 1280, height: 640 },
  timezoneId: 'UTC',
});

async function picture(page, name) {
  const png = await page.screenshot({ animations: 'disabled' });
  const words = (await page.locator('body').innerText()).replace(/\d+ (s|min|h)( \d+ (s|min))?( ago)?|just now|[\w-]{36}\S*|…\w+|[0-9a-f]{64}|[\d:-]{8,}( [\d:]+)?/g, '*').replace(/\s*\n\s*/g, '\n');
  const file = join('tests', 'pictures', `${name}.txt`);
  if (process.env.PICTURES) {
    writeFileSync(join('..', '..', 'docs', `${name}.png`), png);
    writeFileSync(file, words);
  }
  expect(words, `docs/${name}.png shows another page: PICTURES=1 make browser RUN=pictures makes it anew`).toBe(readFileSync(file, 'utf8'));
}

test('pictures', async ({ page, server }) => {
  for (const text of ['/transfer_money amount=18400 to=dave', '/echo Invoice 2026-117 is due', '/transfer_money amount=250 to=carol', '/echo The report of November is ready']) {
    await server.send(text);
  }
  await page.goto(`${server.url}/ui/`);
  await expect(page.locator('tr[data-id]')).toHaveCount(4);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await picture(page, 'inbox');
  await page.locator('tr[data-id]', { hasText: '18400' }).locator('a.sum').click();
  await page.setViewportSize({ width: 1280, height: 1060 });
  await page.getByText('Approve…').click();
  await expect(page.getByRole('button', { name: 'Approve and run' })).toBeVisible();
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.evaluate(() => scrollTo(0, 0)); // where a click on the bar leaves a person
  await picture(page, 'approval');
});
