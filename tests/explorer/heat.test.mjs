// The heat map, over traffic whose minutes the test makes pass.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { ask, before, close, control, go, open, query, test } from './page.mjs';
import { Tables, endpoints } from './service.mjs';

const MINUTES = 11,
  STEPS = 3,
  ROWS = 40,
  READS = 30;
let tables;

/** A log that grows, an entity that everybody reads, and devices that all do the same. */
async function passMinute(minute) {
  for (const device of ['device_1', 'device_2', 'device_3'])
    await tables.put(
      'Activity',
      device,
      Array.from({ length: 10 }, (_, i) => `m${String(i).padStart(3, '0')}`),
    );
  for (let step = 0; step < STEPS; step++) {
    const first = (minute * STEPS + step) * ROWS;
    await tables.put(
      'Activity',
      'log',
      Array.from({ length: ROWS }, (_, i) => `r${String(first + i).padStart(6, '0')}`),
    );
    await Promise.all(
      Array.from({ length: READS }, () => tables.get('Activity', 'counter', 'visits')),
    );
    await control(`/clock/${60_000 / STEPS}`);
  }
}

before(async () => {
  const page = await open();
  tables = new Tables((await endpoints(page)).table);
  await tables.create('Activity');
  await tables.put('Activity', 'counter', ['visits']);
  for (let minute = 0; minute < MINUTES; minute++) await passMinute(minute);
  await close(page);
});

const traffic = async (page, words) =>
  JSON.parse((await ask(page, 'GET', `/traffic?table=Activity&${words}`)).text);
const until = (page, test, value) => page.waitForFunction(test, value);
const drawn = page =>
  page.waitForFunction(
    () => document.querySelector('.hbar .legend') && document.querySelector('.cells').width > 1,
  );
const spoken = (page, words) =>
  until(
    page,
    source => new RegExp(source).test(document.querySelector('#spoken').textContent),
    words.source,
  );
/** The last minutes with traffic, as a zoom. */
async function recent(page, minutes) {
  const { from, slots, grainS } = await traffic(page, 'measure=writes');
  const end = from + slots * grainS;
  return [end - minutes * 60, end];
}

test('patterns are named, numbered and explained, and shares add up', async () => {
  const page = await open();
  await go(page, 't/Activity/heat?m=reads', '.hcard');
  await drawn(page);
  assert.match(
    await page.textContent('.hcards'),
    /Rising diagonal.*Hot line.*Partition 'log' has [78]\d % of the writes.*Hot line.*Entity 'counter' \/ 'visits' has (all|9\d %) of the reads/,
  );
  assert.match(await page.textContent('.hcards'), /which no split can divide/);
  assert.deepEqual(
    await page.$$eval('.hnum', numbers => numbers.map(each => each.textContent)),
    await page.$$eval('.hcards .hcard', cards => cards.map((_, i) => String(i + 1))),
  );
  const { slots, recorded } = await traffic(page, 'measure=reads');
  assert.ok(
    recorded >= MINUTES && slots <= recorded + 1,
    `the map fits its time: ${recorded} of ${slots} slots`,
  );
  assert.equal(
    await page
      .getAttribute(".hcard:has-text('Rising') a", 'href')
      .then(to => new URLSearchParams(to.split('?')[1]).get('open')),
    'append-prepend@devstoreaccount1/Activity',
  );
  const shares = await page.$$eval('.hshares b', all =>
    all.map(each => parseInt(each.textContent, 10)),
  );
  assert.ok(
    shares.length > 1 &&
      Math.abs(shares.reduce((sum, each) => sum + each, 0) - 100) <= shares.length,
    String(shares),
  );
  await page.click(".hcard:has-text('Rising') >> text=Show it");
  await until(
    page,
    () =>
      /[?&]m=writes/.test(location.hash) &&
      document.querySelector('.hbar [aria-pressed=true]')?.textContent === 'Writes',
  );
  await spoken(page, /Pattern 1, Rising diagonal/);
  await page.click('text=How to read this');
  assert.match(await page.textContent('dialog'), /Falling diagonal/);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'How to read this');
  await close(page);
});

test('with the mouse: zoom by a box, pan, zoom by the wheel, pin, all again', async () => {
  const page = await open();
  await page.clock.install();
  await go(page, 't/Activity/heat?m=reads', '.hcard');
  await drawn(page);
  const box = await page.locator('.over').boundingBox(),
    at = (x, y) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(0.5, 0.2));
  await page.waitForSelector('.htip:not([hidden])');
  await page.mouse.down();
  await page.mouse.move(...at(0.98, 0.9), { steps: 4 });
  await page.mouse.up();
  await page.waitForSelector('text=Show all');
  const zoomed = (await query(page)).get('x').split(',').map(Number);
  assert.ok(zoomed[1] - zoomed[0] < MINUTES * 60 * 0.7, `half of the recorded time: ${zoomed}`);
  await page.keyboard.down('Shift');
  await page.mouse.move(...at(0.2, 0.5));
  await page.mouse.down();
  await page.mouse.move(...at(0.6, 0.5), { steps: 4 });
  await page.clock.runFor(1000); // a hand that rests has not let go
  assert.equal((await query(page)).get('x'), zoomed.join(','));
  await page.mouse.move(...at(0.7, 0.5));
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await until(
    page,
    before => !location.hash.includes(encodeURIComponent(before)),
    zoomed.join(','),
  );
  const panned = (await query(page)).get('x').split(',').map(Number);
  assert.ok(panned[0] < zoomed[0], 'what was dragged to the right shows what is earlier');
  assert.ok(
    Math.abs(panned[1] - panned[0] - (zoomed[1] - zoomed[0])) <= 60,
    'a pan keeps the width',
  );
  await page.mouse.wheel(-200, 0);
  await until(
    page,
    before => !location.hash.includes(encodeURIComponent(before)),
    panned.join(','),
  );
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, 400);
  await page.keyboard.up('Control');
  await until(
    page,
    width => {
      const x = new URLSearchParams(location.hash.split('?')[1]).get('x');
      return !x || Number(x.split(',')[1]) - Number(x.split(',')[0]) > width;
    },
    panned[1] - panned[0],
  );
  await page.click("[aria-label='Zoom in']");
  await page.click("[aria-label='Zoom in']");
  await page.waitForSelector('[aria-label=Earlier]');
  await page.click('text=Show all');
  await until(page, () => !/[?&]x=/.test(location.hash));
  await page.mouse.click(...at(0.99, 0.01));
  await until(page, () => /\d/.test(document.querySelector('.hpins dd')?.textContent));
  assert.ok((await query(page)).has('pin'));
  await page.click("[aria-label^='Remove the pin']");
  await until(page, () => !document.querySelector('.hpins .hcard'));
  assert.equal(await page.evaluate(() => document.activeElement.className), 'over');
  await close(page);
});

test('with the keyboard alone: the next pattern, zoom to it, pan, pin, open its entities', async () => {
  const page = await open();
  await go(page, 't/Activity/heat?m=reads', '.hcard');
  await drawn(page);
  for (
    let i = 0;
    i < 60 && (await page.evaluate(() => document.activeElement.className !== 'over'));
    i++
  )
    await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'over');
  await page.keyboard.press('n');
  await spoken(page, /Pattern 3, Hot line: Entity 'counter' . 'visits'/);
  assert.match(await page.textContent('.htip'), /counter \/ visits/);
  await page.keyboard.press('z');
  await until(page, () => /[?&]x=/.test(location.hash));
  await page.waitForSelector('[aria-label=Earlier]');
  const before = (await query(page)).get('x');
  await page.keyboard.press('Control+ArrowLeft');
  await until(
    page,
    was => new URLSearchParams(location.hash.split('?')[1]).get('x') !== was,
    before,
  );
  await page.keyboard.press('Escape');
  await until(page, () => !/[?&]x=/.test(location.hash));
  await page.keyboard.press('n');
  await spoken(page, /Pattern/);
  await page.keyboard.press('Enter');
  await spoken(page, /Pinned .*Reads 90/);
  assert.match(await page.textContent('.hpins'), /Reads(about )?90/);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.gr');
  assert.equal(
    await page.inputValue('#filter'),
    "PartitionKey eq 'counter' and RowKey eq 'visits'",
  );
  await page.goBack();
  await until(page, () => /Reads(about )?90/.test(document.querySelector('.hpins')?.textContent));
  await close(page);
});

test('an address brings back measure, time, keys and pins', async () => {
  const page = await open();
  const [from, to] = await recent(page, 12);
  const view = `t/Activity/heat?m=reads&x=${from},${to}&y=${encodeURIComponent(JSON.stringify([['counter'], ['device_2']]))}&pin=${encodeURIComponent(JSON.stringify([[to - 120, ['counter'], ['device_1']]]))}`;
  await go(page, view, '.hpins dd');
  await drawn(page);
  assert.equal(await page.textContent('.hbar [aria-pressed=true]'), 'Reads');
  await until(page, () => /Reads(about )?90/.test(document.querySelector('.hpins')?.textContent));
  assert.match(await page.textContent('.hkeys span:last-child'), /device_1|counter/);
  for (const bad of [
    'x=9,3',
    'x=a,b',
    'y=%5B',
    'y=7',
    'pin=%7B%7D',
    'pin=%5B%5B1%5D%5D',
    'm=x&g=y&than=z',
  ]) {
    await go(page, `t/Activity/heat?${bad}`, '.hcards');
    await drawn(page);
  }
  await close(page);
});

test('two periods are compared: more, less and the same are told apart', async () => {
  const page = await open();
  const [from, to] = await recent(page, 5);
  await go(page, `t/Activity/heat?x=${from},${to}`, '.hbar .legend');
  await drawn(page);
  await page.selectOption("select[aria-label='Compare with']", 'previous');
  await page.waitForSelector(".legend:has-text('less')");
  assert.equal((await query(page)).get('than'), 'previous');
  const colours = await page.evaluate(() => {
    const { width, height } = document.querySelector('.cells'),
      pixels = document
        .querySelector('.cells')
        .getContext('2d')
        .getImageData(0, 0, width, height).data;
    let more = 0,
      less = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      if (pixels[i] > pixels[i + 2] + 40) more++;
      else if (pixels[i + 2] > pixels[i] + 40) less++;
    }
    return { more, less };
  });
  assert.ok(
    colours.more > 0 && colours.less > 0,
    `the log has moved on: ${JSON.stringify(colours)}`,
  );
  await page.focus('.over');
  await page.keyboard.press('ArrowLeft');
  await spoken(page, /earlier: [+−]/);
  await close(page);
});

test('what has come meanwhile is drawn, and a table says the same as the map', async () => {
  const page = await open();
  await go(page, 't/Activity/heat?as=table', '.heat tbody td');
  const sum = rows => rows.reduce((all, row) => all + Number(row.replace(/,/g, '')), 0);
  const column = () =>
    page.$$eval('.heat tbody td:nth-child(3)', cells => cells.map(cell => cell.textContent));
  const { cells, buckets } = await traffic(page, 'measure=writes&buckets=1024');
  const sums = Array.from({ length: buckets }, (_, bucket) =>
    cells.reduce((all, slot) => all + slot[bucket], 0),
  );
  const exact = sums
    .sort((a, b) => b - a)
    .slice(0, 100)
    .reduce((all, each) => all + each, 0);
  const shown = sum(await column());
  assert.ok(Math.abs(shown - exact) < exact * 0.05, `${shown} of ${exact}`);
  await passMinute(MINUTES);
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await until(
    page,
    least =>
      [...document.querySelectorAll('.heat tbody td:nth-child(3)')].reduce(
        (all, cell) => all + Number(cell.textContent.replace(/,/g, '')),
        0,
      ) > least,
    shown + (STEPS * ROWS) / 2,
  );
  await close(page);
});

/** The bytes of an answer: `cells` are codes, slot by slot. */
function heatBytes({ slots, buckets, cells, ...more }) {
  const keys = Array.from({ length: buckets }, (_, i) => [
    i ? `k${String(i).padStart(4, '0')}` : '',
  ]);
  const head = Buffer.from(
    JSON.stringify({
      account: 'devstoreaccount1',
      table: 'Activity',
      m: 'writes',
      grainS: 60,
      from: 1_790_000_040,
      slots,
      recorded: slots,
      buckets,
      max: 1000,
      approx: false,
      keys,
      findings: [],
      ...more,
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return Buffer.concat([Buffer.from('TVH1'), length, head, Buffer.from(cells)]);
}

test('a line one bucket thin is seen in a small window and in a large one', async () => {
  const slots = 360,
    buckets = 1024,
    cells = new Uint8Array(slots * buckets);
  for (let slot = 0; slot < slots; slot++) cells[slot * buckets + 700] = 255;
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ]) {
    const page = await open({ width, height });
    await page.route('**/traffic?**', route =>
      route.fulfill({
        body: heatBytes({ slots, buckets, cells }),
        contentType: 'application/octet-stream',
      }),
    );
    await go(page, 't/Activity/heat', '.hcards');
    await drawn(page);
    const hot = await page.evaluate(() => {
      const canvas = document.querySelector('.cells'),
        pixels = canvas
          .getContext('2d')
          .getImageData(Math.floor(canvas.width / 2), 0, 1, canvas.height).data;
      return [...Array(canvas.height).keys()]
        .filter(y => pixels[y * 4] < 60 && pixels[y * 4 + 1] < 60)
        .map(y => 1 - y / canvas.height);
    });
    assert.ok(hot.length >= 1 && Math.abs(hot[0] - 700 / 1024) < 0.02, `${width}: ${hot}`);
    await close(page);
  }
});

test("a cluster's ranges, their nodes and splits are drawn, and can be left out", async () => {
  const recorded = JSON.parse(await fs.readFile(new URL('cluster.json', import.meta.url), 'utf8')); // an answer of a real one: two nodes, three splits
  const slots = 100,
    keys = [[''], ...Array.from({ length: 60 }, (_, i) => [`p${String(i).padStart(3, '0')}`])],
    buckets = keys.length,
    cells = new Uint8Array(slots * buckets).fill(100);
  const from = Math.floor(recorded.history[0].at_ms / 60_000) * 60 - 50 * 60; // the splits are in the middle
  const page = await open({ expected: [/willReadFrequently/] });
  await page.route('**/traffic?**', route =>
    route.fulfill({
      body: heatBytes({ slots, buckets, cells, keys, from }),
      contentType: 'application/octet-stream',
    }),
  );
  await page.route('**/cluster', route => route.fulfill({ json: recorded }));
  await page.route('**/api/hello', async route => {
    const reply = await route.fetch();
    await route.fulfill({ json: { ...(await reply.json()), engine: 'rados' } });
  });
  await page.reload();
  await page.waitForSelector('.app');
  await go(page, 't/Activity/heat', 'text=Ranges and splits');
  await until(page, () => document.querySelectorAll('.hshares small').length === 3);
  assert.deepEqual(await page.$$eval('.hshares small', all => all.map(each => each.textContent)), [
    'node 1',
    'node 2',
    'node 1',
  ]);
  // Pixels of the upper layer beside the time of the split, at the first key of a range.
  const inked = key =>
    page.evaluate(
      part => {
        const canvas = document.querySelector('.over'),
          y = Math.round((1 - part) * canvas.height),
          count = (x0, x1) =>
            canvas
              .getContext('2d')
              .getImageData(x0, y - 2, x1 - x0, 4)
              .data.filter((value, i) => i % 4 === 3 && value > 0).length;
        return [count(0, canvas.width * 0.45), count(canvas.width * 0.55, canvas.width * 0.8)];
      },
      keys.findIndex(([text]) => text === key) / buckets,
    );
  for (const key of ['p022', 'p043']) {
    const [before, after] = await inked(key);
    assert.ok(before === 0 && after > 0, `${key}: ${before} before the split, ${after} after it`);
  }
  await page.focus('.hbar input[type=checkbox]');
  await page.keyboard.press('Space');
  await until(page, () => /r=0/.test(location.hash));
  assert.deepEqual(await inked('p022'), [0, 0]);
  assert.equal(await page.evaluate(() => document.activeElement.type), 'checkbox');
  await close(page);
});
