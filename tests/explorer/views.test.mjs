// Every view: loads by its address, has nothing axe objects to, fits small and large windows.

import assert from 'node:assert/strict';
import {
  ask,
  base,
  close,
  control,
  go,
  makeTable,
  open,
  RULES,
  tablePath,
  test,
  violations,
} from './page.mjs';

const VIEWS = {
  start: '.ends',
  account: '.list',
  't/People/rows': '.gr',
  't/People/rows?f=Age%20gt%2030': '.gr',
  't/People/heat': '.hbar .legend',
  't/People/shapes': '.pad',
  't/People/advice': '.adv',
  't/People/facts': '.pad',
  't/People/batch': '.op',
  't/People/io': '.io',
  't/People/access': '.list',
  'q/jobs': '.putbox',
  'access/queue/jobs': '.list',
  'c/photos': '.pad',
  'access/blob/photos': '.list',
  'b/photos/2026/a.txt': '.field.text',
  'settings/blob': '.settings form',
  requests: "[aria-label='Service']",
  advice: '.adv',
  sas: '.sasout pre',
  'sas/explain': '.putbox',
  server: '.chart',
  help: '.keys',
};

let isFilled = false;
async function fill(page) {
  if (isFilled) return;
  isFilled = true;
  await makeTable(page, 'People', ['HR', 'Sales'], 60);
  await ask(page, 'PUT', '/api/queue/devstoreaccount1/jobs');
  await ask(
    page,
    'POST',
    '/api/queue/devstoreaccount1/jobs/messages',
    '<QueueMessage><MessageText>aGVsbG8=</MessageText></QueueMessage>',
    { 'content-type': 'application/xml' },
  );
  await ask(page, 'PUT', '/api/blob/devstoreaccount1/photos?restype=container');
  await ask(page, 'PUT', '/api/blob/devstoreaccount1/photos/2026/a.txt', 'hello', {
    'x-ms-blob-type': 'BlockBlob',
    'content-type': 'text/plain',
  });
}

for (const theme of Object.keys(RULES)) {
  test(`axe finds nothing in any view, ${theme}`, async () => {
    const page = await open({ theme });
    await fill(page);
    const found = [];
    for (const [view, selector] of Object.entries(VIEWS)) {
      await go(page, view, selector);
      found.push(...(await violations(page, RULES[theme])).map(text => `${view}: ${text}`));
    }
    assert.deepEqual(found, []);
    await close(page);
  });
}

test('every view fits from 360 pixels to 4K', async () => {
  const page = await open();
  await fill(page);
  const wide = [];
  for (const width of [360, 768, 1024, 3840]) {
    await page.setViewportSize({ width, height: width > 2000 ? 2160 : 800 });
    for (const [view, selector] of Object.entries(VIEWS)) {
      await go(page, view, selector);
      const size = await page.evaluate(() => document.documentElement.scrollWidth);
      if (size > width) wide.push(`${view} at ${width}: ${size}`);
    }
  }
  assert.deepEqual(wide, []);
  await close(page);
});

test('the first load is small, from this server alone', async () => {
  const page = await open();
  await page.reload();
  await page.waitForSelector('.ends');
  const bytes = await page.evaluate(() =>
    [
      ...performance.getEntriesByType('navigation'),
      ...performance.getEntriesByType('resource'),
    ].reduce((sum, each) => sum + each.encodedBodySize, 0),
  );
  assert.ok(bytes > 0 && bytes < 150_000, `${bytes} bytes`);
  await close(page);
});

test('an address that leads nowhere says so', async () => {
  const page = await open();
  await go(page, 'nothing/here');
  assert.match(await page.textContent('main'), /There is no page at #\/nothing\/here/);
  await close(page);
});

test('an address that was cut off in an encoding is shown as it stands', async () => {
  const page = await open({ expected: [/40[04]/] });
  for (const [address, words] of [
    ['t/Sales%2', /Sales%2/],
    ['b/photos/%E4', /no such blob/],
    ['%', /There is no page at #\/%\./],
    ['t/Sales/rows?f=%', /Sales/],
  ]) {
    await go(page, address);
    assert.match(await page.textContent('main'), words, address);
    await page.reload();
    await page.waitForSelector('main h1');
    assert.match(await page.textContent('main'), words, `${address}, loaded again`);
  }
  await go(page, 'sas/explain', '.putbox');
  await page.fill('.putbox textarea', 'http://127.0.0.1:10002/a/%2?sv=2021-12-02&sig=x');
  for (const typed of ['GET /%', 'GET http://', 'GET /a']) {
    await page.fill('.putbox >> text=Would this request >> input', typed);
    await page.waitForSelector(`.verdictline code:text-is("${typed}")`);
  }
  await close(page);
});

test('who logs out has no session any more, in this tab, in others and on the server', async () => {
  const page = await open({ expected: [/401/] }),
    other = await page.context().newPage();
  await other.goto(`${base}/#/server`);
  await other.waitForSelector('.chart');
  const word = await page.evaluate(() => localStorage.getItem('tavola.page'));
  await go(page, 'account', '.list');
  await page.click('.foot >> text=Log out');
  await page.waitForSelector('.login >> text=tavola server url');
  assert.equal(await page.evaluate(() => localStorage.getItem('tavola.page')), null);
  const status = await page.evaluate(
    async kept => (await fetch('/api/hello', { headers: { 'x-tavola-page': kept } })).status,
    word,
  );
  assert.equal(status, 401);
  await other.waitForSelector('.lost:not([hidden]) >> text=This session has ended');
  const { link } = await control('/link');
  await page.goto(`${base}/#/login/${link}`);
  await page.waitForSelector('.ends');
  await other.waitForFunction(() => document.querySelector('.lost').hidden);
  await close(page);
});

test('a link that was used is refused with what to do', async () => {
  const page = await open({ expected: [/403/, /401/] });
  await page.context().clearCookies();
  await page.evaluate(() => localStorage.clear());
  await page.goto('about:blank');
  await page.goto(`${base}/#/login/${'0'.repeat(64)}`);
  await page.waitForSelector('.login p');
  await page.waitForFunction(() => /tavola server url/.test(document.body.textContent));
  assert.equal(await page.evaluate(() => location.hash), '#/start');
  await close(page);
});

test('a thousand tables are filtered by typing', async () => {
  const page = await open();
  await page.evaluate(async path => {
    const one = name =>
      fetch(path, {
        method: 'POST',
        headers: {
          'x-tavola-page': localStorage.getItem('tavola.page'),
          'content-type': 'application/json',
        },
        body: JSON.stringify({ TableName: name }),
      });
    for (let i = 0; i < 1000; i += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, j) => one(`Many${String(i + j).padStart(4, '0')}`)),
      );
  }, tablePath('Tables'));
  await page.reload();
  await page.fill('input[aria-label="Filter names"]', 'many0777');
  await page.waitForFunction(() => document.querySelectorAll('#tree a').length === 1);
  await page.press('input[aria-label="Filter names"]', 'ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('main h1')?.textContent === 'Many0777');
  await close(page);
});
