// The first minute: a server that nobody has configured shows what approvals are for.
import { AxeBuilder } from '@axe-core/playwright';
import { test, expect } from '../server.js';

const agent = (page) => page.locator('section.turn').last();
const person = (page) => page.getByRole('complementary', { name: 'Who decides' });

// decide approves the call that waits on the page, as the person does who sees it there.
async function decide(page) {
  await person(page).getByText('Approve…').click();
  await expect(person(page).getByRole('button', { name: 'Approve and run' })).toBeDisabled(); // also on a page that was open
  await person(page).getByRole('textbox').fill('transfer_money');
  await page.waitForTimeout(700); // a press is not counted sooner after the page has changed
  await page.getByRole('button', { name: 'Approve and run' }).click();
}

for (const [name, flags, samples] of [
  ['without a configuration', [], ['/echo text=hello', '/transfer_money amount=250 to=alice', '/transfer_money amount=5000 to=alice']],
  ['with the scripted model', ['--demo'], ['Say hello', 'Pay alice 250', 'Pay alice 5000']],
]) {
  test.describe(name, () => {
    test.use({ config: null, flags });

    test('each sample call is one click, and the persona decides under four eyes', async ({ page, server }) => {
      await page.goto(`${server.url}/`);
      await page.getByRole('button', { name: samples[0], exact: true }).click();
      await expect(agent(page)).toContainText('Completed');

      await page.getByRole('button', { name: samples[1], exact: true }).click();
      await decide(page);
      await expect(agent(page)).toContainText('Completed');

      await page.getByRole('button', { name: samples[1], exact: true }).click();
      await person(page).getByText('Reject…').click();
      await person(page).getByLabel('Reason for the agent').fill('not this month');
      await page.waitForTimeout(700);
      await person(page).getByRole('button', { name: 'Reject', exact: true }).click();
      await expect(agent(page)).toContainText('not this month');

      await page.getByRole('button', { name: samples[2], exact: true }).click();
      await expect(person(page)).toContainText('you requested this: another person decides');
      await expect(person(page).getByText('Approve…')).toHaveCount(0);
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate(() => document.documentElement.scrollWidth), `${width} px`).toBeLessThanOrEqual(width);
      }
      expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
      await person(page).getByRole('button', { name: 'Act as a colleague' }).click();
      await expect(person(page)).toContainText('You now act as colleague');
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ name: 'a2a-persona', path: '/ui', httpOnly: true, sameSite: 'Strict' });

      // Another tab is the agent's side: the result arrives there by itself.
      const other = await page.context().newPage();
      await other.goto(page.url());
      await expect(other.getByText('Live', { exact: true })).toBeVisible();
      await decide(page);
      await expect(agent(page)).toContainText('Completed');
      await expect(agent(other)).toContainText('Completed');
      await page.getByRole('button', { name: 'Act as yourself' }).click();
      await expect(page.getByRole('button', { name: 'Act as a colleague' })).toBeVisible();
      expect(await page.context().cookies()).toEqual([]);
    });
  });
}

test('with a configuration a click on a tool fills in its example, and there is no persona', async ({ page, server }) => {
  await page.context().addCookies([{ name: 'a2a-persona', value: 'colleague', url: `${server.url}/ui` }]);
  await page.goto(`${server.url}/ui/try`);
  await expect(page.getByRole('button', { name: /colleague|yourself/ })).toHaveCount(0);
  await page.getByRole('link', { name: 'transfer_money' }).click();
  await expect(page.getByRole('textbox')).toHaveValue('/transfer_money amount=250 to=alice');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.locator('main')).toContainText('Input required');
});
