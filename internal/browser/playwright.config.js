import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

// Playwright's own browsers are not downloaded: the system's chromium is what people have.
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (!chromium) throw new Error('install chromium, such as with apt-get install chromium');

export default defineConfig({
  testDir: 'tests',
  outputDir: process.env.BROWSER_OUTPUT ?? 'test-results',
  fullyParallel: true,
  workers: 2,
  retries: 0,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [['line']],
  use: {
    launchOptions: { executablePath: chromium, args: ['--no-sandbox'] }, // in a container there is no user namespace for it
    viewport: { width: 1280, height: 800 },
    trace: 'off',
  },
});
