'use strict';
// Everything works without this script. It adds what is live: rows that arrive, tasks that go
// on, times that run, and keys.
(() => {
  const root = document.documentElement, ui = root.dataset.ui, page = root.dataset.page;
  const skew = Number(root.dataset.now) - Date.now(), loaded = performance.now();
  const $ = (q, of = document) => of.querySelector(q), $$ = (q, of = document) => [...of.querySelectorAll(q)];
  const now = () => Date.now() + skew;
  const say = text => { const at = $('#say'); if (at) at.textContent = text; };
  const kept = (name, value) => { try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; } };
  const two = n => String(n).padStart(2, '0');

  // Times
  const span = ms => {
    const s = Math.max(0, Math.floor(ms / 1000)), min = Math.floor(s / 60), h = Math.floor(min / 60), d = Math.floor(h / 24);
    if (s < 60) return s + ' s';
    if (min < 10) return `${min} min ${two(s % 60)} s`;
    if (min < 60) return min + ' min';
    if (h < 24) return `${h} h ${two(min % 60)} min`;
    return d === 1 ? `1 day ${h % 24} h` : d < 10 ? `${d} days ${h % 24} h` : d + ' days';
  };
  const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const tick = () => {
    if (document.hidden) return;
    for (const t of $$('[data-until]')) {
      const left = Number(t.dataset.until) - now();
      set(t, left > 0 ? span(left) : 'no time');
      if (left < 600000) (t.closest('.t') || t.parentNode).classList.add(t.closest('.t') ? 'soon' : 'bad');
    }
    for (const t of $$('[data-at]')) {
      const ago = now() - Date.parse(t.dateTime);
      set(t, ago < 2000 ? 'just now' : (ago < 60000 || ago >= 3600000 ? span(ago) : Math.floor(ago / 60000) + ' min') + ' ago');
    }
    const bar = $('#decide [data-until]');
    if (bar) for (const [at, words] of [[300, '5 minutes'], [60, '1 minute'], [10, '10 seconds']]) {
      if (Math.round((Number(bar.dataset.until) - now()) / 1000) === at) say(words + ' left to decide');
    }
  };
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', tick);
  tick();

  // The server writes times in UTC; a reader has a zone.
  const exact = new Intl.DateTimeFormat('sv', { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' });
  const clock = new Intl.DateTimeFormat('sv', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const date = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
  const localize = other => {
    for (const t of $$('time[datetime]', other)) {
      const at = new Date(t.dateTime);
      if (Number.isNaN(at.valueOf())) continue;
      if (t.title) t.title = exact.format(at);
      if (t.dataset.zone) set(t, (t.dataset.zone === 'clock' ? clock : exact).format(at));
    }
    const days = $$('tr.day', other), heading = days[0];
    for (const day of days) day.remove();
    let last;
    for (const row of heading ? $$('.rows tbody tr', other) : []) {
      const day = date.format(new Date($('time', row).dateTime));
      if (day !== last) { row.before(heading.cloneNode(true)); set($('th', row.previousElementSibling), day); }
      last = day;
    }
    for (const zone of $$('#zone', other)) set(zone, exact.resolvedOptions().timeZone);
  };
  localize(document);

  // Other versions of this page, from the server
  const load = async url => {
    const got = await fetch(url, { headers: { Accept: 'text/html' } });
    if (!got.ok || got.redirected && !new URL(got.url).pathname.startsWith(ui + '/')) throw new Error(got.status);
    const other = new DOMParser().parseFromString(await got.text(), 'text/html');
    localize(other);
    before = places();
    return other;
  };
  // Which forms act, and where they are; what one would do is in its address.
  const places = () => {
    const all = $$('form[data-decides]');
    return { forms: all.map(f => f.action).join(), at: all.map(f => { const { x, y } = f.getBoundingClientRect(); return `${x} ${y}`; }).join() };
  };
  let before = places();
  const count = other => {
    const at = $('#pending'), n = $('#pending', other)?.textContent;
    if (!at || n === undefined) return;
    set(at, n);
    document.title = (n === '0' ? '' : `(${n}) `) + document.title.replace(/^\(\d+\+?\) /, '');
  };

  // The inbox: new rows wait behind a button, decided rows stay and say by whom.
  let offered = new Set();
  const inbox = async () => {
    const other = await load(location.href);
    count(other);
    $$('.tabs .n').forEach((n, i) => set(n, $$('.tabs .n', other)[i]?.textContent ?? n.textContent));
    const here = new Map($$('tr[data-id]').map(r => [r.dataset.id, r])), there = $$('tr[data-id]', other).map(r => r.dataset.id);
    const fresh = there.filter(id => !here.has(id));
    const button = $('#new');
    button.hidden = !fresh.length;
    set(button, `Show ${fresh.length} new approval${fresh.length === 1 ? '' : 's'}`);
    button.href = location.href;
    for (const id of fresh.filter(id => !offered.has(id))) notice(id, $(`tr[data-id="${CSS.escape(id)}"]`, other));
    if (fresh.some(id => !offered.has(id))) say(`${fresh.length} new`);
    offered = new Set(fresh);
    for (const [id, row] of here) {
      if (there.includes(id) || row.classList.contains('gone')) continue;
      const one = $('tr[data-id]', await load(`${ui}/approvals/${encodeURIComponent(id)}/row`));
      if (!one || !one.classList.contains('gone')) continue;
      const focused = row.contains(document.activeElement);
      row.replaceWith(one);
      if (focused) $('a', one).focus();
      say($('.t', one).textContent);
    }
    picked();
  };
  const notice = (id, row) => {
    if (kept('notice') !== 'on' || !document.hidden || !('Notification' in window) || Notification.permission !== 'granted') return;
    const one = new Notification('An approval is waiting', { body: row.dataset.tool, tag: id });
    one.onclick = () => { window.focus(); location.href = `${ui}/approvals/${encodeURIComponent(id)}`; };
  };
  const picked = () => {
    const at = $('#picked');
    if (!at) return;
    const boxes = $$('input[form=batch]'), on = boxes.filter(b => b.checked);
    const button = $('#batch .go'), all = $('#all');
    button.disabled = !on.length;
    set(button, `Review ${on.length || 'the'} selected…`);
    all.hidden = false;
    set(all, on.length < boxes.length ? 'Select all' : 'Select none');
  };
  document.addEventListener('change', e => { if (e.target.matches('input[form=batch]')) picked(); });
  $('#all')?.addEventListener('click', () => {
    const boxes = $$('input[form=batch]'), on = boxes.some(b => !b.checked);
    for (const b of boxes) b.checked = on;
    picked();
  });
  picked();

  // An approval: say that it was decided, and leave the page as it is.
  const approval = async () => {
    const at = $('#approval'), other = await load(location.pathname.replace(/\/(decision|extension|anew)$/, '')), now = $('#approval', other);
    count(other);
    if (at && now && at.dataset.state !== 'Pending') {
      const a = $('#outcome'), b = $('#outcome', other);
      if (a.innerHTML !== b.innerHTML && !$('[role=alert]', a) && !a.contains(document.activeElement)) { a.innerHTML = b.innerHTML; say($('.note b', a)?.textContent ?? ''); }
      return;
    }
    if (!at || !now || now.dataset.state === at.dataset.state) {
      const a = $('#decide [data-until]'), b = $('#decide [data-until]', other);
      if (a && b && a.dataset.until !== b.dataset.until) for (const t of $$('[data-until]')) t.dataset.until = b.dataset.until;
      const votes = at && $('#votes', at), more = now && $('#votes', now);
      if (votes && more && votes.innerHTML !== more.innerHTML) { votes.innerHTML = more.innerHTML; say($('p', votes).textContent); }
      return;
    }
    const note = $('#changed');
    note.hidden = false;
    note.textContent = ($('.line', now)?.textContent ?? now.dataset.state).trim().replace(/\s+/g, ' ') + '. ';
    const link = document.createElement('a');
    link.href = location.pathname.replace(/\/(decision|extension|anew)$/, '');
    link.textContent = 'Show the current version';
    note.append(link);
  };

  // A task: what is new is added, what has changed is replaced, and the rest is left alone.
  const keys = of => [...of.children].map(c => c.dataset.key).filter(Boolean);
  const same = (a, b) => a.innerHTML === b.innerHTML && a.className === b.className;
  const merge = (list, other) => {
    const here = new Map([...list.children].map(c => [c.dataset.key, c]));
    for (const item of [...other.children]) {
      const old = here.get(item.dataset.key);
      if (!old) { list.append(item); continue; }
      const open = $$('details[open]', old).map(d => d.id), shut = old.cloneNode(true);
      for (const d of $$('details[open]', shut)) d.open = false;
      if (!same(shut, item) && !old.contains(document.activeElement)) {
        for (const id of open) { const d = id && $('#' + CSS.escape(id), item); if (d) d.open = true; }
        old.replaceWith(item);
      }
    }
  };
  // Approvals to decide: each stays as it is, with what is typed into it, until it has ended.
  const asks = (list, other) => {
    const here = keys(list), there = keys(other);
    for (const item of [...list.children]) if (!there.includes(item.dataset.key) && !item.contains(document.activeElement)) item.remove();
    for (const item of [...other.children]) if (!here.includes(item.dataset.key)) list.append(item);
  };
  // An approval is sent when all of its call has been on the screen, and the name of a destructive tool is
  // typed, also where the form has come since. A grey button has its reason beside it.
  const shown = new Map(); // slices of an element, of a line each, that have been on the screen
  const unread = form => $$('[data-seen], [data-seen] .tall', form.closest('.ask') ?? document).filter(e => !shown.get(e)?.every(Boolean));
  const see = () => {
    const floor = Math.min(innerHeight, ...$$('.act, #decide details[open] .panel').map(e => e.getBoundingClientRect().top));
    for (const e of $$('[data-seen], [data-seen] .tall')) {
      if (!e.scrollHeight || e.closest('details:not([open])')) continue; // some browsers lay out what is closed
      const { top, bottom } = e.getBoundingClientRect(), count = Math.max(1, Math.ceil(e.scrollHeight / 24)), height = e.scrollHeight / count;
      let slices = shown.get(e);
      if (slices?.length !== count) shown.set(e, slices = Array.from({ length: count }, (_, i) => !!slices?.slice(Math.floor(i * slices.length / count), Math.ceil((i + 1) * slices.length / count)).every(Boolean)));
      const from = e.scrollTop + Math.max(top, 0) - top, to = e.scrollTop + Math.min(bottom, floor) - top;
      for (let i = Math.max(0, Math.ceil((from - 1) / height)); i < count && (i + 1) * height <= to + 1; i++) slices[i] = true;
    }
  };
  const confirms = () => {
    for (const form of $$('[data-approves]')) {
      const input = $('[data-confirm]', form), typed = input?.value.trim() ?? '', name = input?.dataset.confirm ?? '', end = $('[data-unseen]', form);
      const hides = !!end && unread(form).length > 0;
      if (end) end.hidden = !hides;
      for (const button of $$('button[name=decision]:not([value=reject]), button[name=grant]', form)) button.disabled = hides || typed !== name;
      if (!input) continue;
      const why = $('.differs', form) ?? document.createElement('small');
      why.className = 'bad differs';
      why.setAttribute('aria-live', 'polite');
      if (!why.parentNode) input.after(why);
      set(why, name.startsWith(typed) ? '' : typed.toLowerCase() === name.toLowerCase() ? `Capitals and small letters differ: the name is ${name}` : `The name is ${name}`);
    }
  };
  window.addEventListener('load', see);
  // Not at each scroll: what a jump passes by has not been on the screen.
  setInterval(() => { if (!document.hidden && $('[data-unseen]')) { see(); confirms(); } }, 200);
  const showUnread = form => {
    const e = unread(form)[0], hidden = e ? shown.get(e)?.indexOf(false) * 24 : 0;
    if (!e) return;
    const scrolls = e.scrollHeight > e.clientHeight + 1;
    if (scrolls) e.scrollTop = hidden;
    scrollBy(0, e.getBoundingClientRect().top + (scrolls ? 0 : hidden) - 80);
  };
  const task = async () => {
    const other = await load(location.href), now = $$('[data-merge]', other);
    count(other);
    $$('[data-merge]').forEach((at, i) => {
      const to = now[i];
      if (!to) return;
      if (!at.dataset.merge) merge(at, to);
      else if (at.dataset.merge === 'asks') asks(at, to);
      else if (!same(at, to) && !at.contains(document.activeElement)) at.innerHTML = to.innerHTML;
    });
    confirms();
    tick();
    if (!other.documentElement.dataset.live) { delete root.dataset.live; follow(); }
  };

  // One stream for each page that is in sight: a browser has few connections to a server. Whatever the stream
  // says, the page asks again for what it shows.
  let stream = null, timer = null, busy = false, again = false, took = 0;
  const state = (text, off) => {
    const at = $('#live-state');
    if (!at) return; // as on the page for signing in
    at.hidden = !text;
    set(at, text);
    at.classList.toggle('off', !!off);
  };
  const refresh = { inbox, approval, task, try: task }[page];
  const run = async () => {
    if (busy) { again = true; return; }
    busy = true;
    const began = performance.now();
    try {
      await refresh();
      const { forms, at } = places();
      if (forms !== before.forms) stir(); else if (at !== before.at) stir(pointer); // a key presses what has the focus, wherever it is
    } catch { state('Not up to date', true); }
    busy = false;
    took = performance.now() - began;
    if (again) { again = false; soon(); }
  };
  // Changes that never pause, such as the words of a model, must not put it off. A page that takes
  // long is asked for less often.
  const soon = () => { timer ??= setTimeout(() => { timer = null; run(); }, Math.max(150, Math.min(4 * took, 3000))); };
  let since = '';
  const connect = () => {
    const one = new URLSearchParams(root.dataset.live).get('id');
    stream = new EventSource(`${ui}/events?${root.dataset.live}`);
    stream.onopen = () => { since = ''; state('Live'); soon(); };
    stream.onerror = () => {
      since ||= clock.format(now()).slice(0, 5);
      state(`Reconnecting, as of ${since}`, true);
      if (stream?.readyState === EventSource.CLOSED) { stream = null; setTimeout(follow, 1000 + 2000 * Math.random()); } // refused, as while a server restarts
    };
    stream.addEventListener('change', e => { if (!one || JSON.parse(e.data).approval === one) soon(); });
  };
  const follow = () => {
    const live = root.dataset.live && refresh && window.EventSource;
    if (live && !document.hidden) { if (!stream) connect(); return; }
    stream?.close();
    stream = null;
    state(live ? 'Reconnecting' : '', true);
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  setInterval(() => { if (document.hidden && page === 'inbox') run(); }, 30000); // the count in its title, and notices

  // A page that comes back from the browser's memory is older than its approvals: it decides nothing, and is
  // asked for anew.
  const address = new URL(location.href);
  address.pathname = address.pathname.replace(/\/(decision|extension|anew)$/, '');
  address.hash = ''; // a browser would only scroll to it
  window.addEventListener('pagehide', () => { for (const form of $$('form[data-decides]')) form.inert = true; });
  window.addEventListener('pageshow', e => { if (e.persisted) location.replace(address); });

  // Who comes back to this page has not asked for its panel again.
  if (address.searchParams.has('do')) { address.searchParams.delete('do'); history.replaceState(null, '', address); }

  // Decisions: not twice, not by Enter, and not by a press that was meant for something else: for
  // another window that was here a moment ago, or for what this one has shown before it changed.
  const moment = 600; // ms, longer than a double click
  const down = new Set(); // keys whose press began here
  // What presses buttons. It is early if it, or a change since it began, came too soon.
  const pointer = { held: false, early: false, ended: -Infinity, changed: loaded }, key = { ...pointer };
  let sent = -Infinity, mine = null, by = key;
  const stir = (...those) => { for (const one of those.length ? those : [pointer, key]) { one.changed = performance.now(); one.early ||= one.held; } };
  for (const name of ['focus', 'pageshow']) window.addEventListener(name, () => stir());
  document.addEventListener('visibilitychange', () => stir());
  const forget = () => { down.clear(); key.held = false; };
  window.addEventListener('blur', forget);
  const begin = (one, at) => { one.early = at - one.changed < moment; one.held = true; };
  const end = one => { one.early ||= !one.held; one.held = false; one.ended = performance.now(); };
  const hold = text => {
    const note = $('#say');
    note.className = 'note held';
    note.textContent = text;
    setTimeout(() => { note.className = 'vh'; }, 4000);
  };
  const capture = (names, f) => { for (const name of names) window.addEventListener(name, f, true); };
  capture(['pointerdown'], e => begin(pointer, e.timeStamp));
  capture(['pointerup', 'pointercancel'], () => end(pointer));
  // A key that has been held down since before is none of this page's, while it repeats and when it goes up.
  capture(['keydown', 'keyup'], e => {
    const up = e.type === 'keyup', presses = e.key === ' ' || e.key === 'Enter';
    if (up && e.key === 'Meta') forget(); // some systems tell of no other key meanwhile
    else if ((e.repeat || up) && !down.has(e.code)) { e.preventDefault(); e.stopImmediatePropagation(); return; }
    if (e.repeat) return;
    if (up) down.delete(e.code); else down.add(e.code);
    if (presses && up) end(key); else if (presses) begin(key, e.timeStamp);
  });
  capture(['click'], e => { by = e.pointerType || e.detail ? pointer : key; });
  document.addEventListener('submit', e => {
    if (!e.target.matches('[data-decides]')) return;
    const at = performance.now(), rushed = at - by.changed < moment || by.early && (by.held || at - by.ended < moment);
    const twice = at - sent < 5000; // longer, and the sending has been stopped
    if (twice || rushed) e.preventDefault(); else sent = at;
    if (rushed) pointer.changed = key.changed = at; // presses that just go on never count
    if (rushed) hold('Not sent: the page had just changed or come to the front. Press again.');
    else if (twice) hold('Sent already. If nothing happens, press again after 5 seconds.');
  });
  window.addEventListener('pageshow', () => { sent = -Infinity; });
  root.dataset.judges = ''; // the page's own script leaves it to this one
  if (root.dataset.early !== undefined) hold('Not sent: the page was not complete. Press again.');
  // Enter in a field leads to the button, and on a button it approves nothing. The page says so.
  document.addEventListener('keydown', e => {
    const button = e.target.matches('[data-approves] button');
    if (e.key !== 'Enter' || !button && !e.target.matches('[data-decides] input:not([type=checkbox], [type=radio])')) return;
    e.preventDefault();
    if (e.repeat) return;
    const go = button ? e.target : $('button:not([hidden], [data-close])', e.target.form), name = $('[data-confirm]', e.target.form);
    if (go.disabled) { hold(name && name.value.trim() !== name.dataset.confirm ? `Nothing was sent: type ${name.dataset.confirm} first.` : 'Nothing was sent: read all arguments first.'); return; }
    go.focus();
    if (!button) stir(key);
    hold(`Enter sends nothing here: press Space for “${go.textContent}”.`);
  });
  document.addEventListener('input', e => { if (e.target.matches('[data-confirm]')) confirms(); });
  confirms();
  // Words that have not been sent outlive a reload of the page, in this tab.
  const draft = e => `draft ${$('#menu b')?.textContent} ${address.pathname}${address.search} ${e.form.action} ${e.name}`;
  const words = '[data-decides] :is(textarea, input:not([type], [data-confirm]))';
  try {
    const ended = page === 'results' ? ui + '/batch?' : $('#approval:not([data-state=Pending])') && address.pathname + '/';
    for (const name of Object.keys(sessionStorage)) if (ended && name.includes(ended)) sessionStorage.removeItem(name);
    for (const e of $$(words)) if (e.value === e.defaultValue) e.value = sessionStorage.getItem(draft(e)) ?? e.value;
    document.addEventListener('input', ({ target: e }) => { if (e.matches(words)) sessionStorage.setItem(draft(e), e.value); });
  } catch { /* this browser keeps nothing */ }
  // A panel opens by its own button or key, or because the server has opened it: an address may name a
  // text or an element within a closed panel, and a browser would open it.
  capture(['click'], e => {
    mine = e.target.closest('summary')?.parentElement ?? mine;
    if (e.target.matches('[data-unseen] a')) {
      e.preventDefault();
      const panel = e.target.closest('details');
      if (panel) panel.open = false;
      showUnread(e.target.closest('form'));
    }
    if (e.target.matches('[data-close]')) { const panel = e.target.closest('details'); panel.open = false; $('summary', panel).focus(); }
  });
  document.addEventListener('toggle', e => {
    if (!e.target.matches('details:has([data-decides])')) return;
    if (!e.target.open) { mine = null; stir(); return; }
    stir();
    if (e.target.dataset.open === undefined && e.target !== mine) { e.target.open = false; return; }
    mine = null;
    if (e.target.matches('#decide details, .choose details')) enter(e.target);
  }, true);
  const enter = panel => ($('input:not([type=hidden],[type=radio]), textarea, select', panel) || $('button:not([hidden], [data-close])', panel)).focus({ preventScroll: !!panel.closest('.act') }); // there it is in sight
  for (const b of $$('[data-close]')) b.hidden = false;
  const opened = $('#decide details[open]'); // by the server, and before this script listened
  if (opened) enter(opened);

  // Copying
  for (const b of $$('[data-copy]')) {
    b.hidden = !navigator.clipboard;
    b.addEventListener('click', async () => { if (!navigator.clipboard) return; await navigator.clipboard.writeText($('#' + b.dataset.copy).textContent); say('Copied'); set(b, 'Copied'); });
  }

  // Settings
  const singles = $('#keys-on'), notices = $('#notice-on');
  const show = () => { $('#keys').hidden = !singles.checked; };
  if (singles) {
    $('#settings').hidden = false;
    singles.checked = kept('keys') !== 'off';
    notices.checked = kept('notice') === 'on';
    singles.addEventListener('change', () => { kept('keys', singles.checked ? 'on' : 'off'); show(); });
    notices.addEventListener('change', async () => {
      if (notices.checked && (!('Notification' in window) || await Notification.requestPermission() !== 'granted')) notices.checked = false;
      kept('notice', notices.checked ? 'on' : 'off');
    });
    show();
  }

  // Keys
  let prefix = false;
  const open = id => { const d = $('#p-' + id); if (d?.matches('form')) $('input:not([type=hidden]), textarea, select', d).focus(); else if (d) { mine = d; d.open = true; $('summary', d)?.scrollIntoView({ block: 'nearest' }); } return !!d; };
  const move = (step, pick) => {
    const all = $$('.rows a.sum');
    const at = all.indexOf(document.activeElement.closest('tr')?.querySelector('a.sum'));
    const to = all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + step))];
    to?.focus();
    const box = pick && $('input[form=batch]', to?.closest('tr') ?? root);
    if (box) { box.checked = true; picked(); }
  };
  const act = e => {
    const row = document.activeElement.closest?.('tr[data-id]');
    if (prefix) { prefix = false; const to = { i: '/', t: '/tasks', h: '/history' }[e.key]; if (to) { location.href = ui + to; return true; } }
    switch (e.key) {
      case 'j': case 'J': move(1, e.key === 'J'); return true;
      case 'k': case 'K': move(-1, e.key === 'K'); return true;
      case 'o': if (row) $('a.sum', row).click(); return !!row;
      case 'x': { const box = row && $('input[form=batch]', row); if (box) { box.checked = !box.checked; picked(); } return !!box; }
      case 'a': case 'd': {
        const to = e.key === 'a' ? 'approve' : 'reject';
        if (performance.now() - key.changed < moment) return true;
        if (row) { location.href = $('a.sum', row).href + '?do=' + to; return true; }
        return open(to) || e.key === 'a' && open('respond');
      }
      case 'e': $('#p-edit')?.click(); return true;
      case '/': $('#filters select, #filters input:not([type=hidden])')?.focus(); return true;
      case 'g': prefix = true; setTimeout(() => { prefix = false; }, 1500); return true;
      case ']': $('[data-next]')?.click(); return true;
      case '[': $('[data-prev]')?.click(); return true;
      case 'c': $('[data-copy=args-json]')?.click(); return true;
      case '?': { const menu = $('#menu'); if (menu) { menu.open = !menu.open; $('summary', menu).focus(); } return !!menu; }
    }
    return false;
  };
  document.addEventListener('keydown', e => {
    if (e.key === 'Escape') {
      const shut = $('#menu[open]') || $('#decide details[open], .choose details[open]');
      if (shut) { shut.open = false; $('summary', shut).focus(); } else if (page === 'approval' && !e.target.matches('input, textarea, select')) location.href = ui + '/';
      return;
    }
    if (!singles?.checked || e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input:not([type=checkbox],[type=radio]), textarea, select') || performance.now() - loaded < 300) return;
    if (act(e)) e.preventDefault();
  });
})();
