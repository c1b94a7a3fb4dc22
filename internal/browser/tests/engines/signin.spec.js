// The page for signing in.
import { execFileSync } from 'node:child_process';
import { Server, expect } from '../../server.js';
import { test as base, sizes } from '../../reader.js';

const test = base.extend({
  server: async ({}, use) => {
    const server = new Server('auth: {tenant: shop, keys: {file: keys.yaml}}\n');
    execFileSync(process.env.A2A_SERVER, ['keys', 'add', 'ann', '--role', 'approver', '--config', server.file], { stdio: 'ignore' });
    await use(await server.start());
    await server.stop();
  },
});

test('nothing touches on the page for signing in', async ({ reader }) => {
  for (const size of sizes) {
    await reader.resize(...size);
    await reader.open('/ui/');
    await reader.see('#key');
    const [field, button, title, first] = [await reader.box('#key'), await reader.box('form button'), await reader.box('h1'), await reader.box('form')];
    expect(button.top - field.bottom).toBeGreaterThanOrEqual(8);
    expect(first.top - title.bottom).toBeGreaterThanOrEqual(8);
    expect(await reader.inSight('form button')).toBe(true);
  }
});
