// The program under test: a2a-server with a data folder of its own, on a port of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test as base, expect } from '@playwright/test';

const binary = process.env.A2A_SERVER;
if (!binary) throw new Error('A2A_SERVER names no program: run make browser');

export class Server {
  // Without a configuration (null) the server is a demo.
  constructor(config = '', flags = []) {
    this.folder = mkdtempSync(join(tmpdir(), 'browser-'));
    this.file = join(this.folder, 'a2a-server.yaml');
    this.listen = '127.0.0.1:0';
    this.flags = flags;
    if (config !== null) {
      writeFileSync(this.file, config, { mode: 0o600 });
      this.flags = ['--config', this.file, ...flags];
    }
    this.log = [];
  }

  // start runs the program until it listens. A second start uses the same port.
  async start() {
    this.process = spawn(binary, ['serve', ...this.flags, '--data', join(this.folder, 'data'), '--listen', this.listen], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.ended = new Promise((done) => this.process.once('exit', done));
    const lines = createInterface({ input: this.process.stderr });
    const listening = new Promise((done, fail) => {
      lines.on('line', (line) => {
        this.log.push(line);
        try {
          const entry = JSON.parse(line);
          if (entry.message === 'listening') done(entry.address);
        } catch {
          // not a line of the log
        }
      });
      this.process.once('exit', (code) => fail(new Error(`the server ended with ${code}:\n${this.log.join('\n')}`)));
    });
    this.listen = await listening;
    this.url = `http://${this.listen}`;
    return this;
  }

  // kill ends the process as a crash does, and waits for it.
  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  async stop() {
    if (this.process?.exitCode === null && this.process.signalCode === null) {
      this.process.kill('SIGTERM');
      await this.ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  // send sends a message as an A2A client, and returns the task, once it has ended, or waits for an
  // answer or a decision.
  async send(text, { headers = {}, ...message } = {}) {
    const response = await fetch(`${this.url}/message:send`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message }, configuration: { returnImmediately: true } }),
    });
    const body = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(body));
    let task = body.task;
    while (task && busy(task)) task = await (await fetch(`${this.url}/tasks/${task.id}`, { headers })).json();
    return task;
  }

  // decide decides an approval by the API.
  async decide(approval, decision, headers = {}) {
    const response = await fetch(`${this.url}/api/v1/approvals/${approval.id}/decision`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify({ decision, digest: approval.digest }),
    });
    if (!response.ok) throw new Error(await response.text());
  }

  // approvals returns the approvals of a task, as the API has them.
  async approvals(task, headers = {}) {
    const response = await fetch(`${this.url}/api/v1/approvals?task=${task}`, { headers });
    return (await response.json()).items;
  }
}

// busy reports whether a task neither has ended nor waits for anybody.
function busy({ status: { state, message } }) {
  return /SUBMITTED|WORKING/.test(state) && !message?.metadata?.['urn:a2a-server:extension:tool-approval:v1'];
}

// test has a running server without authentication for each test; set config or flags for another one.
export const test = base.extend({
  config: ['', { option: true }],
  flags: [[], { option: true }],
  server: async ({ config, flags }, use) => {
    const server = await new Server(config, flags).start();
    await use(server);
    await server.stop();
  },
  // An error in a page's script fails the test.
  page: async ({ page }, use) => {
    const errors = [];
    page.on('pageerror', (err) => errors.push(err.message));
    await use(page);
    expect(errors).toEqual([]);
  },
});

// followLink goes to a path as a link on the pages does. An address that is typed in, as by page.goto, opens
// no panel.
export async function followLink(page, server, path) {
  await page.goto(`${server.url}/ui/about?before`);
  await Promise.all([page.waitForURL((url) => url.href === server.url + path), page.evaluate((to) => { location.href = to; }, path)]);
}
export { expect };
