// The policy of docs/policy.md with logins of an issuer that was not written here: two people of
// finance approve a transfer, on the pages and at the command line.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signIn, startIssuer } from '../idp.js';
import { Server, test, expect } from '../server.js';

const doc = readFileSync(new URL('../../../docs/policy.md', import.meta.url), 'utf8');
const managed = doc.match(/cat >managed\.yaml <<EOF\n([\s\S]*?)EOF\n/)[1];
const logins = doc.match(/```yaml logins\n([\s\S]*?)```\n/)[1];

const closers = [];
test.afterEach(async () => { for (const close of closers.splice(0)) await close(); });

test('two logins of finance approve a big transfer', async ({ browser }) => {
  test.setTimeout(240_000);
  const server = await new Server('').start(); // its port is known before the issuer is asked for it
  closers.push(() => server.stop());
  await server.kill();
  const idp = await startIssuer(`${server.url}/ui/signin/callback`);
  closers.push(() => idp.close());
  const file = (name) => join(server.folder, name);
  writeFileSync(file('managed.yaml'), managed, { mode: 0o600 });
  writeFileSync(server.file, `${logins
    .replace('https://idp.example.com', `${idp.issuer}\n      networks: [127.0.0.1]\n      scopes: [groups]\n      client_secret: {secret: pages}`)
    .replace('a2a.example.com', 'a2a.example').replace('client_id: a2a-server', 'client_id: pages')}
policy: {files: [managed.yaml]}
tools: [{builtin: demo}]
secrets: {pages: {env: PAGES_SECRET}}
`, { mode: 0o600 });
  process.env.PAGES_SECRET = 'secret-of-pages';
  const said = [];
  const run = (token, ...args) => {
    const { status, stdout, stderr } = spawnSync(process.env.A2A_SERVER, args, { encoding: 'utf8', env: { ...process.env, A2A_SERVER_URL: server.url, A2A_SERVER_TOKEN: token } });
    said.push(`$ a2a-server ${args.join(' ')}\n${stdout}${stderr}exit code ${status}\n`);
    return stdout + stderr;
  };
  const key = execFileSync(process.env.A2A_SERVER, ['keys', 'add', 'bob', '--role', 'approver', '--rule-role', 'finance', '--config', server.file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  expect(run('', 'policy', 'check', '--config', server.file)).toContain('the policy has no problems');
  await server.start();

  const tokens = {};
  for (const name of ['alice', 'bob', 'carol']) {
    const context = await browser.newContext();
    tokens[name] = await idp.login(await context.newPage(), name);
    await context.close();
  }
  const alice = { Authorization: `Bearer ${tokens.alice}` };
  const task = await server.send('/transfer_money amount=20000 to=dave', { headers: alice });
  const [{ id, digest }] = await server.approvals(task.id, alice);
  const approve = (token) => run(token, 'approvals', 'approve', id, '--yes', '--digest', digest);
  expect(approve(tokens.alice)).toContain('is for its approvers');

  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.url}/ui/approvals/${id}`);
  await page.getByText('Continue with corp').click();
  await signIn(page, 'bob');
  const watching = await page.context().newPage();
  await watching.goto(page.url());
  await expect(watching.locator('#votes')).toContainText('0 of 2');
  await page.getByText('Approve…').click();
  await page.waitForTimeout(700);
  await page.getByLabel(/Type transfer_money/).fill('transfer_money');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await expect(page.locator('#approval')).toContainText('1 of 2');
  await expect(watching.locator('#votes')).toContainText('1 of 2'); // an open page shows the vote

  expect(approve(tokens.bob)).toContain('1 of 2: corp:bob');
  expect(approve(key)).toContain('1 of 2: corp:bob');
  expect(approve(tokens.carol)).toContain('was approved by corp:carol');
  await expect(page.locator('#changed')).toContainText('Approved');
  expect(run(tokens.alice, 'tasks', 'show', task.id)).toContain('completed');
  const ledger = readFileSync(join(server.folder, 'data', 'ledger.jsonl'), 'utf8');
  expect(ledger.trim().split('\n')).toHaveLength(1);
  if (process.env.POLICY_SAID) writeFileSync(process.env.POLICY_SAID, said.join('\n') + ledger);
});
