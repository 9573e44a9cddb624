// Connect, the tree and the account: names, exact counts, live rates, the first request; and what
// is in queues and containers.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { during, sendAsClient } from './client.mjs';
import { ask, close, eventually, go, makeTable, open, test, until, violations } from './page.mjs';

const ACCOUNT = 'devstoreaccount1';
const queuePath = rest => `/api/queue/${ACCOUNT}/${rest}`,
  blobPath = rest => `/api/blob/${ACCOUNT}/${rest}`;
const XML = { 'content-type': 'application/xml' };
const putMessage = (page, queue, text) =>
  ask(
    page,
    'POST',
    queuePath(`${queue}/messages`),
    `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`,
    XML,
  );
const putBlob = (page, path, text, headers = {}) =>
  ask(page, 'PUT', blobPath(path), text, {
    'x-ms-blob-type': 'BlockBlob',
    'content-type': 'text/plain',
    ...headers,
  });
const node = name => `#tree a[title^="${name}"]`;
/** Until the tree has a node whose title fits; it is asked for again and again, not every two seconds. */
const treeSays = (page, pattern) =>
  until(
    page,
    async text => {
      await (
        await import(document.querySelector('script[src]').src.replace('shell.js', 'names.js'))
      ).refreshTree();
      return [...document.querySelectorAll('#tree a')].some(each =>
        new RegExp(text).test(each.title),
      );
    },
    pattern.source,
  );
const focused = page =>
  page.evaluate(
    () => document.activeElement.getAttribute('aria-label') || document.activeElement.textContent,
  );
const tabTo = async (page, text) => {
  for (let i = 0; i < 80 && (await focused(page)) !== text; i++) await page.keyboard.press('Tab');
  assert.equal(await focused(page), text);
};

test('Connect waits for the first request of an application, and says what it was', async () => {
  const page = await open();
  await go(page, 'start', '.firstline');
  assert.match(await page.textContent('.firstline'), /Waiting for the first request/);
  assert.equal(
    await sendAsClient(page, 'GET', 'Tables', { key: Buffer.alloc(64), agent: '<b>other</b>/1 x' }),
    403,
  );
  await page.waitForSelector(
    '.firstline >> text=/First request: GET .* from <b>other<.b>.1, 403. Refused/',
  );
  assert.equal(await page.locator('.firstline b').count(), 0);
  await sendAsClient(page, 'POST', 'Tables', { body: { TableName: 'Firsts' } });
  assert.equal(
    await sendAsClient(page, 'PUT', "Firsts(PartitionKey='p',RowKey='r')", { body: { A: 1 } }),
    204,
  );
  await page.waitForSelector(
    '.firstline >> text=/First request: POST .* from azsdk-python-data-tables.12.4.4, 201\\./',
  );
  await treeSays(page, /^Firsts, .*1 entity/);
  assert.deepEqual(await violations(page), []);
  await close(page);
});

test('a test entity is sent with the mouse, is shown, and opens', async () => {
  const page = await open();
  await go(page, 'start', '.ent');
  await page.click('text=Send a test entity');
  await page.waitForSelector('.ent >> text=/On disk in [\\d.]+ ms, read back in [\\d.]+ ms/');
  assert.match(await page.textContent('.ent'), /Timestamp.*ETag.*W\/"datetime/s);
  await treeSays(page, /^Hello, .*1 entity/);
  await page.click('text=Open it');
  await page.waitForSelector('.gr >> text=Hello from Explorer');
  await close(page);
});

test('the keyboard alone: a test entity, its table in the tree, a language, copy', async () => {
  const page = await open({ expected: [/409/] }); // the table is there already
  await go(page, 'start', '.ent');
  await tabTo(page, 'Copy Connection string');
  await page.keyboard.press('Enter');
  await eventually(async () =>
    assert.match(
      await page.evaluate(() => navigator.clipboard.readText()),
      /^DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8.*TableEndpoint=http/,
    ),
  );
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    await page.textContent('.ends .val >> nth=-1'),
    'what is copied is what is shown',
  );
  await tabTo(page, 'curl');
  await page.keyboard.press('Enter');
  await page.waitForSelector("pre[aria-label='curl code']");
  await tabTo(page, 'Send a test entity');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.ent >> text=/read back in/');
  await treeSays(page, /^Hello, .*entit/);
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  assert.ok(
    await page.evaluate(() => document.activeElement === document.querySelector('#tree a')),
  );
  for (let i = 0; i < 20 && !/^Hello/.test(await focused(page)); i++)
    await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('main h1')?.textContent === 'Hello');
  await close(page);
});

test('the tree has exact counts of tables, queues and containers, and live rates', async () => {
  const page = await open();
  await makeTable(page, 'Counted', ['a', 'b'], 25);
  await ask(page, 'PUT', queuePath('counted'));
  await ask(page, 'PUT', blobPath('counted?restype=container'));
  for (let i = 0; i < 3; i++) {
    await putMessage(page, 'counted', `m${i}`);
    await putBlob(page, `counted/dir/${i}`, '12345');
  }
  await treeSays(page, /^Counted, .*50 entities, [\d.]+ k?B/);
  await treeSays(page, /^counted, 3 messages$/);
  await treeSays(page, /^counted, 3 blobs, 15 B$/);
  await ask(page, 'DELETE', blobPath('counted/dir/1'));
  await ask(page, 'DELETE', queuePath('counted/messages'));
  await treeSays(page, /^counted, 2 blobs, 10 B$/);
  await treeSays(page, /^counted, 0 messages$/);
  await during(
    () => sendAsClient(page, 'GET', "Counted(PartitionKey='a',RowKey='r00001')"),
    () => treeSays(page, /^Counted, .*50 entities, .*, [\d.]+\/s/),
  );
  assert.equal(await page.locator(`${node('Counted')} svg`).count(), 1);
  await close(page);
});

test('what an application did not make is under Hidden; groups open and close; focus stays while counts change', async () => {
  const page = await open({ expected: [/409/] }); // a table is made twice
  await makeTable(page, 'Shown', ['a'], 1);
  await treeSays(page, /^Shown, 1 entity/);
  await page.focus(node('Shown'));
  const settings =
    '<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics></StorageServiceProperties>';
  assert.equal(
    (
      await ask(
        page,
        'PUT',
        `/api/table/${ACCOUNT}/?restype=service&comp=properties`,
        settings,
        XML,
      )
    ).status,
    202,
  );
  await page.waitForFunction(() =>
    [...document.querySelectorAll('#tree .grp')].some(each => /Hidden/.test(each.textContent)),
  );
  assert.equal(await page.locator('#tree a[title^="$"]').count(), 0);
  assert.match(await focused(page), /^Shown, 1 entity/);
  await makeTable(page, 'Shown', ['a'], 7);
  await treeSays(page, /^Shown, 7 entities/);
  assert.match(await focused(page), /^Shown, 7 entities/);
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('#tree a[title^="$Metrics"]');
  await page.keyboard.press('ArrowDown');
  assert.match(await focused(page), /^\$Metrics/);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => document.querySelectorAll('#tree a[title^="$"]').length === 0);
  await page.click('#tree .grp >> text=Tables');
  await page.waitForFunction(
    () => document.querySelectorAll('#tree a[title^="Shown"]').length === 0,
  );
  await page.click('#tree .grp >> text=Tables');
  await page.waitForSelector(node('Shown'));
  await close(page);
});

test('the account: sorted, filtered, with rates, worst plans and findings; new and gone', async () => {
  const page = await open();
  await makeTable(page, 'Larger', ['a'], 40);
  await makeTable(page, 'Smaller', ['a'], 4);
  for (let i = 0; i < 3; i++)
    assert.equal(await sendAsClient(page, 'GET', 'Larger()?$filter=Age%20eq%203'), 200);
  await until(page, async () => {
    // recorded a moment after the answer
    const { getJson } = await import(
      document.querySelector('script[src]').src.replace('shell.js', 'api.js')
    );
    return (await getJson('/shapes?account=devstoreaccount1&table=Larger')).shapes.some(
      shape => shape.plans?.table,
    );
  });
  await go(page, 'account', '.list');
  const rows = () =>
    page.$$eval('section:nth-of-type(1) .list tbody tr', all =>
      all.map(each => each.querySelector('a').textContent),
    );
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.list tr')].some(each => /Larger.*40/.test(each.textContent)),
  );
  await page.fill("input[aria-label='Filter names of the account']", 'er');
  assert.deepEqual(
    (await rows()).filter(name => /Larger|Smaller/.test(name)),
    ['Larger', 'Smaller'],
  );
  await page.click('th >> text=Entities');
  assert.equal((await rows())[0], 'Larger');
  await page.fill("input[aria-label='Filter names of the account']", '');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.list tr')].some(each =>
      /Larger.*Table scan/.test(each.textContent),
    ),
  );
  await page.click('text=New queue');
  await page.fill('dialog input', 'Not Good');
  assert.equal(await page.isDisabled('dialog >> text=Create'), true);
  await page.fill('dialog input', 'brand-new');
  await page.click('dialog >> text=Create');
  await page.waitForFunction(() => document.querySelector('main h1')?.textContent === 'brand-new');
  await go(page, 'account', '.list');
  await page.click("button[aria-label='Delete brand-new']");
  await page.waitForSelector(
    'dialog >> text=/Delete the queue brand-new and (its (about )?0 messages|what is in it)/',
  );
  await page.click('dialog .danger');
  await page.waitForFunction(() => !/brand-new/.test(document.querySelector('.pad').textContent));
  await close(page);
});

test("the keyboard alone: the account, a new table, its name's rules, gone again", async () => {
  const page = await open();
  await page.keyboard.press('Control+k');
  await page.waitForSelector('.pal input');
  await page.keyboard.type('account');
  await page.waitForSelector('.pal li >> text=Account');
  await page.keyboard.press('Enter');
  await page.waitForSelector("input[aria-label='Filter names of the account']");
  await tabTo(page, 'New table');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog');
  await page.keyboard.type('Keyed1');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('main h1')?.textContent === 'Keyed1');
  await go(page, 'account', "input[aria-label='Filter names of the account']");
  await page.focus("input[aria-label='Filter names of the account']");
  await page.keyboard.type('keyed1');
  await page.waitForFunction(() => document.querySelectorAll('.list tbody tr').length === 1);
  await tabTo(page, 'Delete Keyed1');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog .danger');
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    () =>
      !document.querySelector('#tree a[title^="Keyed1"]') &&
      !/Keyed1/.test(document.querySelector('.pad').textContent),
  );
  await close(page);
});

/** Take every visible message so often that it counts as poison. */
async function takeAll(page, queue, times) {
  for (let i = 0; i < times; i++) {
    const { text } = await ask(
      page,
      'GET',
      queuePath(`${queue}/messages?numofmessages=32&visibilitytimeout=3600`),
    );
    const [id, receipt] = [/<MessageId>([^<]+)/.exec(text)[1], /<PopReceipt>([^<]+)/.exec(text)[1]];
    await ask(
      page,
      'PUT',
      queuePath(
        `${queue}/messages/${id}?popreceipt=${encodeURIComponent(receipt)}&visibilitytimeout=0`,
      ),
      undefined,
      XML,
    );
  }
}

test('a queue: peek, views, pop counts, poison, what is worked on, back from -poison, clear', async () => {
  const page = await open();
  await ask(page, 'PUT', queuePath('work-poison'));
  await ask(page, 'PUT', queuePath('work'));
  await putMessage(page, 'work-poison', Buffer.from('{"job":1}').toString('base64'));
  await takeAll(page, 'work-poison', 5);
  await go(page, 'q/work-poison', '.putbox');
  await page.waitForSelector('text=5 times: poison candidate');
  await page.click('main .seg >> text=base64');
  await page.check('text=Indent JSON');
  await page.waitForFunction(
    () =>
      document.querySelector('pre.cell').textContent === '{␊  "job": 1␊}' ||
      /"job": 1/.test(document.querySelector('pre.cell').textContent),
  );
  assert.deepEqual(await violations(page), []);
  await page.click('text=Move back to work');
  await page.waitForSelector('text=No message.');
  await go(page, 'q/work', '.putbox');
  await page.waitForSelector('pre.cell');
  await ask(page, 'GET', queuePath('work/messages?visibilitytimeout=3600'));
  await page.waitForSelector('text=All messages are being worked on: none is visible.');
  await page.waitForSelector('.facts >> text=/1 message, 0 visible, 1 being worked on/');
  await page.click('text=/^Clear$/');
  await page.waitForSelector('dialog >> text=Its 1 message is gone for good.');
  await page.click('dialog .danger');
  await page.waitForSelector('text=No message.');
  await close(page);
});

test('the keyboard alone: put into a queue, change the view, clear it', async () => {
  const page = await open();
  await ask(page, 'PUT', queuePath('typed'));
  await go(page, 'q/typed', '.putbox');
  await tabTo(page, 'base64');
  await page.keyboard.press('Enter');
  await tabTo(page, 'Text of the message');
  await page.keyboard.type('héllo');
  await tabTo(page, 'Put');
  await page.keyboard.press('Enter');
  await page.waitForSelector('pre.cell >> text=héllo');
  for (let i = 0; i < 80 && (await focused(page)) !== 'text'; i++)
    await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`pre.cell >> text=${Buffer.from('héllo').toString('base64')}`);
  assert.equal(await focused(page), 'text');
  for (let i = 0; i < 80 && (await focused(page)) !== 'Clear'; i++)
    await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog .danger');
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=No message.');
  await close(page);
});

test('a container: folders, leases, counts, text and pictures, the keyboard alone', async () => {
  const page = await open();
  const PNG =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await ask(page, 'PUT', blobPath('shelf?restype=container'));
  await putBlob(page, 'shelf/a/b/deep.txt', 'deep');
  await putBlob(page, 'shelf/<i>.txt', 'text of it');
  await page.evaluate(
    async ([path, data]) => {
      await fetch(path, {
        method: 'PUT',
        body: Uint8Array.from(atob(data), c => c.charCodeAt(0)),
        headers: {
          'x-tavola-page': localStorage.getItem('tavola.page'),
          'x-ms-blob-type': 'BlockBlob',
          'content-type': 'image/png',
        },
      });
    },
    [blobPath('shelf/dot.png'), PNG],
  );
  await ask(page, 'PUT', blobPath('shelf/dot.png?comp=lease'), undefined, {
    'x-ms-lease-action': 'acquire',
    'x-ms-lease-duration': '-1',
  });
  await go(page, 'c/shelf', '.list');
  await page.waitForSelector('.facts >> text=/3 blobs, \\d+ B/');
  await page.waitForSelector("tr:has-text('dot.png') >> text=leased");
  assert.deepEqual(await violations(page), []);
  await tabTo(page, 'dot.png');
  await page.keyboard.press('Enter');
  await page.waitForSelector('main img.picture');
  await page.goBack();
  await page.waitForSelector("tr:has-text('dot.png')");
  await tabTo(page, 'Download <i>.txt');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.keyboard.press('Enter'),
  ]);
  assert.equal(await fs.readFile(await download.path(), 'utf8'), 'text of it');
  for (let i = 0; i < 40 && !/^ ?a\/$/.test(await focused(page)); i++)
    await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector("a:has-text('b/')");
  await tabTo(page, ' b/');
  await page.keyboard.press('Enter');
  await page.waitForSelector("td a:has-text('deep.txt')");
  await close(page);
});

test('names of blobs that XML cannot hold are shown and open', async () => {
  const page = await open();
  await ask(page, 'PUT', blobPath('odd?restype=container'));
  await putBlob(page, 'odd/a%EF%BF%BF/b%EF%BF%BE', 'text of it');
  await go(page, 'c/odd', '.list');
  await page.click("a:has-text('a\uffff/')");
  await page.click("a:has-text('b\ufffe')");
  await page.waitForFunction(() => document.querySelector('main textarea')?.value === 'text of it');
  await close(page);
});

test('who asks for the tree after a change has it in the answer, also while an older one is under way', async () => {
  const page = await open();
  let letGo,
    isHeld,
    hasOne = false;
  const isTime = new Promise(resolve => {
      letGo = resolve;
    }),
    holds = new Promise(resolve => {
      isHeld = resolve;
    });
  await page.route('**/api/tree?**', async route => {
    const reply = await route.fetch();
    if (!hasOne) {
      hasOne = true;
      isHeld();
      await isTime;
    }
    await route.fulfill({ response: reply });
  });
  const tree = await page.evaluateHandle(
    () => import(document.querySelector('script[src]').src.replace('shell.js', 'names.js')),
  );
  await tree.evaluate(module => {
    module.refreshTree();
  });
  await holds;
  await makeTable(page, 'Later', ['x'], 1);
  const names = tree.evaluate(module => module.refreshTree().then(() => module.tableNames()));
  await tree.evaluate(() => {}); // it has been asked for by now
  letGo();
  assert.ok((await names).includes('Later'));
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await close(page);
});

test('a key after g that is no second key means what it means alone', async () => {
  const page = await open();
  await go(page, 'server', '.log');
  await page.keyboard.press('g');
  await page.keyboard.press('?');
  await page.waitForSelector('.keys');
  // The second one has all the time that somebody needs.
  await page.clock.install();
  await page.keyboard.press('g');
  await page.clock.runFor(60_000);
  await page.keyboard.press('s');
  await page.waitForSelector('.log');
  await close(page);
});

test('? shows the keys, ? or Esc goes back to where one was, and its grid has the focus', async () => {
  const page = await open();
  await makeTable(page, 'Returned', ['x'], 5);
  for (const key of ['Escape', '?']) {
    await go(page, 't/Returned/rows', '.gr');
    await page.keyboard.press('?');
    await page.waitForSelector('.keys');
    await page.keyboard.press(key);
    await page.waitForFunction(() => document.activeElement?.matches('.grid'));
    assert.equal(await page.evaluate(() => location.hash.split('?')[0]), '#/t/Returned/rows');
  }
  await close(page);
});

test('a dialog goes with the view that it was opened over', async () => {
  const page = await open();
  await makeTable(page, 'Asked', ['x'], 1);
  await go(page, 'account', '.list');
  await go(page, 't/Asked/rows', '.gr');
  await page.click('text=Delete table');
  await page.waitForSelector('dialog');
  await page.goBack();
  await page.waitForSelector("input[aria-label='Filter names of the account']");
  assert.equal(await page.$('dialog'), null);
  await close(page);
});

test('after Go to the grid has the focus, also when it was open already', async () => {
  const page = await open();
  await makeTable(page, 'Focused', ['x'], 5);
  await page.waitForSelector(node('Focused'));
  for (let i = 0; i < 2; i++) {
    await page.focus('.goto');
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.pal input');
    await page.keyboard.type('focused');
    await page.keyboard.press('Enter');
    await page.waitForFunction(
      () => document.activeElement?.matches('.grid') && document.querySelector('.gr'),
    );
  }
  await close(page);
});

test('a key right after Go to is not lost', async () => {
  const page = await open();
  await makeTable(page, 'Quick', ['x'], 1);
  await page.waitForSelector(node('Quick'));
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.pal input');
    await page.keyboard.type('quick');
    await page.keyboard.press('Enter');
    await page.keyboard.press('?');
    await page.waitForFunction(
      () => location.hash === '#/help' && document.querySelector('main').dataset.view === '#/help',
    );
  }
  await close(page);
});
