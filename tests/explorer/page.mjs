// A browser that has followed a link into the page.  Whatever it complains about, and every
// request that leaves the page's own address, fails the test that caused it; and a test that fails
// says what its pages have been doing: `test` and `before` are to be taken from here.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before as nodeBefore, test as nodeTest } from 'node:test';
import { chromium } from 'playwright-core';

export const base = process.env.EXPLORER_TEST_PAGE;

export async function control(what, body) {
  const reply = await fetch(process.env.EXPLORER_TEST_CONTROL + what, { method: 'POST', body });
  if (!reply.ok) throw new Error(`${what}: ${await reply.text()}`);
  return reply.json();
}

/** What the command line tool prints, given these arguments and this input. */
export async function tool(words, text = '') {
  const { code, out, err } = await control('/tool', JSON.stringify({ arguments: words, text }));
  assert.equal(code, 0, err);
  return out;
}

// The same engine without the windows around it costs half the processor time.
const BROWSERS = [
  process.env.EXPLORER_TEST_BROWSER,
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium',
];
const browser = await chromium.launch({
  executablePath: BROWSERS.find(each => each && existsSync(each)),
  args: ['--no-sandbox'],
});
after(() => browser.close());

const TIMEOUT_MS = Number(process.env.EXPLORER_TEST_TIMEOUT_MS || 60_000); // of a machine that does other things too
const HANG_MS = 10 * TIMEOUT_MS; // of a whole test, in which something waits that has no deadline

// --- what is told of a test that fails ---

const KEPT = 40,
  TOLD = { console: 5, requests: 10, log: 8 };
const opened = new Set(); // pages of the test that runs

/** Keep what a page says and asks for. */
function listen(page, expected) {
  const said = [],
    asked = [],
    entries = new WeakMap();
  const keep = (list, entry) => {
    list.push(entry);
    if (list.length > KEPT) list.shift();
  };
  Object.assign(page, { complaints: [], said, asked });
  page.on('console', message => {
    if (!['error', 'warning'].includes(message.type())) return;
    keep(said, `${message.type()}: ${message.text()}`);
    if (!expected.some(pattern => pattern.test(message.text())))
      page.complaints.push(message.text());
  });
  page.on('pageerror', error => {
    keep(said, `thrown: ${error.message}`);
    page.complaints.push(`${error.message} ${error.stack}`);
  });
  page.on('request', request => {
    const url = request.url();
    if (!url.startsWith(base) && !/^(blob|data|about):/.test(url))
      page.complaints.push(`a request to ${url}`);
    const entry = {
      what: `${request.method()} ${url.replace(base, '')}`.slice(0, 160),
      status: 'no answer yet',
    };
    entries.set(request, entry);
    keep(asked, entry);
  });
  const note = (request, status) => {
    const entry = entries.get(request);
    if (entry) entry.status = status;
  };
  page.on('response', response => note(response.request(), response.status()));
  page.on('requestfailed', request => note(request, request.failure()?.errorText));
  opened.add(page);
  page.context().on('close', () => opened.delete(page));
}

/** Lines of which the same one comes again and again once, with how often. */
function folded(lines) {
  const found = [];
  for (const text of lines) {
    if (found.at(-1)?.text === text) found.at(-1).times++;
    else found.push({ text, times: 1 });
  }
  return found.map(({ text, times }) => (times > 1 ? `${text} (${times} times)` : text));
}

let shots = 0;

/** Where a page is, what it has said and asked for last, and a picture of it. */
async function storyOf(page) {
  const picture = `/var/tmp/tavola-explorer-${process.pid}-${++shots}.png`;
  const isDrawn = await page.screenshot({ path: picture, timeout: 10_000 }).then(
    () => true,
    () => false,
  );
  return [
    `the page: ${page.url()}${isDrawn ? `, ${picture}` : ''}`,
    ...page.said.slice(-TOLD.console).map(text => `  ${text.slice(0, 300)}`),
    ...folded(page.asked.map(({ what, status }) => `  ${what}: ${status}`)).slice(-TOLD.requests),
  ];
}

/** An error with what the pages and the server have to say to it. */
async function explained(thrown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown)),
    story = [];
  for (const page of opened) story.push(...(await storyOf(page)));
  const { lines } = await control('/log').catch(trouble => ({ lines: [String(trouble)] }));
  story.push("the server's log:", ...lines.slice(-TOLD.log).map(line => `  ${line.slice(0, 300)}`));
  error.message = [error.message, ...story].join('\n');
  return error;
}

/** Do it, and leave no page behind. */
async function doAndClose(act) {
  let timer;
  const hangs = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it has not ended after ${HANG_MS} ms`)), HANG_MS);
  });
  try {
    await Promise.race([act(), hangs]);
  } catch (error) {
    throw await explained(error);
  } finally {
    clearTimeout(timer);
    for (const page of opened)
      await page
        .context()
        .close()
        .catch(() => {});
  }
}

export const test = (name, act) => nodeTest(name, () => doAndClose(act));
export const before = act => nodeBefore(() => doAndClose(act));

// --- pages ---

// Lines at the bottom of the page go away by themselves: a list keeps them for toastSays().
function keepToasts() {
  window.toasts = [];
  document.addEventListener('DOMContentLoaded', () =>
    new MutationObserver(changes => {
      for (const { addedNodes } of changes)
        for (const node of addedNodes)
          if (node.matches?.('.toast')) window.toasts.push(node.textContent);
    }).observe(document.body, { childList: true }),
  );
}

/** A page that is logged in; `expected` are patterns of what the console may say. */
export async function open({ theme = 'light', width = 1440, height = 900, expected = [] } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  await context.addInitScript(keepToasts);
  const page = await context.newPage();
  listen(page, expected);
  await page.goto(`${base}/#/login/${(await control('/link')).link}`);
  await page.waitForSelector('.app');
  return page;
}

export async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

/** Go to a view and wait until it is there. */
export async function go(page, view, selector) {
  const wanted = await page.evaluate(hash => {
    const was = location.hash;
    location.hash = hash;
    if (location.hash === was) return null;
    delete document.querySelector('main').dataset.view; // it may have had this address before it changed it
    return location.hash;
  }, `#/${view}`);
  if (wanted)
    await page.waitForFunction(
      hash => document.querySelector('main').dataset.view === hash,
      wanted,
    );
  await page.waitForSelector(selector || 'main h1');
}

/** Of what is seen, for the documents. */
export const picture = (page, name) =>
  page.screenshot({ path: `${process.env.EXPLORER_PICTURES}/${name}.png` });

/** What the address says after its "?". */
export const query = async page =>
  new URLSearchParams((await page.evaluate(() => location.hash)).split('?')[1] || '');

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe is asked in a theme: the other one has the same elements in other colours. */
export const RULES = { light: undefined, dark: ['color-contrast', 'link-in-text-block'] };

/** What axe has to say to the whole page; with `rules`, to these alone. */
export async function violations(page, rules) {
  if (!(await page.evaluate(() => 'axe' in window))) {
    const session = await page.context().newCDPSession(page);
    await session.send('Page.setBypassCSP', { enabled: true });
    await session.send('Runtime.evaluate', { expression: await fs.readFile(axe, 'utf8') });
    await session.detach();
  }
  const found = await page.evaluate(
    runOnly =>
      window.axe.run(document, { resultTypes: ['violations'], ...(runOnly && { runOnly }) }),
    rules,
  );
  return found.violations.map(
    each =>
      `${each.id}: ${each.nodes
        .map(node => node.html.slice(0, 160))
        .slice(0, 3)
        .join(' | ')}`,
  );
}

const pause = () => new Promise(done => setTimeout(done, 50));

/** Until a function, which may wait for something, is true in the page. */
export async function until(page, fact, argument) {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await page.evaluate(fact, argument))) {
    assert.ok(Date.now() < deadline, `it has not come true: ${fact} ${argument}`);
    await pause();
  }
}

/** Until what is asserted holds: for what comes a moment after what was done. */
export async function eventually(check) {
  for (const deadline = Date.now() + TIMEOUT_MS; ; await pause()) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
  }
}

/** Until a line that came up at the bottom, after the one that was found last, has this; it may be gone again. */
export const toastSays = (page, words) =>
  page.waitForFunction(source => {
    const at = window.toasts.findIndex(text => new RegExp(source).test(text));
    if (at >= 0) window.toasts.splice(0, at + 1);
    return at >= 0;
  }, words.source);

/** Until no dialog is open, and focus is where it was. */
export const dialogIsGone = page => page.waitForFunction(() => !document.querySelector('dialog'));

/** Ask a service as the page does. */
export const ask = (page, method, path, body, headers = {}) =>
  page.evaluate(
    async ([how, where, what, more]) => {
      const reply = await fetch(where, {
        method: how,
        body: what,
        headers: {
          'x-tavola-page': localStorage.getItem('tavola.page'),
          'content-type': 'application/json',
          ...more,
        },
      });
      return { status: reply.status, text: await reply.text() };
    },
    [method, path, body, headers],
  );

/** Entities in order, by the tool: much faster than by the page.  `rows`: the objects of an NDJSON file. */
export const importTable = (name, rows) =>
  tool(
    ['import', name, '-', '--create', '--format', 'ndjson', '--on-conflict', 'replace'],
    rows.map(row => JSON.stringify(row) + '\n').join(''),
  );

const ACCOUNT = 'devstoreaccount1';
export const tablePath = rest => `/api/table/${ACCOUNT}/${rest}`;

/** A table with `rows` entities, in batches of a hundred a partition. */
export async function makeTable(
  page,
  name,
  partitions,
  rows,
  properties = i => ({ Name: `name ${i}`, Age: i % 90 }),
) {
  const made = await ask(page, 'POST', tablePath('Tables'), JSON.stringify({ TableName: name }));
  assert.ok([201, 204, 409].includes(made.status), made.text);
  await page.evaluate(
    async ([table, keys, count, bodies]) => {
      const { sendBatch, useAccount } = await import(
        document.querySelector('script[src]').src.replace('shell.js', 'api.js')
      );
      useAccount('devstoreaccount1');
      for (const partition of keys) {
        for (let at = 0; at < count; at += 100) {
          await sendBatch(
            table,
            Array.from({ length: Math.min(100, count - at) }, (_, i) => ({
              how: 'upsert',
              properties: new Map([
                ['PartitionKey', { type: 'Edm.String', value: partition }],
                ['RowKey', { type: 'Edm.String', value: `r${String(at + i).padStart(5, '0')}` }],
                ...Object.entries(bodies[(at + i) % bodies.length]).map(([key, value]) => [
                  key,
                  {
                    type: typeof value === 'number' ? 'Edm.Int32' : 'Edm.String',
                    value: String(value),
                  },
                ]),
              ]),
            })),
          );
        }
      }
    },
    [name, partitions, rows, Array.from({ length: Math.min(rows, 200) }, (_, i) => properties(i))],
  );
}
