import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

// Playwright's own browsers are not downloaded: those of the system are what people have.
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (!chromium) throw new Error('install chromium, such as with apt-get install chromium');
const firefox = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find((path) => existsSync(path));
if (!firefox) throw new Error('install firefox, such as with apt-get install firefox-esr');

const args = ['--no-sandbox', '--disable-gpu']; // in a container there is no user namespace for it

export default defineConfig({
  testDir: 'tests',
  outputDir: process.env.BROWSER_OUTPUT ?? 'test-results',
  fullyParallel: true,
  workers: 2,
  retries: 0,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [['line']],
  use: { viewport: { width: 1280, height: 800 }, trace: 'off' },
  // What engines do differently is in tests/engines.
  projects: [
    { name: 'chromium', use: { browserName: 'chromium', launchOptions: { executablePath: chromium, args } } },
    { name: 'firefox', testMatch: 'engines/**', use: { browserName: 'firefox', channel: 'moz-firefox', launchOptions: { executablePath: firefox } } },
    { name: 'webkit', testMatch: 'engines/**' },
  ],
});
