// The last step of a decision, on a small screen and a large one: its panel is in sight, with what it
// decides, and takes no approval of a call that has not been on the screen.
import { test, expect, sizes } from '../../reader.js';

for (const size of sizes) {
  test.describe(size.join(' × '), () => {
    test.use({ size, config: 'gates: [{tool: echo, name: talk}]\n' });

    test('panels are in sight, and name the call', async ({ reader, server }) => {
      const [one] = await server.approvals((await server.send('/echo Please')).id);
      const page = `/ui/approvals/${one.id}`;
      for (const step of ['approve', 'reject']) {
        await reader.open(page);
        await reader.press(`#p-${step} > summary`);
        await reader.until((id) => document.activeElement?.closest(`#p-${id}`)?.open, step);
        for (const part of ['h2', 'button.go']) expect(await reader.inSight(`#p-${step} ${part}`), `${part} of ${step}`).toBe(true);
        await reader.press(`#p-${step} [data-close]`);
        await reader.until((id) => !document.querySelector(`#p-${id}`).open, step);
      }
      await reader.follow(`${page}?do=reject`);
      await reader.until(() => document.activeElement?.matches('#reject-reason'));
      expect(await reader.inSight('#p-reject button.go')).toBe(true);
      await reader.type('e'); // a letter of the reason, not the shortcut of Edit
      expect(await reader.run(() => document.activeElement.value)).toBe('e');
      expect(await reader.run(() => getComputedStyle(document.querySelector('.keyhint')).display === 'none')).toBe(reader.touch);
    });

    test('a call is approved after all of it has been on the screen', async ({ reader, server }) => {
      const lines = Array.from({ length: 30 }, (_, i) => `line ${i} of a script`).join('\n');
      const [one] = await server.approvals((await server.send(`/echo ${JSON.stringify({ text: lines })}`)).id);
      await reader.open(`/ui/approvals/${one.id}#:~:text=Digest`); // a jump passes the lines by
      await reader.run(() => scrollTo(0, document.body.scrollHeight));
      await reader.press('#p-approve > summary');
      await reader.calm();
      const grey = () => reader.run(() => document.querySelector('[data-approves] button.go').disabled);
      expect(await grey()).toBe(true);
      await reader.press('[data-unseen] a');
      await reader.read();
      await reader.press('#p-approve > summary');
      await reader.calm();
      expect(await grey()).toBe(false);
      // An edit of another argument approves these lines, too.
      await reader.open(`/ui/approvals/${one.id}/edit`);
      await reader.press('#fields textarea');
      await reader.type('!');
      await reader.press('#fields button.go');
      await reader.until(() => document.querySelector('.diff'));
      await reader.calm();
      expect(await grey()).toBe(true);
      await reader.read();
      await reader.until(() => !document.querySelector('[data-approves] button.go').disabled);
      await reader.send('[data-approves] button.go', () => /Approved/.test(document.querySelector('#approval')?.dataset.state));
    });

    test('calls that are decided together stand above their button, and results apart', async ({ reader, server }) => {
      const all = [];
      for (const text of ['one', 'two', 'three', 'four', 'five']) all.push((await server.approvals((await server.send(`/echo ${text}`)).id))[0]);
      await reader.open('/ui/');
      const place = () => reader.run(() => [document.querySelector('tr[data-id]:last-child').getBoundingClientRect().top + scrollY, document.documentElement.scrollHeight].join());
      const before = await place();
      await reader.press('#all');
      await reader.until(() => document.querySelector('#batch .go').innerText === 'Review 5 selected…');
      expect(await place(), 'the list moves when calls are selected').toBe(before);
      await reader.press('#batch .go');
      await reader.see('.together');
      await reader.press('.together section:last-of-type a:last-of-type'); // leaves it out
      await reader.until(() => document.querySelectorAll('.together section').length === 4);
      await reader.read();
      const last = await reader.box('.together section:last-of-type .box'), button = await reader.box('.together button.go');
      expect(button.top).toBeGreaterThan(last.bottom);
      await reader.send('.together button.go', () => document.querySelector('h1')?.innerText === 'Results');
      const glued = await reader.run(() => [...document.querySelectorAll('.rows tbody tr')].flatMap((row) => {
        const boxes = [...row.children].map((cell) => [...cell.querySelectorAll('.s, a, small')].concat(cell).map((part) => part.getBoundingClientRect())[0]);
        return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
      }).length);
      expect(glued, 'cells that overlap').toBe(0);
      expect((await server.approvals(all[4].task))[0].state).toBe('pending');
      expect(await reader.run(() => [...document.querySelectorAll('.rows .s')].every((state) => state.getClientRects().length === 1)), 'no state is broken').toBe(true);
      // The page of results has an address of its own: nothing is sent twice.
      await reader.reload();
      await reader.until(() => document.querySelector('h1')?.innerText === 'Results');
      await reader.back();
      await reader.until(() => /already, by/.test(document.body?.innerText));
      await reader.forward();
      await reader.until(() => document.querySelector('h1')?.innerText === 'Results');
    });

    test('an edit shows all of a text, and the help opens in sight', async ({ reader, server }) => {
      const [one] = await server.approvals((await server.send('/echo The report is ready, and waits on the second floor')).id);
      await reader.open(`/ui/approvals/${one.id}/edit`);
      const cut = await reader.run(() => { const e = document.querySelector('#fields textarea'); return [e.scrollWidth > e.clientWidth, e.scrollHeight > e.clientHeight]; });
      expect(cut).toEqual([false, false]);
      await reader.press('#fields textarea');
      await reader.type('!');
      await reader.press('#fields button.go');
      await reader.until(() => location.hash === '#changes' && document.querySelector('.diff'));
      expect(await reader.inSight('#h-changes')).toBe(true);
      await reader.open(`/ui/approvals/${one.id}`);
      await reader.calm();
      await reader.run(() => scrollTo(0, document.body.scrollHeight));
      await reader.key('?');
      await reader.until(() => document.querySelector('#menu').open);
      const { top, bottom, height } = await reader.box('#menu .pop');
      expect([top >= 0, bottom <= height + 1]).toEqual([true, true]);
    });
  });
}
