// Advice, over traffic that deserves it, and its cure tried on the trace of that traffic.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ask, before, close, control, eventually, go, open, query, test } from './page.mjs';
import { Tables, endpoints } from './service.mjs';

const PARTITIONS = 4,
  ROWS = 100;
let at;

before(async () => {
  const page = await open();
  at = await endpoints(page);
  const tables = new Tables(at.table);
  await tables.create('People');
  for (let p = 0; p < PARTITIONS; p++)
    await tables.put(
      'People',
      `p${p}`,
      Array.from({ length: ROWS }, (_, i) => ({
        row: `r${String(i).padStart(3, '0')}`,
        Email: `u${p * ROWS + i}@x.org`,
      })),
    );
  for (let i = 0; i < 20; i++) {
    await tables.query('People', `Email eq 'u${i * 17}@x.org'`);
    await control('/clock/1000');
  }
  for (let i = 0; i < 6; i++) await control('/clock/10000'); // judged twice, and the minute is over
  await close(page);
});

const card = ".finding:has-text('reads the whole table')";

test('with the mouse: evidence, before and after, code in four languages, the map', async () => {
  const page = await open();
  await go(page, 'advice', card);
  await page.click(`${card} .cbtn`);
  await page.waitForSelector('.beforeafter');
  assert.match(
    await page.textContent('.beforeafter'),
    /Table scan.*400 entities read by a query.*Point query.*about 1 entity read by a query/s,
  );
  assert.match(
    await page.textContent('.finding .two section'),
    /^SeenIn the \d+ \w+ to \d\d:\d\d UTC, 20 queries read 400 entities each and returned 1, on average; /,
  );
  assert.match(await page.textContent('.keymap'), /Email eq .*\{Email\}/s);
  for (const language of ['C', 'Python', 'C#', 'JavaScript']) {
    await page.click(`.finding .seg >> text="${language}"`);
    assert.match(
      await page.textContent('.finding .code:not(.whatif) pre'),
      {
        C: /tavola_insert\(table, copy, NULL\)/,
        Python: /table\.create_entity\(copy\)/,
        'C#': /table\.AddEntityAsync\(copy\)/,
        JavaScript: /table\.createEntity\(copy\)/,
      }[language],
    );
  }
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'JavaScript');
  await page.click('text=Show on the map');
  await page.waitForSelector('.hbar .legend');
  assert.equal(await page.textContent('.hbar [aria-pressed=true]'), 'Scanned');
  const [from, to] = (await query(page)).get('x').split(',').map(Number),
    traffic = JSON.parse(
      (await ask(page, 'GET', `/traffic?table=People&measure=scanned&from=${from}&to=${to}`)).text,
    );
  assert.ok(
    traffic.cells.flat().reduce((sum, each) => sum + each, 0) >= 20 * PARTITIONS * ROWS,
    'the scans are in the time that the map shows',
  );
  await close(page);
});

test('the command that the page shows replays the trace, and finds what the page said', async () => {
  const page = await open();
  await go(page, 't/People/advice', card);
  await page.click(`${card} .cbtn`);
  const command = (await page.textContent('.whatif pre')).trim();
  await page.click(".whatif button[aria-label='Copy Command']");
  await eventually(async () =>
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command),
  );
  assert.match(command, /^tavola whatif run\.trace --table People --copy 'PartitionKey=/);
  const connection = `DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;TableEndpoint=${at.table};`;
  const shell =
    command.replace(/^tavola/, '"$TAVOLA"').replace('run.trace', '"$EXPLORER_TEST_TRACE"') +
    ' --output json';
  const { stdout } = await promisify(execFile)('sh', ['-c', shell], {
    env: { ...process.env, AZURE_STORAGE_CONNECTION_STRING: connection },
  });
  const rows = [JSON.parse(stdout)].flat(),
    shape = rows.find(row => JSON.stringify(row).includes('Email eq'));
  assert.ok(shape, stdout);
  assert.match(JSON.stringify(shape), /table.*point/i, stdout);
  await close(page);
});

test('with the keyboard alone: open, read, mute, show again, and focus is never lost', async () => {
  const page = await open();
  await go(page, 'advice', card);
  const isOn = selector =>
    page.evaluate(wanted => document.activeElement?.matches(wanted), selector);
  const tabTo = async selector => {
    for (let i = 0; i < 80; i++) {
      if (await isOn(selector)) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not come to ${selector}`);
  };
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.cbtn')].some(each =>
      /reads the whole table/.test(each.textContent),
    ),
  );
  const wanted = await page.$$eval(
    '.cbtn',
    all => all.findIndex(each => /reads the whole table/.test(each.textContent)) + 1,
  );
  await tabTo(`.finding:nth-of-type(${wanted}) .cbtn`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.beforeafter');
  assert.ok(await isOn('.cbtn[aria-expanded=true]'));
  await tabTo('.whatif button');
  await tabTo('.finding a.btn');
  await tabTo('.finding .btn.quiet:not(.small)');
  await page.keyboard.press('Enter');
  await page.waitForSelector(".finding .chip:has-text('ignored')");
  await page.waitForFunction(() => document.activeElement?.matches('.cbtn'));
  await tabTo('.finding .btn.quiet:not(.small)');
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    () => !document.querySelector('.finding.open .chip')?.textContent.includes('ignored'),
  );
  await page.waitForFunction(() => document.activeElement?.matches('.cbtn'));
  await tabTo('.cbtn[aria-expanded=true]');
  await page.keyboard.press('Enter');
  assert.ok(await isOn('.cbtn[aria-expanded=false]'));
  await close(page);
});

test('advice that is asked for again leaves focus where it is', async () => {
  const page = await open();
  await page.clock.install(); // before the view, whose seconds it counts
  await go(page, 'advice', card);
  await page.focus(`${card} .cbtn`);
  await page.evaluate(() => {
    document.activeElement.dataset.old = '1';
  });
  const [again] = await Promise.all([page.waitForRequest(/\/advice\?/), page.clock.runFor(10_000)]);
  await (await again.response()).finished();
  await page.waitForFunction(
    () =>
      document.activeElement.matches('.cbtn:not([data-old])') &&
      /reads the whole table/.test(document.activeElement.textContent),
  );
  await close(page);
});
