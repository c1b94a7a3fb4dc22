// The first minute: a server that nobody has configured shows what approvals are for.
import { AxeBuilder } from '@axe-core/playwright';
import { test, expect } from '../server.js';

const agent = (page) => page.locator('section.turn').last();
const person = (page) => page.getByRole('complementary', { name: 'Who decides' });

// decide approves the call that waits on the page, as the person does who sees it there.
async function decide(page) {
  const go = person(page).getByRole('button', { name: 'Approve and run' });
  const places = () => Promise.all(['Reject…', 'Approve…', 'All details'].map((text) => person(page).getByText(text).boundingBox()));
  const before = await places();
  await person(page).getByText('Approve…').click();
  await expect(person(page).getByRole('textbox')).toBeFocused();
  expect(await places()).toEqual(before);
  await expect(go).toBeDisabled(); // also on a page that was open
  await page.keyboard.press('Enter');
  await expect(page.getByText('Nothing was sent: type transfer_money first.')).toBeVisible();
  await page.keyboard.type('transfer_money');
  await page.waitForTimeout(700); // a press is not counted sooner after the page has changed
  await page.keyboard.press('Enter');
  await expect(go).toBeFocused();
  await expect(page.getByText('press Space for “Approve and run”')).toBeVisible();
  await page.waitForTimeout(700);
  await page.keyboard.press('Enter');
  await expect(person(page)).not.toContainText('Approved');
  await page.keyboard.press('Space');
}

for (const [name, flags, samples, rejected] of [
  ['without a configuration', [], ['/echo text=hello', '/transfer_money amount=250 to=alice', '/transfer_money amount=5000 to=alice'], 'Canceled, its call was rejected'],
  ['with the scripted model', ['--demo'], ['Say hello', 'Pay alice 250', 'Pay alice 5000'], 'Completed, its call was rejected'],
]) {
  test.describe(name, () => {
    test.use({ config: null, flags });

    test('each sample call is one click, and the persona decides under four eyes', async ({ page, server }) => {
      await page.goto(`${server.url}/`);
      await page.getByRole('button', { name: samples[0], exact: true }).click();
      await expect(agent(page)).toContainText('Completed');

      await page.getByRole('button', { name: samples[1], exact: true }).click();
      await expect(agent(page)).toContainText('Waits for a decision');
      await decide(page);
      await expect(agent(page)).toContainText('Completed');
      await expect(person(page)).toContainText(/Approved\s*by anonymous/);
      await expect(person(page)).toContainText('It ran, and succeeded.');

      await page.getByRole('button', { name: samples[1], exact: true }).click();
      await person(page).getByText('Reject…').click();
      await person(page).getByLabel('Reason for the agent').fill('not this month');
      await page.waitForTimeout(700);
      await person(page).getByRole('button', { name: 'Reject', exact: true }).click();
      await expect(agent(page)).toContainText('not this month');
      await expect(agent(page)).toContainText(rejected);
      await person(page).getByRole('link', { name: 'The approval' }).click();
      await expect(page.getByRole('main')).toContainText('Rejected');
      await page.goBack();

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
      expect(cookie).toMatchObject({ name: expect.stringMatching(/^a2a-persona-/), path: '/ui', httpOnly: true, sameSite: 'Strict' });

      // Another tab is the agent's side: the result arrives there by itself.
      const other = await page.context().newPage();
      await other.goto(page.url());
      await expect(other.getByText('Live', { exact: true })).toBeVisible();
      await expect(agent(other)).toContainText('Waits for a decision A2A state: Working');
      await decide(page);
      await expect(agent(page)).toContainText('Completed');
      await expect(agent(other)).toContainText('Completed');
      await expect(person(other)).toContainText('by you');
      await page.getByRole('button', { name: 'Act as yourself' }).click();
      await expect(page.getByRole('button', { name: 'Act as a colleague' })).toBeVisible();
      expect(await page.context().cookies()).toEqual([]);
    });
  });
}

test.describe('on a phone', () => {
  test.use({ config: null, viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });

  test('the call and its decision are in sight, with large targets', async ({ page, server }) => {
    await page.goto(`${server.url}/ui/try`);
    await page.getByRole('button', { name: /5000/ }).tap();
    await expect(person(page).getByRole('button', { name: 'Act as a colleague' })).toBeInViewport({ ratio: 1 });
    await expect(page.getByText('point at one')).toBeHidden();
    await person(page).getByRole('button', { name: 'Act as a colleague' }).tap();
    await expect(person(page).getByText('Approve…')).toBeInViewport({ ratio: 1 });
    await person(page).getByText('Approve…').tap();
    const targets = await page.locator('button, .btn, summary, nav a, input:not([type=hidden])').filter({ visible: true }).evaluateAll((all) => all.map((e) => [e.textContent, e.getBoundingClientRect().height]));
    expect(targets.length).toBeGreaterThan(10);
    expect(targets.filter(([, height]) => height < 44)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  });
});

test('with a configuration a click on a tool fills in its example, and there is no persona', async ({ page, server }) => {
  await page.context().addCookies([{ name: 'a2a-persona-x', value: 'colleague', url: `${server.url}/ui` }]);
  await page.goto(`${server.url}/ui/try`);
  await expect(page.getByRole('button', { name: /colleague|yourself/ })).toHaveCount(0);
  await page.getByRole('link', { name: 'transfer_money' }).click();
  await expect(page.getByRole('textbox')).toHaveValue('/transfer_money amount=250 to=alice');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.locator('main')).toContainText('Waits for a decision A2A state: Input required');
});
