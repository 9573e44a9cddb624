// Copying and renaming a table, while programs use it and while answers fail to come.

import assert from 'node:assert/strict';
import {
  ask,
  close,
  eventually,
  go,
  importTable,
  makeTable,
  open,
  tablePath,
  test,
  toastSays,
  tool,
  violations,
} from './page.mjs';
import { Tables, endpoints } from './service.mjs';

const exported = async name =>
  (await tool(['export', name, '-', '-o', 'ndjson']))
    .trim()
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line));
const section = "section[aria-label='Copy or rename']";
const says = (page, words) =>
  page.waitForFunction(
    ([where, source]) =>
      new RegExp(source).test(document.querySelector(`${where} [role=status]`).textContent),
    [section, words.source],
  );
const entity = (table, row) => tablePath(`${table}(PartitionKey='p',RowKey='${row}')`);
const put = (page, table, row, value) =>
  ask(page, 'PUT', entity(table, row), JSON.stringify({ Value: value }));
/** Let a request go on; whoever asked may have given it up. */
const goOn = route => route.continue().catch(() => {});
const isDeleting = request => /^DELETE /m.test(request.postData() || '');

async function rename(page, to) {
  await page.fill(`${section} input`, to);
  await page.click(`${section} >> text=/^Rename$/`);
  await page.click('dialog .danger');
}

/** A table of one partition; its rows are r0000 and so on. */
const numbered = (name, count) =>
  importTable(
    name,
    Array.from({ length: count }, (_, i) => ({
      PartitionKey: 'p',
      RowKey: `r${String(i).padStart(4, '0')}`,
      Value: `v${i}`,
    })),
  );

test('a copy has every entity with its types, and the policies', async () => {
  const page = await open({ expected: [/409/] });
  await importTable('Origin', [
    { PartitionKey: "it's", RowKey: '100% %2F', Text: 'a,"b"\r\nc', N: 1 },
    {
      PartitionKey: '\ud83d\ude00',
      RowKey: '',
      Text: ' edges ',
      'N@odata.type': 'Edm.Int64',
      N: '9223372036854775807',
    },
    { PartitionKey: '\uff5e', RowKey: '\u65e5', Text: '' },
    {
      PartitionKey: 'a',
      RowKey: '1',
      Flag: true,
      Real: 0.1,
      Whole: 20.5,
      'When@odata.type': 'Edm.DateTime',
      When: '2026-01-02T03:04:05.1234567Z',
      'Id@odata.type': 'Edm.Guid',
      Id: 'c9da6455-213d-42c9-9a79-3e9149a57833',
      'Raw@odata.type': 'Edm.Binary',
      Raw: 'AAEC/w==',
      'Odd@odata.type': 'Edm.Double',
      Odd: 'NaN',
      'Round@odata.type': 'Edm.Double',
      Round: '20.0',
    },
    ...Array.from({ length: 2500 }, (_, i) => ({
      PartitionKey: 'many',
      RowKey: String(i).padStart(5, '0'),
      I: i,
    })),
  ]);
  await ask(
    page,
    'PUT',
    tablePath('Origin?comp=acl'),
    '<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>',
    { 'x-ms-version': '2019-02-02', 'content-type': 'application/xml' },
  );
  await makeTable(page, 'Taken', ['x'], 1);
  await go(page, 't/Origin/io', section);
  await page.fill(`${section} input`, 'Taken');
  await page.click(`${section} >> text=/^Copy$/`);
  await page.waitForSelector(`${section} >> text=TableAlreadyExists`);
  assert.equal((await exported('Taken')).length, 1);
  await page.fill(`${section} input`, 'Second');
  await page.click(`${section} >> text=/^Copy$/`);
  await says(page, /Compared: 2,504 entities in Second, the same as here\./);
  assert.equal(
    await tool(['export', 'Second', '-', '-o', 'ndjson']),
    await tool(['export', 'Origin', '-', '-o', 'ndjson']),
  );
  assert.match(
    (
      await ask(page, 'GET', tablePath('Second?comp=acl'), undefined, {
        'x-ms-version': '2019-02-02',
      })
    ).text,
    /<Id>readers<\/Id>/,
  );
  assert.deepEqual(await violations(page), []);
  await close(page);
});

test('what is written while a table is copied is found by the comparison', async () => {
  const page = await open({ expected: [/4\d\d/] });
  await numbered('Busy', 1500);
  await go(page, 't/Busy/io', section);
  let isFirst = true,
    isWritten = false;
  await page.route(/\/BusyCopy\(\)/, async route => {
    // the copy is looked at for the second time: it is whole
    if (isWritten || isFirst || !(await exported('BusyCopy')).length) {
      isFirst = false;
      await goOn(route);
      return;
    }
    isWritten = true; // and the route stays: without one the browser lets this request go at once
    await put(page, 'Busy', 'r0003', 'changed');
    await put(page, 'Busy', 'r9999', 'new');
    await ask(page, 'DELETE', entity('Busy', 'r0007'), undefined, { 'if-match': '*' });
    await put(page, 'BusyCopy', 'r0011', 'theirs');
    await goOn(route);
  });
  await page.fill(`${section} input`, 'BusyCopy');
  await page.click(`${section} >> text=/^Copy$/`);
  await says(
    page,
    /1,499 entities in BusyCopy are the same as here\. 1 entity is newer in BusyCopy than here, and left alone in both\. 1 entity is in BusyCopy that somebody has deleted here meanwhile\./,
  );
  const copy = new Map((await exported('BusyCopy')).map(each => [each.RowKey, each.Value]));
  assert.deepEqual(
    [copy.get('r0003'), copy.get('r9999'), copy.get('r0011'), copy.size],
    ['changed', 'new', 'theirs', 1501],
  );
  await close(page);
});

test('a table is renamed while programs write to it, and nothing is lost', async () => {
  const page = await open({ expected: [/4\d\d/] });
  await numbered('Orders', 1200);
  await go(page, 't/Orders/io', section);
  let seen = 0;
  await page.route(/\$batch/, async route => {
    if (isDeleting(route.request()) && ++seen === 2) {
      // what is in this batch has been copied and compared
      await put(page, 'Orders', 'r0150', 'changed at the last moment');
      await put(page, 'Orders', 'a-new-one', 'behind the place');
      await ask(page, 'DELETE', entity('Orders', 'r0160'), undefined, { 'if-match': '*' });
    }
    await goOn(route);
  });
  await rename(page, 'Purchases');
  await says(
    page,
    /moved to Purchases\. Orders is empty now\..* 1 entity is in Purchases that somebody has deleted here meanwhile/,
  );
  const there = new Map((await exported('Purchases')).map(each => [each.RowKey, each.Value]));
  assert.deepEqual(
    [there.size, there.get('r0150'), there.get('a-new-one'), there.get('r1199')],
    [1201, 'changed at the last moment', 'behind the place', 'v1199'],
  );
  assert.deepEqual(await exported('Orders'), []);
  // Written to again: it is not deleted, and can be moved once more.
  await put(page, 'Orders', 'late', 'late');
  await page.click('text=Delete the empty table');
  await page.click('dialog .danger');
  await page.waitForSelector('text=Orders has been written to again, and was not deleted');
  assert.deepEqual(
    (await exported('Orders')).map(each => each.RowKey),
    ['late'],
  );
  await ask(page, 'DELETE', entity('Orders', 'late'), undefined, { 'if-match': '*' });
  await page.click('text=Delete the empty table');
  await page.click('dialog .danger');
  await toastSays(page, /Orders deleted/);
  await page.waitForSelector("#tree a:has-text('Purchases')");
  assert.equal((await ask(page, 'GET', tablePath('Orders()'))).status, 404);
  await close(page);
});

test('whatever a program writes while a table is renamed is in one of the two', async () => {
  const page = await open({ expected: [/4\d\d/] }),
    tables = new Tables((await endpoints(page)).table);
  await numbered('Noisy', 300);
  await go(page, 't/Noisy/io', section);
  const seed = Number(process.env.EXPLORER_TEST_SEED || Date.now() % 1e6),
    done = new Map();
  let state = seed,
    version = 0,
    isOver = false;
  const random = below => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor(state / 65536) % below;
  };
  const write = async () => {
    while (!isOver) {
      const rows = [
          ...new Set(
            Array.from({ length: 1 + random(5) }, () => `r${String(random(400)).padStart(4, '0')}`),
          ),
        ],
        value = ++version;
      await tables.put(
        'Noisy',
        'p',
        rows.map(row => ({ row, Value: value })),
      );
      for (const row of rows) done.set(row, value); // the service has said so
    }
  };
  const writing = write();
  await rename(page, 'Quiet');
  await says(page, /moved to Quiet/);
  isOver = true;
  await writing;
  const kept = new Map();
  for (const table of ['Noisy', 'Quiet'])
    for (const { RowKey, Value } of await exported(table))
      kept.set(RowKey, Math.max(kept.get(RowKey) ?? 0, typeof Value === 'number' ? Value : 0));
  assert.deepEqual(
    [...done].filter(([row, value]) => (kept.get(row) ?? -1) < value),
    [],
    `lost, with EXPLORER_TEST_SEED=${seed}`,
  );
  for (let i = 0; i < 300; i++)
    assert.ok(
      kept.has(`r${String(i).padStart(4, '0')}`),
      `r${i} is lost, with EXPLORER_TEST_SEED=${seed}`,
    );
  assert.ok(done.size > 0);
  await close(page);
});

test('a renaming that fails in the middle loses nothing, and goes on', async () => {
  const page = await open({ expected: [/./] });
  await numbered('Halfway', 1000);
  await go(page, 't/Halfway/io', section);
  let seen = 0;
  await page.route(/\$batch/, async route => {
    if (!isDeleting(route.request()) || ++seen !== 3) {
      await goOn(route);
      return;
    }
    await route.fetch(); // it is done, and nobody is told
    await route.abort();
  });
  await rename(page, 'Whole');
  await page.waitForSelector(
    'text=Every entity is in Halfway or in Whole; the same button goes on.',
  );
  const both = [...(await exported('Halfway')), ...(await exported('Whole'))];
  assert.equal(new Set(both.map(each => each.RowKey)).size, 1000);
  // The page is left and comes back.
  await go(page, 'start', '.ends');
  await go(page, 't/Halfway/io', section);
  await page.waitForSelector('text=A renaming to Whole has not ended; the same button goes on.');
  await page.click(`${section} >> text=/^Rename$/`);
  await page.click('dialog .danger');
  await says(page, /Halfway is empty now/);
  assert.deepEqual(
    [(await exported('Whole')).length, (await exported('Halfway')).length],
    [1000, 0],
  );
  await close(page);
});

test('a copy is stopped, and goes on with the keyboard alone', async () => {
  const page = await open({ expected: [/./] });
  await numbered('Long', 3000);
  await go(page, 't/Long/io', section);
  let letGo;
  const isStopped = new Promise(resolve => {
    letGo = resolve;
  });
  let seen = 0;
  await page.route(/\$batch/, async route => {
    if (++seen === 3) await isStopped;
    await goOn(route);
  });
  await page.focus(`${section} input`);
  await page.keyboard.type('Longer');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.textContent === 'Stop');
  await page.keyboard.press('Enter');
  letGo();
  await says(page, /Stopped\. Every entity is in Long or in Longer/);
  await page.waitForFunction(() => document.activeElement.textContent === 'Copy');
  await page.keyboard.press('Enter');
  await says(page, /Compared: 3,000 entities in Longer, the same as here/);
  assert.equal((await exported('Longer')).length, 3000);
  await eventually(async () =>
    assert.equal(
      await page.evaluate(() => localStorage.getItem('tavola.copy.devstoreaccount1.Long')),
      null,
    ),
  );
  await close(page);
});
