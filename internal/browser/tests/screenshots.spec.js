// The pictures of README.md and docs/inbox.md. They are written with PICTURES=1, and made in any
// case: a page that cannot be made has no picture.
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
});

test('pictures', async ({ page, server }) => {
  for (const text of ['/transfer_money amount=18400 to=dave', '/echo Invoice 2026-117 is due', '/transfer_money amount=250 to=carol', '/echo The report of November is ready']) {
    await server.send(text);
  }
  const to = (name) => ({ path: process.env.PICTURES ? join('..', '..', 'docs', name) : undefined, animations: 'disabled' });
  await page.goto(`${server.url}/ui/`);
  await expect(page.locator('tr[data-id]')).toHaveCount(4);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.screenshot(to('inbox.png'));
  await page.locator('tr[data-id]', { hasText: '18400' }).locator('a.sum').click();
  await page.setViewportSize({ width: 1280, height: 1060 });
  await page.getByText('Approve…').click();
  await expect(page.getByRole('button', { name: 'Approve and run' })).toBeVisible();
  await page.evaluate(() => scrollTo(0, 0)); // where a click on the bar leaves a person
  await page.screenshot(to('approval.png'));
});
