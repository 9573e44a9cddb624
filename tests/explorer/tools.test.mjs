// Batches, signatures, policies, blobs, the server's charts.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { ask, close, go, makeTable, open, tablePath, test, toastSays } from './page.mjs';

test('a batch is sent whole, and its rules are shown while it is made', async () => {
  const page = await open();
  await makeTable(page, 'Batches', ['x'], 1);
  await go(page, 't/Batches/batch', '.op');
  await page.fill('.op input[aria-label=PartitionKey]', 'p');
  await page.fill('.op input[aria-label=RowKey]', '1');
  await page.fill('.op textarea', 'Name=Ada\nAge:Int32=36');
  await page.click('text=Add an operation');
  await page.fill('.op:nth-child(2) input[aria-label=PartitionKey]', 'q');
  await page.fill('.op:nth-child(2) input[aria-label=RowKey]', '2');
  assert.match(await page.textContent('.op:nth-child(2)'), /All operations have one PartitionKey/);
  assert.equal(await page.isDisabled('text=Send the batch'), true);
  await page.fill('.op:nth-child(2) input[aria-label=PartitionKey]', 'p');
  await page.click('text=Send the batch');
  await toastSays(page, /2 operations done/);
  const stored = JSON.parse(
    (await ask(page, 'GET', tablePath("Batches(PartitionKey='p',RowKey='1')"))).text,
  );
  assert.deepEqual([stored.Name, stored.Age], ['Ada', 36]);
  await close(page);
});

test('a batch is made and sent with the keyboard alone, and its limits are shown', async () => {
  const page = await open();
  await makeTable(page, 'Typist', ['x'], 1);
  await go(page, 't/Typist/batch', '.op');
  assert.equal(
    await page.evaluate(() => document.activeElement.closest('.op, main') !== null),
    true,
  );
  await page.focus('.op input[aria-label=PartitionKey]');
  for (const text of ['p', '1', 'Name=Ada']) {
    await page.keyboard.type(text);
    await page.keyboard.press('Tab');
    if (text === '1') await page.keyboard.press('Tab');
  }
  await page.focus('text=Add an operation');
  await page.keyboard.press('Enter');
  await page.focus('.op:nth-child(2) input[aria-label=RowKey]');
  await page.keyboard.type('1');
  assert.match(await page.textContent('.op:nth-child(2)'), /An entity can be in a batch once/);
  await page.keyboard.type('1');
  await page.focus('text=Send the batch');
  await page.keyboard.press('Enter');
  await toastSays(page, /2 operations done/);
  assert.equal(
    JSON.parse((await ask(page, 'GET', tablePath("Typist(PartitionKey='p',RowKey='11')"))).text)
      .Name,
    'Ada',
  );
  // 101 operations, then more than 4 MiB.
  await page.evaluate(() => {
    for (let i = 0; i < 101; i++)
      [...document.querySelectorAll('button')]
        .find(each => /Add an operation/.test(each.textContent))
        .click();
  });
  assert.match(await page.textContent('.meters'), /101 of 100 operations/);
  assert.match(await page.textContent('.op:nth-child(101)'), /this is number 101/);
  assert.equal(await page.isDisabled('text=Send the batch'), true);
  await page.evaluate(() => {
    const lines = Array.from({ length: 15 }, (_, i) => `P${i}=${'\u20ac'.repeat(32000)}`).join(
      '\n',
    );
    for (const field of [...document.querySelectorAll('.op textarea')].slice(0, 3)) {
      field.value = lines;
      field.dispatchEvent(new Event('input'));
    }
  });
  assert.match(await page.textContent('.meters .bad:nth-child(2)'), /of 4 MiB/);
  await close(page);
});

test('a signature that the page makes opens exactly what it says', async () => {
  const page = await open();
  await makeTable(page, 'Shared', ['x'], 2);
  await go(page, 'sas?t=Shared', '.sasout pre');
  const url = (await page.textContent('.sasout pre')).trim();
  const read = await fetch(url.replace('?', '()?'), { headers: { accept: 'application/json' } });
  assert.equal(read.status, 200, await read.text());
  const remove = await fetch(url.replace('?', "(PartitionKey='x',RowKey='r00000')?"), {
    method: 'DELETE',
    headers: { 'if-match': '*' },
  });
  assert.equal(remove.status, 403);
  await go(page, 'sas/explain', '.putbox');
  await page.fill('.putbox textarea', url);
  await page.waitForSelector('text=The signature is right.');
  await page.fill('.putbox input', "DELETE /Shared(PartitionKey='x',RowKey='r00000')");
  await page.waitForSelector('text=DELETE needs d, and the SAS has r.');
  await page.fill('.putbox textarea', url.replace('sp=r', 'sp=rd'));
  await page.waitForSelector('text=The signature does not fit');
  for (const kind of ['Queue', 'Blob', 'Account']) {
    await go(page, 'sas', '.sasform');
    await page.click(`.sasform .seg >> text=${kind}`);
    if (kind !== 'Account')
      await page.fill('.sasform label input', kind === 'Queue' ? 'jobs' : 'photos');
    await page.waitForSelector('.sasout pre');
  }
  await close(page);
});

test('policies of a table are kept', async () => {
  const page = await open();
  await makeTable(page, 'Policies', ['x'], 1);
  await go(page, 't/Policies/access', '.list');
  await page.click('text=Add a policy');
  await page.fill("input[aria-label='Name of policy 1']", 'readers');
  await page.fill("input[aria-label='Expiry of policy 1, UTC']", '2030-01-01T00:00:01');
  await page.click('main >> text=/^Save$/');
  await toastSays(page, /Policies saved/);
  assert.match(
    (
      await ask(page, 'GET', tablePath('Policies?comp=acl'), undefined, {
        'x-ms-version': '2019-02-02',
      })
    ).text,
    /<Id>readers<\/Id>.*2030-01-01/,
  );
  await close(page);
});

test('a blob is uploaded, looked at and removed; a page that is stored does not run', async () => {
  const page = await open();
  await ask(page, 'PUT', '/api/blob/devstoreaccount1/files?restype=container');
  await go(page, 'c/files', '.pad');
  let ran = false;
  page.on('dialog', dialog => {
    ran = true;
    dialog.dismiss();
  });
  await page.setInputFiles('input[type=file]', [
    { name: 'evil.html', mimeType: 'text/html', buffer: Buffer.from('<script>alert(1)</script>') },
    { name: 'big.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(5 << 20, 7) },
  ]);
  await page.waitForSelector(".list a:text-is('big.bin')"); // in the list: the progress and a toast name them before
  await page.click(".list a:text-is('evil.html')");
  await page.waitForSelector('textarea.text');
  assert.equal(await page.inputValue('textarea.text'), '<script>alert(1)</script>');
  await page.goBack();
  await page.waitForSelector(".list a:text-is('big.bin')");
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click("button[aria-label='Download big.bin']"),
  ]);
  assert.equal((await fs.stat(await download.path())).size, 5 << 20);
  await page.click("button[aria-label='Delete evil.html']");
  await page.click('dialog .danger');
  await page.waitForFunction(
    () => !/evil\.html/.test(document.querySelector('.list')?.textContent || ''),
  );
  assert.equal(ran, false);
  await close(page);
});

test('what is uploaded has the content type of its name, or of its bytes', async () => {
  const page = await open();
  await ask(page, 'PUT', '/api/blob/devstoreaccount1/typed?restype=container');
  await go(page, 'c/typed', '.pad');
  const text = Buffer.from('a line\n'),
    bytes = Buffer.from([0, 1, 2, 255]);
  // The browser is told no type, as it is of endings that its system does not know.
  const wanted = {
    'notes.md': [text, 'text/markdown'],
    'rows.NDJSON': [text, 'application/x-ndjson'],
    'photo.png': [bytes, 'image/png'],
    Makefile: [text, 'text/plain; charset=utf-8'],
    'cut.log': [Buffer.from('\u00e4'.repeat(2047) + 'x\u00e4\u00e4'), 'text/plain; charset=utf-8'],
    'core.0': [bytes, 'application/octet-stream'],
    'latin.odd': [Buffer.from([0x66, 0xfc, 0x72]), 'application/octet-stream'],
    'big.csv': [Buffer.alloc(5 << 20, 65), 'text/csv'],
    constructor: [text, 'text/plain; charset=utf-8'],
    'a.constructor': [text, 'text/plain; charset=utf-8'],
  };
  await page.evaluate(
    list => {
      const given = new DataTransfer();
      for (const [name, base64] of list)
        given.items.add(new File([Uint8Array.from(atob(base64), c => c.charCodeAt(0))], name));
      given.items.add(new File(['{}'], 'told.bin', { type: 'application/json' }));
      document
        .querySelector('main .pad')
        .dispatchEvent(
          new DragEvent('drop', { dataTransfer: given, bubbles: true, cancelable: true }),
        );
    },
    Object.entries(wanted).map(([name, [data]]) => [name, data.toString('base64')]),
  );
  await page.waitForSelector(".list a:text-is('told.bin')");
  const stored = await page.evaluate(
    async names =>
      Object.fromEntries(
        await Promise.all(
          names.map(async name => {
            const { service, blobPath } = await import(
              document.querySelector('script[src]').src.replace('shell.js', 'api.js')
            );
            return [
              name,
              (await service('HEAD', blobPath(`/typed/${name}`))).headers.get('content-type'),
            ];
          }),
        ),
      ),
    [...Object.keys(wanted), 'told.bin'],
  );
  assert.deepEqual(stored, {
    ...Object.fromEntries(Object.entries(wanted).map(([name, [, type]]) => [name, type])),
    'told.bin': 'application/json',
  });
  await close(page);
});

test("the server's charts move", async () => {
  const page = await open();
  await go(page, 'server', '.chart');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.chart path.line')].some(line =>
      line.getAttribute('d')?.includes('L'),
    ),
  );
  await page.click('text=Pause');
  await page.waitForSelector('text=Go on');
  await close(page);
});

test('everything has a name in Go to', async () => {
  const page = await open();
  await makeTable(page, 'Findme', ['x'], 1);
  await page.reload();
  await page.waitForSelector("#tree a:has-text('Findme')");
  await page.keyboard.press('Control+k');
  await page.waitForSelector('.pal input');
  await page.keyboard.type('fndm');
  await page.waitForSelector(".pal li:has-text('Findme')");
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('main h1')?.textContent === 'Findme');
  await page.waitForSelector('.status b');
  await page.keyboard.press('?');
  await page.waitForSelector('.keys');
  await page.keyboard.press('d');
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
  await close(page);
});
