// A person at a browser, the same in three engines. Chromium and Firefox are driven by Playwright;
// WebKit, whose stock build Playwright does not know, by WebDriver.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Builder, By, Capabilities, Key, Origin } from 'selenium-webdriver';
import { findFreePort } from 'selenium-webdriver/net/portprober.js';
import { DriverService } from 'selenium-webdriver/remote/index.js';
import { test as base, expect } from './server.js';

// sizes are the viewports of the tests: a phone, the phone turned, a phone with its keyboard open, a desk.
export const sizes = [[360, 740], [740, 360], [360, 400], [1280, 800]];
const zone = 'Asia/Kathmandu'; // 5:45 ahead of UTC

// Reader is what both drivers have in common. Elements are named by CSS selectors.
class Reader {
  // run returns the value of a function in the page, with its arguments: in the next page if a navigation
  // ends this one meanwhile.
  async run(f, ...args) {
    const end = Date.now() + 30_000;
    for (;;) {
      try {
        return await this.evaluate(f, ...args);
      } catch (err) {
        if (Date.now() > end || !/navigat|destroyed|detached|stale|context|JavaScript/i.test(err.message)) throw err;
      }
    }
  }

  // until returns the value of a function in the page, with its arguments, once it is true.
  async until(f, ...args) {
    const end = Date.now() + 30_000;
    for (;;) {
      const value = await this.run(f, ...args);
      if (value) return value;
      if (Date.now() > end) throw new Error(`this did not come to be: ${f} of ${JSON.stringify(args)}, at ${await this.url()}`);
    }
  }

  see(css) { return this.until((q) => !!document.querySelector(q), css); }

  text(css) { return this.run((q) => document.querySelector(q)?.innerText ?? '', css); }

  // box returns where an element is in the viewport, and how large that is.
  box(css) {
    return this.run((q) => {
      const { left, top, right, bottom } = document.querySelector(q).getBoundingClientRect();
      return { left, top, right, bottom, width: innerWidth, height: innerHeight };
    }, css);
  }

  // inSight reports whether an element is whole in the viewport, and nothing covers its middle.
  inSight(css) {
    return this.run((q) => {
      const element = document.querySelector(q);
      if (!element) return false;
      const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
      if (!width || top < -1 || left < -1 || bottom > innerHeight + 1 || right > innerWidth + 1) return false;
      const there = document.elementFromPoint(left + width / 2, top + height / 2);
      return element.contains(there) || !!there?.closest('label')?.contains(element);
    }, css);
  }

  // middle presses the middle of an element, wherever that leads.
  async middle(css) {
    await this.run((q) => document.querySelector(q).scrollIntoView({ block: 'center' }), css);
    const { left, right, top, bottom } = await this.box(css);
    await this.pressAt((left + right) / 2, (top + bottom) / 2);
  }

  hide(hidden) { return this.run(hide, hidden); }

  // read scrolls through what an approval would run, as a reader does.
  read() {
    return this.run(async () => {
      for (const e of document.querySelectorAll('[data-seen], [data-seen] .tall')) {
        const scrolls = e.scrollHeight > e.clientHeight + 1;
        const step = Math.max(60, 0.7 * Math.min(e.clientHeight, innerHeight - 200));
        for (let y = 0; y < e.scrollHeight; y += step) {
          if (scrolls) e.scrollTop = y;
          scrollBy(0, e.getBoundingClientRect().top + (scrolls ? 0 : y) - 40);
          await new Promise((done) => { setTimeout(done, 250); });
        }
      }
    });
  }

  // calm waits until a press counts: the page takes none in its first moment, and after a change.
  calm() { return new Promise((done) => { setTimeout(done, 700); }); }

  // send presses the button of a decision until a function in the page is true: again if the page says that
  // the press came too soon after a change, as a refresh of a slow machine makes it.
  async send(button, f) {
    for (let tries = 0; tries < 5; tries++) {
      await this.calm();
      await this.run(() => { document.querySelector('#say').textContent = ''; });
      await this.press(button);
      if (await this.until(`() => (${f})() ? 'sent' : /Press again\\.$/.test(document.querySelector('#say')?.innerText) && 'early'`) === 'sent') return;
    }
    throw new Error(`${button} is too early each time, at ${await this.url()}`);
  }

  // press presses an element of a page that is complete: before, its script may move what it presses.
  async press(css) {
    await this.until(() => document.readyState === 'complete');
    await this.click(css);
  }

  async follow(path) {
    await this.open('/ui/about?before');
    await this.run((to) => { location.href = to; }, path);
    await this.until((to) => location.href.endsWith(to) && document.readyState === 'complete' || location.search.startsWith('?do') , path.replace(/\?do=.*/, ''));
  }
}

// hide does for a page what its window does for a tab that is not in sight: Playwright shows them all.
const hide = (value) => {
  Object.defineProperty(document, 'hidden', { value, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
};

class PlaywrightReader extends Reader {
  constructor(page, server, touch) { super(); Object.assign(this, { page, server, touch }); }

  open(path) {
    const url = this.server.url + path;
    return this.arrive(this.page.goto(url), url);
  }

  reload() { return this.arrive(this.page.reload(), this.page.url()); }

  // arrive waits for a navigation. At times Firefox reports one as two, of which the second interrupts the first.
  arrive(navigation, url) {
    return navigation.catch((err) => {
      if (!err.message.includes(`interrupted by another navigation to "${url}"`)) throw err;
      return this.page.waitForURL(url);
    });
  }

  evaluate(f, ...args) { return this.page.evaluate(`(${f})(...${JSON.stringify(args)})`); }

  click(css) { const it = this.page.locator(css).first(); return this.touch ? it.tap() : it.click(); }

  pressAt(x, y) { return this.touch ? this.page.touchscreen.tap(x, y) : this.page.mouse.click(x, y); }

  key(name) { return this.page.keyboard.press(name); }

  type(text) { return this.page.keyboard.type(text); }

  back() { return this.page.goBack({ waitUntil: 'commit' }); }

  forward() { return this.page.goForward({ waitUntil: 'commit' }); }

  url() { return this.page.url(); }

  choose(css, value) { return this.page.locator(css).selectOption(value); }

  // behind opens a page in a tab that is not in sight.
  async behind(path) {
    const page = await this.page.context().newPage();
    await page.goto(this.server.url + path);
    await page.evaluate(hide, true);
  }

  resize(width, height) { return this.page.setViewportSize({ width, height }); }

  picture(path) { return this.page.screenshot({ path }); }
}

class WebDriverReader extends Reader {
  constructor(driver, server) { super(); Object.assign(this, { driver, server, touch: false }); }

  open(path) { return this.driver.get(this.server.url + path); }

  evaluate(f, ...args) { return this.driver.executeScript(`return (${f})(...arguments)`, ...args); }

  click(css) { return this.driver.findElement(By.css(css)).click(); }

  pressAt(x, y) { return this.driver.actions().move({ x: Math.round(x), y: Math.round(y), origin: Origin.VIEWPORT }).click().perform(); }

  key(name) { return this.driver.actions().sendKeys({ Space: ' ', Enter: Key.ENTER, Escape: Key.ESCAPE, Tab: Key.TAB, Backspace: Key.BACK_SPACE }[name] ?? name).perform(); }

  type(text) { return this.driver.actions().sendKeys(text).perform(); }

  back() { return this.driver.navigate().back(); }

  forward() { return this.driver.navigate().forward(); }

  reload() { return this.driver.navigate().refresh(); }

  url() { return this.driver.getCurrentUrl(); }

  choose(css, value) { return this.driver.findElement(By.css(`${css} option[value="${value}"]`)).click(); }

  // behind opens a page in a tab that is not in sight, as WebDriver's new tabs are.
  async behind(path) {
    const front = await this.driver.getWindowHandle();
    await this.driver.switchTo().newWindow('tab');
    await this.open(path);
    await this.driver.switchTo().window(front);
  }

  async picture(path) { writeFileSync(path, await this.driver.takeScreenshot(), 'base64'); }

  // resize sets the size of the viewport, which is the window's without the part above the page.
  async resize(width, height) {
    for (let tries = 0, more = 0; tries < 50; tries++) {
      await this.driver.manage().window().setRect({ width, height: height + more });
      const [w, h] = await this.run(() => new Promise((done) => { requestAnimationFrame(() => done([innerWidth, innerHeight])); }));
      if (w === width && h === height) return;
      if (w === width) more += height - h;
    }
    throw new Error(`the window does not become ${width} × ${height}`);
  }
}

// startWebKit starts a screen, WebKit's WebDriver and a browser, and returns what drives the browser and
// the function that ends all of them.
async function startWebKit() {
  const folder = mkdtempSync(join(tmpdir(), 'webkit-'));
  // Without these rules the buttons of its window make the window wider than a phone.
  mkdirSync(join(folder, 'gtk-3.0'));
  writeFileSync(join(folder, 'gtk-3.0', 'gtk.css'), '* { min-width: 0; min-height: 0; padding: 0; margin: 0; border-width: 0; font-size: 1px; -gtk-icon-transform: scale(0.1) }\n');
  const screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const ended = new Promise((done) => { screen.once('exit', done); screen.once('error', done); });
  const display = await Promise.race([new Promise((done) => { createInterface({ input: screen.stdio[3] }).once('line', done); }), ended.then(() => { throw new Error('Xvfb does not start: install it, such as with apt-get install xvfb'); })]);
  const port = await findFreePort();
  const service = new DriverService('WebKitWebDriver', {
    loopback: true, port, args: [`--port=${port}`], stdio: 'ignore',
    env: { ...process.env, DISPLAY: `:${display}`, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder, XDG_DATA_HOME: folder, WEBKIT_DISABLE_COMPOSITING_MODE: '1', WEBKIT_DISABLE_DMABUF_RENDERER: '1', TZ: zone },
  });
  let driver;
  const stop = async () => {
    await driver?.quit();
    await service.kill();
    screen.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 9 });
  };
  try {
    const binary = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu'].map((libraries) => `${libraries}/webkit2gtk-4.1/MiniBrowser`).find((path) => existsSync(path));
    if (!binary) throw new Error('install WebKit, such as with apt-get install webkit2gtk-driver');
    driver = await new Builder().usingServer(await service.start()).withCapabilities(new Capabilities({ browserName: 'MiniBrowser', 'webkitgtk:browserOptions': { binary, args: ['--automation'] } })).build();
  } catch (err) {
    await stop();
    throw err;
  }
  return [driver, stop];
}

// test has a reader of the server's pages, at a size that the test sets by use; touch is for small ones.
export const test = base.extend({
  size: [sizes[3], { option: true }],
  engine: [async ({ playwright }, use, { project }) => {
    if (project.name === 'webkit') {
      const [driver, stop] = await startWebKit();
      await use(driver);
      return stop();
    }
    const { browserName, channel, launchOptions } = project.use;
    const browser = await playwright[browserName].launch({ channel, ...launchOptions });
    await use(browser);
    await browser.close();
  }, { scope: 'worker' }],
  reader: async ({ server, size: [width, height], engine }, use, { project }) => {
    if (project.name === 'webkit') {
      const reader = new WebDriverReader(engine, server);
      await reader.open('/ui/about');
      await reader.resize(width, height);
      const front = await engine.getWindowHandle();
      await use(reader);
      for (const tab of await engine.getAllWindowHandles()) if (tab !== front) { await engine.switchTo().window(tab); await engine.close(); }
      await engine.switchTo().window(front);
      return;
    }
    const touch = width < 1000 && project.name === 'chromium';
    const context = await engine.newContext({ viewport: { width, height }, timezoneId: zone, hasTouch: touch, isMobile: touch || undefined });
    const page = await context.newPage(), errors = [];
    page.on('pageerror', (err) => errors.push(err.message));
    await use(new PlaywrightReader(page, server, touch));
    await context.close();
    expect(errors, 'errors in the page').toEqual([]);
  },
});
export { expect, zone };
