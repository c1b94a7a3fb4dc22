// A language model as the planner: a page shows its words as they come.
import { createServer } from 'node:http';
import AxeBuilder from '@axe-core/playwright';
import { test as base, expect, Server } from '../server.js';

// model is an endpoint of chat completions whose answer is words, one each 40 ms, until it is told
// to end.
function model() {
  const at = { end: () => { at.ended = true; }, ended: false, words: 0 };
  const server = createServer(async (request, response) => {
    for await (const piece of request) void piece;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (choice, more = {}) => response.write(`data: ${JSON.stringify({ model: 'm', choices: choice ? [choice] : [], ...more })}\n\n`);
    const timer = setInterval(() => {
      if (!at.ended) {
        send({ delta: { content: `word${++at.words} ` } });
        return;
      }
      clearInterval(timer);
      send({ delta: {}, finish_reason: 'stop' });
      send(null, { usage: { prompt_tokens: 1234, completion_tokens: at.words } });
      response.end('data: [DONE]\n\n');
    }, 40);
    response.on('close', () => clearInterval(timer));
  });
  at.listen = () => new Promise((done) => server.listen(0, '127.0.0.1', () => done(`http://127.0.0.1:${server.address().port}/v1`)));
  at.close = () => { server.closeAllConnections(); server.close(); };
  return at;
}

const test = base.extend({
  speaker: async ({}, use) => { // eslint-disable-line no-empty-pattern
    const one = model();
    one.url = await one.listen();
    await use(one);
    one.close();
  },
  config: ['', { option: true }],
  server: async ({ speaker, config }, use) => {
    const server = await new Server(`planner: {kind: llm, llm: {url: "${speaker.url}", model: m}}\n${config}`).start();
    await use(server);
    await server.stop();
  },
});

test('words of a model appear while it speaks', async ({ page, server, speaker }) => {
  await page.goto(`${server.url}/ui/try`);
  await page.getByRole('textbox', { name: 'Message' }).fill('tell me a story');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.locator('.turn .claim').first()).toContainText('word1 ');
  for (let round = 0; round < 3; round++) { // without a pause of the model
    const last = speaker.words;
    await expect(page.locator('.turn .claim').first()).toContainText(`word${last + 1} `, { timeout: 2000 });
    expect(speaker.ended).toBe(false);
  }
  speaker.end();
  await expect(page.getByText('Completed')).toBeVisible();
  await expect(page.locator('.turn .claim').first()).toContainText(`word${speaker.words} `);
  await page.getByRole('link', { name: /^task / }).click();
  await expect(page.getByText(`1,234 tokens in, ${speaker.words} out`)).toBeVisible();
});

test.describe('an admin', () => {
  test.use({
    config: 'auth: {tenant: acme, proxy: {header: X-User, from: [127.0.0.1], roles: [requester, admin]}}\n',
    extraHTTPHeaders: { 'X-User': 'ada' },
  });
  test('sees what the model was asked, on pages as good as the others', async ({ page, server, speaker }) => {
    speaker.end();
    const task = await server.send('<b>a story</b> of ' + 'averylongword'.repeat(40), { headers: { 'X-User': 'ada' } });
    await page.setViewportSize({ width: 320, height: 640 });
    const good = async () => {
      const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']).analyze();
      expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`)).toEqual([]);
      const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      expect(content).toBeLessThanOrEqual(window);
    };
    await page.goto(`${server.url}/ui/tasks/${task.id}`);
    await good();
    await page.getByRole('link', { name: 'Prompt' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Prompt of step 1');
    await expect(page.locator('.claim').last()).toContainText('<b>a story</b> of');
    for (const closed of await page.locator('main summary').all()) await closed.click();
    await good();
  });
});
