// Back, Reload, other tabs: a page never offers a decision that is made, and loses no words. The tests go
// through all sizes with one server.
import { test, expect, sizes, zone } from '../../reader.js';

test.use({ size: sizes[0], config: 'gates: [{tool: echo, name: talk}]\n' });

test('Back after a decision offers none', async ({ reader, server }) => {
  for (const size of sizes) {
    await reader.resize(...size);
    const [one] = await server.approvals((await server.send('/echo Please')).id);
    await reader.open(`/ui/approvals/${one.id}#h-args`);
    await reader.open('/ui/about');
    await server.decide(one, 'approve');
    await reader.back();
    await reader.until(() => !!document.querySelector('#approval'));
    expect(await reader.run(() => [...document.querySelectorAll('form[data-decides]')].every((form) => form.inert))).toBe(true);
    await reader.until(() => document.querySelector('#approval')?.dataset.state === 'Approved' && !document.querySelector('#decide'));
  }
});

test('Back after a filter shows the whole list, and says so', async ({ reader, server }) => {
  await server.send('/echo Please');
  await server.send('/transfer_money amount=1 to=ann');
  for (const size of sizes) {
    await reader.resize(...size);
    await reader.open('/ui/');
    await reader.choose('#filters [name=tool]', 'echo');
    await reader.press('#filters button');
    await reader.until(() => location.search.includes('tool=echo') && document.querySelectorAll('tr[data-id]').length === 1);
    await reader.back();
    await reader.until(() => document.querySelectorAll('tr[data-id]').length === 2);
    expect(await reader.run(() => document.querySelector('#filters [name=tool]').value)).toBe('');
  }
});

test('Reload keeps a reason that is half written, and no name that was typed', async ({ reader, server }) => {
  for (const size of sizes) {
    await reader.resize(...size);
    const [one] = await server.approvals((await server.send('/transfer_money amount=1 to=ann')).id);
    await reader.open(`/ui/approvals/${one.id}`);
    await reader.press('#p-approve > summary');
    await reader.until(() => document.activeElement?.matches('#confirm'));
    await reader.type('transfer');
    await reader.press('#p-reject > summary');
    await reader.until(() => document.activeElement?.matches('#reject-reason'));
    await reader.type('Not this mon');
    await reader.reload();
    await reader.until(() => document.readyState === 'complete');
    expect(await reader.run(() => [document.querySelector('#reject-reason').value, document.querySelector('#confirm').value])).toEqual(['Not this mon', '']);
    expect(await reader.run(() => Object.keys(sessionStorage).length)).toBe(1);
    await reader.press('#p-reject > summary');
    await reader.send('#p-reject button.go', () => document.querySelector('#approval')?.dataset.state === 'Rejected');
    await reader.until(() => Object.keys(sessionStorage).length === 0); // the page may show the state before it is left
  }
});

test('a reason that was sent is in no form any more', async ({ reader, server }) => {
  const all = [];
  for (const text of ['one', 'two', 'three', 'four']) all.push((await server.approvals((await server.send(`/echo ${text}`)).id))[0].id);
  await reader.follow(`/ui/batch?id=${all[0]}&id=${all[1]}`);
  await reader.press('.together [name=reason]');
  await reader.type('Not this month');
  await reader.send('.together button[value=reject]', () => document.querySelector('h1')?.innerText === 'Results');
  for (const ids of [[0, 1], [2, 3]]) {
    await reader.follow(`/ui/batch?id=${all[ids[0]]}&id=${all[ids[1]]}`);
    expect(await reader.run(() => document.querySelector('.together [name=reason]')?.value ?? '')).toBe('');
  }
});

test('times are those of the reader', async ({ reader, server }) => {
  const [one] = await server.approvals((await server.send('/echo Please')).id);
  await server.decide(one, 'approve');
  const local = (language, options) => new Intl.DateTimeFormat(language, { timeZone: zone, ...options }).format(new Date(one.requested));
  for (const size of sizes) {
    await reader.resize(...size);
    await reader.open(`/ui/approvals/${one.id}`);
    expect(await reader.text('main')).toContain(local('sv', { dateStyle: 'short', timeStyle: 'medium' }));
    await reader.open('/ui/history?what=all');
    expect(await reader.text('.rows')).toContain(local('sv', { timeStyle: 'medium' }));
    expect((await reader.text('.day')).trim()).toBe(local('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }));
    expect(await reader.text('.foot')).toMatch(/Asia\/Kath?mandu/);
  }
});

test('the seventh tab loads, and follows', async ({ reader, server }) => {
  for (let i = 0; i < 6; i++) await reader.behind('/ui/');
  const live = () => reader.until(() => document.querySelector('#live-state')?.innerText === 'Live');
  for (const size of sizes) {
    await reader.resize(...size);
    await reader.open('/ui/');
    await live();
    await server.send('/echo Please');
    await reader.until(() => /1 new/.test(document.querySelector('#new').innerText));
    await reader.hide(true);
    await server.send('/echo Please');
    await reader.hide(false);
    await reader.until(() => /2 new/.test(document.querySelector('#new').innerText));
    await live();
  }
});

test('the risk of a call is whole at 200 %', async ({ reader, server }) => {
  for (const [width, height] of sizes) {
    await reader.resize(Math.max(width / 2, 320), Math.max(height / 2, 200)); // 320 px are the least of WCAG 2.2, 1.4.10
    const [one] = await server.approvals((await server.send('/transfer_money amount=1 to=ann')).id);
    await reader.open('/ui/');
    await server.decide(one, 'reject'); // its row says at length by whom
    await reader.see('tr.gone');
    expect(await reader.run(() => {
      const risk = document.querySelector('td.k .risk').getBoundingClientRect(), left = document.querySelector('td.t').getBoundingClientRect();
      return risk.left >= 0 && risk.right <= innerWidth && (risk.right <= left.left + 1 || risk.bottom <= left.top + 1);
    }), `${width} × ${height}`).toBe(true);
  }
});
