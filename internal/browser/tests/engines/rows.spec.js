// Lists: a press on a row opens its own call, and no other.
import { test, expect, sizes } from '../../reader.js';

for (const size of sizes) {
  test.describe(size.join(' × '), () => {
    test.use({ size });

    test('each cell of a row opens its own call, and what is around the list none', async ({ reader, server }) => {
      const ids = [];
      for (const to of ['ann', 'bob', 'cy']) ids.push((await server.approvals((await server.send(`/transfer_money amount=1 to=${to}`)).id))[0].id);
      const cells = ['k', 'what', 'who', 't'];
      for (const [n, id] of ids.entries()) {
        for (const cell of n === 0 ? cells : cells.slice(0, 1)) {
          await reader.open('/ui/');
          const css = `tr[data-id="${id}"] > td.${cell}`;
          await reader.middle(css);
          await reader.see('#approval');
          expect(await reader.run(() => document.querySelector('#approval').dataset.id), `a press on ${cell} of ${id}`).toBe(id);
        }
      }
      await reader.open('/ui/');
      await reader.middle('h1');
      await reader.press('.tabs a:last-child');
      await reader.until(() => location.search === '?mine=1');
      await reader.press('nav a[href="/ui/history"]');
      await reader.until(() => location.pathname === '/ui/history');
    });

    test('the keyboard opens a call, and approves it', async ({ reader, server }) => {
      const [first, second] = [await server.send('/transfer_money amount=1 to=ann'), await server.send('/transfer_money amount=2 to=bob')];
      await reader.open('/ui/');
      await reader.calm(); // keys of the page before are not for this one
      for (const key of ['j', 'j', 'a']) await reader.key(key);
      await reader.until(() => document.activeElement?.matches('#confirm')); // typed is the name, and no shortcut
      const [waits] = await server.approvals(second.id);
      expect(await reader.run(() => document.querySelector('#approval').dataset.id)).toBe(waits.id);
      await reader.calm();
      expect(await reader.inSight('#confirm')).toBe(true);
      if (!await reader.run(() => document.querySelector('[data-unseen]').hidden)) { // the panel covers the call, or the window is too low for both
        await reader.press('[data-unseen] a');
        await reader.read();
        await reader.calm();
        await reader.key('a');
        await reader.until(() => document.activeElement?.matches('#confirm') && document.querySelector('[data-unseen]').hidden);
      }
      await reader.calm();
      await reader.type('Transfer_money');
      await reader.until(() => /the name is transfer_money/.test(document.querySelector('.differs')?.innerText));
      expect(await reader.run(() => document.querySelector('#p-approve button.go').disabled)).toBe(true);
      for (let i = 0; i < 14; i++) await reader.key('Backspace');
      await reader.type('transfer_money');
      await reader.until(() => !document.querySelector('#p-approve button.go').disabled);
      expect(await reader.text('.differs')).toBe('');
      await reader.key('Tab');
      await reader.key('Space');
      await reader.until(() => document.querySelector('#approval')?.dataset.state === 'Approved');
      expect((await server.approvals(first.id))[0].state).toBe('pending');
    });
  });
}
