// Import and export: the tool's bytes, progress, Stop, bad lines, and going on after a failure.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import {
  ask,
  base,
  close,
  go,
  importTable,
  makeTable,
  open,
  tablePath,
  test,
  tool,
} from './page.mjs';

// Every type, keys of every script, what CSV has to quote, formulas, one name with two types.
const ALL = [
  { PartitionKey: "it's", RowKey: '100% %2F', Text: 'a,"b"\r\nc', N: 1 },
  { PartitionKey: '\u05e9\u05dc\u05d5\u05dd', RowKey: '\u65e5\u672c\u8a9e', Text: '', N: 'two' },
  {
    PartitionKey: '\ud83d\ude00',
    RowKey: '',
    Text: ' edges ',
    'N@odata.type': 'Edm.Int64',
    N: '9223372036854775807',
  },
  {
    PartitionKey: 'a',
    RowKey: '1',
    Text: '=cmd()',
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
  },
  {
    PartitionKey: 'a',
    RowKey: '2',
    Text: 'x'.repeat(32768),
    ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`P${i}`, i])),
  },
];

const download = async (page, act) => {
  const [file] = await Promise.all([page.waitForEvent('download'), act()]);
  return { name: file.suggestedFilename(), text: await fs.readFile(await file.path(), 'utf8') };
};

for (const how of ['mouse', 'keyboard']) {
  test(`an export has the bytes of the tool's, and is imported again, with the ${how}`, async () => {
    const page = await open();
    const source = `Source${how}`;
    await importTable(source, ALL);
    for (const [format, ending] of [
      ['csv', 'typed.csv'],
      ['ndjson', 'ndjson'],
    ]) {
      for (const filter of ['', "PartitionKey eq 'a'"]) {
        await go(page, 'start', '.ends');
        await go(page, `t/${source}/io?f=${encodeURIComponent(filter)}`, '.io');
        await page.selectOption('select[aria-label=Format]', format);
        const { name, text } = await download(page, () =>
          how === 'mouse'
            ? page.click('.io >> text=/^Export$/ >> nth=-1')
            : page.press('input[aria-label="Filter of the export"]', 'Enter'),
        );
        assert.equal(name, `${source}.${ending}`);
        const wanted = await tool([
          'export',
          source,
          '-',
          '-o',
          format === 'csv' ? 'typed-csv' : 'ndjson',
          ...(filter ? ['--where', filter] : []),
        ]);
        assert.ok(
          text === wanted,
          `differs from character ${Array.from({ length: text.length }, (_, i) => i).find(i => text[i] !== wanted[i])} on`,
        );
        if (filter) continue;
        const copy = `Copy${how}${format}`;
        await ask(page, 'POST', tablePath('Tables'), JSON.stringify({ TableName: copy }));
        await go(page, `t/${copy}/io`, '.io');
        await page.waitForFunction(
          wanted => document.querySelector('main h1')?.textContent === wanted,
          copy,
        );
        await page.setInputFiles('input[type=file]', {
          name,
          mimeType: 'text/plain',
          buffer: Buffer.from(text),
        });
        await page.waitForSelector('.io table');
        if (how === 'mouse') await page.click('.io >> text=/^Import$/ >> nth=-1');
        else {
          await page.focus('input[type=file]');
          for (let i = 0; i < 2; i++) await page.keyboard.press('Tab');
          await page.keyboard.press('Enter');
        }
        await page.waitForSelector(`text=${ALL.length} entities imported`);
        assert.ok(
          (await tool(['export', copy, '-', '-o', 'ndjson'])) ===
            (await tool(['export', source, '-', '-o', 'ndjson'])),
          'the copy differs',
        );
      }
    }
    await close(page);
  });
}

test('an export that is stopped saves nothing, and leaves nothing behind', async () => {
  const page = await open();
  await importTable(
    'Halted',
    Array.from({ length: 5000 }, (_, i) => ({
      PartitionKey: 'p',
      RowKey: String(i).padStart(6, '0'),
    })),
  );
  await go(page, 't/Halted/io', '.io');
  let isSaved = false;
  page.on('download', () => {
    isSaved = true;
  });
  // The third page does not come before the button is pressed.
  let pages = 0;
  await page.route(/Halted\(\)/, async route => {
    if (++pages === 3) await page.click('.io >> text=/^Stop$/');
    await route.continue().catch(() => {});
  });
  await page.click('.io >> text=/^Export$/ >> nth=-1');
  await page.waitForSelector('text=Stopped. Nothing was saved.');
  assert.equal(
    await page.evaluate(async () => {
      let count = 0;
      for await (const name of (await navigator.storage.getDirectory()).keys())
        count += name.startsWith('export-');
      return count;
    }),
    0,
  );
  assert.equal(isSaved, false);
  await close(page);
});

/** What happens to an entity that is there already. */
const onConflict = (page, how) =>
  page.selectOption("select[aria-label='When an entity is there already']", how);

const LINES = 2500;
const csv = () =>
  'PartitionKey,RowKey,N:Int32\n' +
  Array.from(
    { length: LINES },
    (_, i) => `p${i % 3},${String(i).padStart(6, '0')},${i === 40 ? 'bad' : i}\n`,
  )
    .sort()
    .join('');
const countOf = async table =>
  Number((await tool(['query', table, '-o', 'ndjson'])).split('\n').length - 1);

test('an import whose server goes away goes on where it was, also in another page', async () => {
  const page = await open({ expected: [/Failed to fetch|ERR_|Failed to load/] });
  await ask(page, 'POST', tablePath('Tables'), JSON.stringify({ TableName: 'Resumed' }));
  const name = `/tmp/tavola-explorer-${process.pid}-people.csv`;
  await fs.writeFile(name, csv());
  await go(page, 't/Resumed/io', '.io');
  await page.setInputFiles('input[type=file]', name);
  await page.waitForSelector('.io table');
  await onConflict(page, 'upsert');
  let batches = 0;
  await page.route(/\$batch/, route => (++batches > 8 ? route.abort() : route.continue()));
  await page.click('.io >> text=/^Import$/ >> nth=-1');
  await page.waitForSelector('text=/Go on from line/');
  const line = Number(
    /Go on from line ([\d,]+)/.exec(await page.textContent('.io:nth-child(2)'))[1].replace(',', ''),
  );
  assert.ok(line > 300 && line <= LINES, `line ${line}`);
  await page.close();
  const again = await page.context().newPage();
  await again.goto(`${base}/#/t/Resumed/io`);
  await again.waitForSelector('.io');
  await again.setInputFiles('input[type=file]', name);
  await again.waitForSelector('text=/Go on from line/');
  let resent = 0;
  again.on('request', request => {
    if (request.url().includes('$batch'))
      resent += (request.postData().match(/^PUT /gm) || []).length;
  });
  await again.focus('text=/Go on from line/');
  await again.keyboard.press('Enter');
  await again.waitForSelector(
    `text=${(LINES - 1).toLocaleString('en-US')} entities imported, 1 bad line`,
  );
  assert.ok(resent <= LINES - line + 2, `${resent} entities were sent again from line ${line} on`);
  assert.equal(await countOf('Resumed'), LINES - 1);
  const bad = await download(again, () => again.click('text=Save the bad lines'));
  assert.equal(bad.text, 'PartitionKey,RowKey,N:Int32\np1,000040,bad\n');
  assert.equal(await again.$('text=/Go on from line/'), null);
  await fs.rm(name);
  await again.context().close();
});

test('an import is stopped, and goes on', async () => {
  const page = await open();
  await ask(page, 'POST', tablePath('Tables'), JSON.stringify({ TableName: 'Paused' }));
  await go(page, 't/Paused/io', '.io');
  await page.setInputFiles('input[type=file]', {
    name: 'people.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(csv()),
  });
  await page.waitForSelector('.io table');
  let batches = 0;
  await page.route(/\$batch/, async route => {
    if (++batches === 5) await page.click('.io >> text=/^Stop$/');
    await route.continue();
  });
  await page.click('.io >> text=/^Import$/ >> nth=-1');
  await page.waitForSelector('text=/Stopped after line/');
  const first = await countOf('Paused');
  assert.ok(first > 0 && first < LINES - 1, `${first} entities`);
  await page.click('text=/Go on from line/');
  await page.waitForSelector(
    `text=${(LINES - 1).toLocaleString('en-US')} entities imported, 1 bad line`,
  );
  assert.equal(await countOf('Paused'), LINES - 1);
  await close(page);
});

test('an entity that stands twice in a file is as its last line says', async () => {
  const page = await open();
  await ask(page, 'POST', tablePath('Tables'), JSON.stringify({ TableName: 'Twice' }));
  await go(page, 't/Twice/io', '.io');
  const lines = Array.from(
    { length: 1500 },
    (_, i) => `p,${String(i % 250).padStart(4, '0')},${i}`,
  );
  await page.setInputFiles('input[type=file]', {
    name: 'twice.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`PartitionKey,RowKey,N:Int32\n${lines.join('\n')}\n`),
  });
  await page.waitForSelector('.io table');
  await onConflict(page, 'upsert');
  await page.click('.io >> text=/^Import$/ >> nth=-1');
  await page.waitForSelector('text=1,500 entities imported');
  const stored = (await tool(['query', 'Twice', '-o', 'ndjson']))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  assert.deepEqual(
    stored.map(each => each.N),
    Array.from({ length: 250 }, (_, i) => 1250 + i),
  );
  await close(page);
});

test('bad lines of an import are named and can be saved', async () => {
  const page = await open();
  await makeTable(page, 'Lines', ['x'], 1);
  await go(page, 't/Lines/io', '.io');
  await page.setInputFiles('input[type=file]', {
    name: 'people.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('PartitionKey,RowKey,Age:Int32\np,1,3\np,2\np,3,old\np,4,5\n'),
  });
  await page.waitForSelector('.io table');
  await page.click('.io >> text=/^Import$/ >> nth=-1');
  await page.waitForSelector('text=2 entities imported, 2 bad lines');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click('text=Save the bad lines'),
  ]);
  assert.equal(download.suggestedFilename(), 'people.bad.csv');
  assert.equal(
    await fs.readFile(await download.path(), 'utf8'),
    'PartitionKey,RowKey,Age:Int32\np,2\np,3,old\n',
  );
  const [errors] = await Promise.all([
    page.waitForEvent('download'),
    page.click('text=Save what is wrong with them'),
  ]);
  assert.deepEqual(
    (await fs.readFile(await errors.path(), 'utf8'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).line),
    [3, 4],
  );
  await close(page);
});

const give = async (page, table, name, text) => {
  await go(page, 'start', '.ends');
  await go(page, `t/${table}/io`, '.io');
  await page.setInputFiles('input[type=file]', {
    name,
    mimeType: 'text/csv',
    buffer: Buffer.from(text),
  });
  await page.waitForSelector('.io table');
};

test("a CSV without types: they are asked for, what was found is offered, and the table's own come first", async () => {
  const page = await open();
  await importTable('Guessed', [
    { PartitionKey: 'a', RowKey: '0', 'Big@odata.type': 'Edm.Int64', Big: '1' },
  ]);
  const text =
    'PartitionKey,RowKey,N,Big,Wide,Real,Flag,When,Id,Post,Mixed,Empty\n' +
    'p,1,1,1,9000000000,1.5,true,2026-01-02T03:04:05Z,09da6455-213d-42c9-9a79-3e9149a57833,01234,1,\np,2,-7,2,2,2,false,2026-01-02T03:04:05.5Z,c9da6455-213d-42c9-9a79-3e9149a57833,99999,one,\n';
  await give(page, 'Guessed', 'plain.csv', text);
  const offered = await page.$$eval('[aria-label=Types] select', all =>
    Object.fromEntries(
      all.map(each => [
        each.getAttribute('aria-label').replace('Type of ', ''),
        each.value.replace('Edm.', ''),
      ]),
    ),
  );
  assert.deepEqual(offered, {
    N: 'Int32',
    Big: 'Int64',
    Wide: 'Int64',
    Real: 'Double',
    Flag: 'Boolean',
    When: 'DateTime',
    Id: 'Guid',
    Post: 'String',
    Mixed: 'String',
    Empty: 'String',
  });
  assert.match(await page.textContent("[aria-label=Types] tr:has-text('Big')"), /as in the table/);
  await page.selectOption("[aria-label='Type of Real']", 'Edm.String');
  await page.click('text=Import with these types');
  await page.waitForSelector('text=2 entities imported');
  const [, first] = (await tool(['query', 'Guessed', '-o', 'ndjson']))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .sort((a, b) => a.RowKey - b.RowKey);
  assert.deepEqual(
    [
      first.N,
      first['Big@odata.type'],
      first['Wide@odata.type'],
      first.Real,
      first.Flag,
      first['When@odata.type'],
      first['Id@odata.type'],
      first.Post,
      'Empty' in first,
    ],
    [1, 'Edm.Int64', 'Edm.Int64', '1.5', true, 'Edm.DateTime', 'Edm.Guid', '01234', false],
  );
  // What says its types is not asked about.
  await give(page, 'Guessed', 'typed.csv', 'PartitionKey,RowKey,N:Int32\np,9,1\n');
  assert.equal(await page.$('[aria-label=Types]'), null);
  await close(page);
});

test('a value that a chosen type does not have is a bad line', async () => {
  const page = await open();
  await ask(page, 'POST', tablePath('Tables'), JSON.stringify({ TableName: 'Later' }));
  await give(
    page,
    'Later',
    'plain.csv',
    `PartitionKey,RowKey,N\n${Array.from({ length: 1500 }, (_, i) => `p,${String(i).padStart(5, '0')},${i === 1200 ? 'none' : i}`).join('\n')}\n`,
  );
  await page.click('text=Import with these types');
  await page.waitForSelector('text=1,499 entities imported, 1 bad line');
  assert.match(await page.textContent('.io:nth-child(2)'), /Line 1,202 N: "none" is not an Int32/);
  await close(page);
});

test('an entity that is there is a bad line, unless somebody says otherwise', async () => {
  const page = await open({ expected: [/409/] });
  await importTable('There', [{ PartitionKey: 'p', RowKey: '1', N: 1 }]);
  const stored = async () =>
    JSON.parse((await tool(['query', 'There', '--where', "RowKey eq '1'", '-o', 'ndjson'])).trim())
      .N;
  for (const [how, words, n] of [
    ['fail', '1 entity imported, 1 bad line', 1],
    ['insert', '0 entities imported, 2 were there already', 1],
    ['upsert', '2 entities imported', 7],
  ]) {
    await give(page, 'There', 'people.csv', 'PartitionKey,RowKey,N:Int32\np,1,7\np,2,8\n');
    if (how !== 'fail') await onConflict(page, how);
    await page.click('.io >> text=/^Import$/ >> nth=-1');
    await page.waitForSelector(`text=${words}`);
    assert.equal(await stored(), n);
  }
  await close(page);
});

test('text that a spreadsheet would run is guarded when that is asked for', async () => {
  const page = await open();
  await makeTable(page, 'Formula', ['x'], 1, () => ({ Name: '=cmd()' }));
  for (const guarded of [false, true]) {
    await go(page, 'start', '.ends');
    await go(page, 't/Formula/io', '.io');
    if (guarded) await page.check('.io input[type=checkbox] >> nth=0');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('.io >> text=/^Export$/ >> nth=-1'),
    ]);
    const text = await fs.readFile(await download.path(), 'utf8');
    assert.equal(/(^|,)=cmd/m.test(text), !guarded, text);
  }
  await close(page);
});
