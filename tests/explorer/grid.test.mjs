// The grid over many rows and columns: places, memory, order and width of columns.

import assert from 'node:assert/strict';
import {
  ask,
  before,
  close,
  dialogIsGone,
  eventually,
  go,
  importTable,
  makeTable,
  open,
  tablePath,
  test,
} from './page.mjs';

// 40 partitions of very different sizes, so that no place can be guessed by arithmetic.
const SIZES = Array.from({ length: 40 }, (_, i) => 100 + ((i * i * 37) % 2900));
const KEYS = SIZES.flatMap((size, i) =>
  Array.from({ length: size }, (_, j) => [
    `dept-${String(i).padStart(2, '0')}`,
    `emp-${String(j * 3).padStart(6, '0')}`,
  ]),
);
const NUMBER = new Map(KEYS.map((key, i) => [key.join('/'), i]));
before(() =>
  importTable(
    'Many',
    KEYS.map(([PartitionKey, RowKey], i) => ({
      PartitionKey,
      RowKey,
      Name: `name ${i}`,
      Age: i % 90,
    })),
  ),
);

/** The rows in sight, from top to bottom: their keys, or null while one is waited for. */
const inSight = page =>
  page.evaluate(() => {
    const [head, box] = ['.ghg', '.grid'].map(each =>
      document.querySelector(each).getBoundingClientRect(),
    );
    return [...document.querySelectorAll('.gr:not([hidden])')]
      .map(row => ({ box: row.getBoundingClientRect(), row }))
      .filter(each => each.box.top > head.bottom - 2 && each.box.bottom < box.bottom + 2)
      .sort((a, b) => a.box.top - b.box.top)
      .map(({ row }) =>
        row.querySelector('.wait')
          ? null
          : [...row.querySelectorAll('.st1, .st2')].map(cell => cell.textContent).join('/'),
      );
  });

/** Wait until all rows in sight are there: their numbers in the table, which are one after the other. */
async function settled(page) {
  const keys = await eventually(async () => {
    const rows = await inSight(page);
    assert.ok(rows.length >= 10 && rows.every(Boolean), `rows do not come: ${rows}`);
    return rows;
  });
  const numbers = keys.map(key => NUMBER.get(key));
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => numbers[0] + i),
  );
  assert.ok(
    (await page.evaluate(() => document.querySelectorAll('.gr').length)) <= 60,
    'too many rows are in the document',
  );
  return numbers;
}

/** The same, once the first of them is where it should be: the rows of before are there until the next frame. */
const settledAt = (page, isRight) =>
  eventually(async () => {
    const [first] = await settled(page);
    assert.ok(isRight(first), `row ${first}`);
  });

const isCurrent = (page, [partition, row]) =>
  page.waitForFunction(
    key => [...document.querySelectorAll('.gr.cur')].some(each => each.textContent.startsWith(key)),
    partition + row,
  );

/** How many pages of a query are asked for meanwhile. */
async function requests(page, act) {
  let count = 0;
  const listener = request => {
    if (/Many\(\)/.test(request.url()) && !request.headers()['x-tavola-explain']) count++;
  };
  page.on('request', listener);
  await act();
  page.off('request', listener);
  return count;
}

test('with the keyboard: the end, a key, a number, the beginning; each is a few requests away', async () => {
  const page = await open();
  await go(page, 't/Many/rows', '.gr');
  await page.waitForFunction(
    count => document.querySelector('.status')?.textContent.includes(`Row 1 of ${count}`),
    KEYS.length.toLocaleString('en-US'),
  );
  await page.focus('.grid');
  const asked = await requests(page, async () => {
    await page.keyboard.press('End');
    await isCurrent(page, KEYS[KEYS.length - 1]);
    await settledAt(page, first => first > KEYS.length - 100);
    assert.equal((await settled(page)).pop(), KEYS.length - 1);
    for (let i = 0; i < 3; i++) await page.keyboard.press('PageUp');
    await settled(page);
    for (const [fill, number] of [
      [['dept-20', 'emp-0006'], NUMBER.get('dept-20/emp-000600')],
      [['dept-31', ''], NUMBER.get('dept-31/emp-000000')],
      [['dept-07x', ''], NUMBER.get('dept-08/emp-000000')],
      [['zzz', ''], KEYS.length - 1],
    ]) {
      await page.keyboard.press('G');
      await page.waitForSelector('dialog form');
      await page.keyboard.press('Tab');
      await page.keyboard.type(fill[0]);
      await page.keyboard.press('Tab');
      await page.keyboard.type(fill[1]);
      await page.keyboard.press('Enter');
      await isCurrent(page, KEYS[number]);
      await settled(page);
    }
    await page.keyboard.press('G');
    await page.waitForSelector('dialog form');
    await page.keyboard.type('50 %');
    await page.keyboard.press('Enter');
    await page.waitForFunction(
      most => Number(document.querySelector('.gr.cur:not([hidden])')?.dataset.index) < most,
      KEYS.length * 0.7,
    );
    await settledAt(page, first => Math.abs(first / KEYS.length - 0.5) < 0.15);
    for (let i = 0; i < 60; i++) await page.keyboard.press('ArrowUp');
    await settled(page);
  });
  assert.ok(asked < 40, `${asked} pages were asked for`);
  await page.keyboard.press('Home');
  await isCurrent(page, KEYS[0]);
  await settledAt(page, first => first === 0);
  await close(page);
});

test('with the mouse: wheel and thumb', async () => {
  const page = await open();
  await go(page, 't/Many/rows', '.gr');
  await page.waitForFunction(() => /Row 1 of/.test(document.querySelector('.status')?.textContent));
  await page.hover('.grid');
  for (let i = 0; i < 30; i++) await page.mouse.wheel(0, 300);
  await page.waitForFunction(() => document.querySelector('.grid').scrollTop >= 8000);
  await settledAt(page, first => first > 200);
  for (const share of [0.73, 0.2, 0.99, 0.5]) {
    await page.evaluate(part => {
      const grid = document.querySelector('.grid');
      grid.scrollTop = grid.scrollHeight * part;
    }, share);
    await settledAt(page, first => Math.abs(first / KEYS.length - share) < 0.15);
  }
  await page.mouse.wheel(0, -600);
  await settled(page);
  await close(page);
});

test('where rows are taller than any area, a pixel of the wheel is still a pixel', async () => {
  const page = await open();
  await page.evaluate(() => document.documentElement.style.setProperty('--row', '400px'));
  await go(page, 't/Many/rows', '.gr');
  await page.waitForFunction(() => document.querySelector('.gspace').offsetHeight === 8e6);
  const isOnTop = number =>
    page.waitForFunction(index => {
      const row = document.querySelector(`.gr[data-index="${index}"]:not([hidden])`);
      return (
        row &&
        Math.abs(
          row.getBoundingClientRect().top -
            document.querySelector('.ghg').getBoundingClientRect().bottom,
        ) < 3
      );
    }, number);
  await page.hover('.grid');
  await page.mouse.wheel(0, 4000);
  await isOnTop(10);
  await page.focus('.grid');
  await page.keyboard.press('End');
  await isCurrent(page, KEYS[KEYS.length - 1]);
  await page.keyboard.press('Home');
  await isCurrent(page, KEYS[0]);
  await isOnTop(0);
  await close(page);
});

test('any walk shows the rows of the table, and memory stays bounded', async () => {
  const page = await open();
  await go(page, 't/Many/rows', '.gr');
  const seed = Number(process.env.EXPLORER_TEST_SEED || Date.now() % 1e6);
  const found = await page.evaluate(
    async ([keys, begin]) => {
      const of = name =>
        import(document.querySelector('script[src]').src.replace('shell.js', name));
      const [{ Pages }, { ladderOf }, api] = await Promise.all(
        ['pages.js', 'ladder.js', 'api.js'].map(of),
      );
      const numbers = new Map(keys.map((key, i) => [key.join('/'), i]));
      const facts = await api.getJson('/facts?table=Many&parts=keys');
      const problems = [];
      let state = begin,
        most = 0;
      let at = 0;
      const random = below => {
        state = (state * 1103515245 + 12345) % 2147483648;
        return state % below;
      };
      for (const filter of [
        '',
        "PartitionKey ge 'dept-05' and PartitionKey lt 'dept-33'",
        'Age lt 60',
      ]) {
        const fits = keys.filter(
          ([partition], i) =>
            filter === '' ||
            (filter.startsWith('Age')
              ? i % 90 < 60
              : partition >= 'dept-05' && partition < 'dept-33'),
        );
        const order = new Map(fits.map((key, i) => [key.join('/'), i]));
        const pages = new Pages('Many', { filter, on: { change: () => {} } });
        await pages.begin();
        const explained = await api.explain('Many', filter);
        pages.setLadder(
          ladderOf(facts, explained.ranges),
          filter ? explained.estimate.returned : facts.entities,
          !filter,
        );
        for (let step = 0; step < 40; step++) {
          const how = random(4);
          if (how === 0) {
            const wanted = keys[random(keys.length)],
              index = await pages.seek(wanted),
              row = pages.at(index);
            at = index;
            const expected = fits.find(
              key => numbers.get(key.join('/')) >= numbers.get(wanted.join('/')),
            );
            if (expected && (!row || `${row.partition}/${row.row}` !== expected.join('/')))
              problems.push(`${filter}: seek ${wanted} gave ${row?.partition}/${row?.row}`);
          } else if (how === 1) {
            at = await pages.end();
            const row = pages.at(at);
            if (`${row?.partition}/${row?.row}` !== fits[fits.length - 1].join('/'))
              problems.push(`${filter}: the end is ${row?.partition}/${row?.row}`);
          } else {
            const first = (at = random(pages.length));
            pages.view(first, first + 30, first);
            while (pages.timer || pages.flying)
              await new Promise(resolve => setTimeout(resolve, 5));
          }
          most = Math.max(most, pages.loaded().length);
          const list = Array.from({ length: 1200 }, (_, i) => pages.at(at - 600 + i));
          list.forEach((row, i) => {
            if (row && list[i + 1]) {
              const gap =
                order.get(`${list[i + 1].partition}/${list[i + 1].row}`) -
                order.get(`${row.partition}/${row.row}`);
              if (gap !== 1) problems.push(`${filter}: ${gap} after ${row.partition}/${row.row}`);
            }
          });
        }
        await pages.all(() => true);
        if (pages.length !== fits.length)
          problems.push(`${filter}: ${pages.length} rows, not ${fits.length}`);
        pages.close();
      }
      return { problems: problems.slice(0, 5), most };
    },
    [KEYS, seed],
  );
  assert.deepEqual(found.problems, [], `EXPLORER_TEST_SEED=${seed}`);
  assert.ok(found.most <= 41_000, `${found.most} rows were in memory`);
  await close(page);
});

test('an address brings a place back', async () => {
  const page = await open();
  await go(
    page,
    `t/Many/rows?p=${encodeURIComponent(JSON.stringify(['dept-25', 'emp-000300']))}`,
    '.gr',
  );
  await isCurrent(page, ['dept-25', 'emp-000300']);
  await settled(page);
  await close(page);
});

const hasColumns = (page, wanted) =>
  eventually(async () =>
    assert.deepEqual(
      await page.evaluate(() =>
        [...document.querySelectorAll('.gh .cn')].map(each => each.textContent),
      ),
      wanted,
    ),
  );
const widthOf = (page, name) =>
  page.evaluate(
    wanted =>
      Math.round(
        [...document.querySelectorAll('.gh [data-head]')]
          .find(each => each.title === wanted)
          .getBoundingClientRect().width,
      ),
    name,
  );
const head = (page, name) => page.locator(`.gh [data-head][title="${name}"]`);

test('columns are moved, widened and hidden with the mouse, and stay so', async () => {
  const page = await open();
  await makeTable(page, 'Wider', ['p'], 3, () => ({ A: 'a', B: 'b', C: 'c' }));
  await go(page, 't/Wider/rows', '.gr');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'A', 'B', 'C', 'Timestamp']);
  await page.waitForSelector('.qright .chip'); // what comes later moves nothing any more
  await page.waitForSelector('.ruler rect.blk');
  const [from, to] = [await head(page, 'C').boundingBox(), await head(page, 'A').boundingBox()];
  await page.mouse.move(from.x + 20, from.y + 10);
  await page.mouse.down();
  await page.mouse.move(to.x + 30, to.y + 10, { steps: 5 });
  await page.mouse.up();
  await hasColumns(page, ['PartitionKey', 'RowKey', 'C', 'A', 'B', 'Timestamp']);
  const wide = await widthOf(page, 'A'),
    edge = await head(page, 'A').boundingBox();
  await page.mouse.move(edge.x + edge.width - 3, edge.y + 10);
  await page.mouse.down();
  await page.mouse.move(edge.x + edge.width + 77, edge.y + 10, { steps: 5 });
  await page.mouse.up();
  await eventually(async () => assert.equal(await widthOf(page, 'A'), wide + 80));
  await page.click('text=/of 6 columns/');
  await page.uncheck('dialog li[data-name="B"] input');
  await page.click('dialog >> text=Done');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'C', 'A', 'Timestamp']);
  const address = await page.evaluate(() => location.href);
  await page.evaluate(() => {
    location.hash = '#/start';
  });
  await go(page, 't/Wider/rows', '.gr');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'C', 'A', 'Timestamp']);
  await eventually(async () => assert.equal(await widthOf(page, 'A'), wide + 80));
  // Somebody else, who has only the address.
  await page.evaluate(() => localStorage.removeItem('tavola.columns.Wider'));
  await page.goto('about:blank');
  await page.goto(address);
  await page.waitForSelector('.gr');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'C', 'A', 'Timestamp']);
  await close(page);
});

test('what is loaded is sorted by a column, with the mouse and the keyboard', async () => {
  const page = await open();
  await importTable(
    'Sorted',
    [['1', 10], ['2', 9], ['3', 'text'], ['4'], ['5', 100], ['6', 9.5], ['7', true]]
      .map(([RowKey, Value]) => ({
        PartitionKey: 'p',
        RowKey,
        ...(Value !== undefined && { Value }),
      }))
      .concat([
        {
          PartitionKey: 'p',
          RowKey: '8',
          'Value@odata.type': 'Edm.Int64',
          Value: '9007199254740993',
        },
        {
          PartitionKey: 'p',
          RowKey: '9',
          'Value@odata.type': 'Edm.Int64',
          Value: '9007199254740992',
        },
      ]),
  );
  await go(page, 't/Sorted/rows', '.gr');
  const isOrder = rows =>
    page.waitForFunction(
      wanted =>
        [...document.querySelectorAll('.gr:not([hidden])')]
          .sort((a, b) => a.dataset.index - b.dataset.index)
          .map(each => each.querySelector('.st2').textContent)
          .join('') === wanted,
      rows,
    );
  await isOrder('123456789');
  await page.waitForSelector('.qright .chip');
  await page.click('.gh [data-head][title=Value] .cn');
  await isOrder('726159834'); // a boolean, numbers of all types, text, none
  assert.equal(await page.getAttribute('.gh [data-head][title=Value]', 'aria-sort'), 'ascending');
  assert.match(await page.textContent('.status'), /Sorted by Value/);
  await page.click('.gh [data-head][title=Value] .cn');
  await isOrder('389516274');
  await page.click('text=As stored');
  await isOrder('123456789');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'grid');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('o');
  await isOrder('726159834');
  await page.waitForFunction(() => document.querySelector('.gr.cur .st2')?.textContent === '1'); // the cursor stays where it was
  await page.keyboard.press('Delete');
  await isOrder('72659834'); // it is still sorted
  await close(page);
});

test('a selection has statistics', async () => {
  const page = await open();
  await importTable('Summed', [
    { PartitionKey: 'a', RowKey: '1', N: 1, D: 0.5, S: 'x' },
    { PartitionKey: 'a', RowKey: '2', N: 2, D: 1.5, S: 'x' },
    { PartitionKey: 'b', RowKey: '3', 'N@odata.type': 'Edm.Int64', N: '9007199254740993', S: 'y' },
  ]);
  await go(page, 't/Summed/rows', '.gr');
  await page.check("input[aria-label='Select all that are loaded']");
  await page.click('.status >> text=Statistics');
  await page.waitForSelector('dialog table');
  assert.match(await page.textContent('dialog'), /3 entities in 2 partitions/);
  const row = name =>
    page.$$eval(
      'dialog tbody tr',
      (all, wanted) =>
        [...all.find(each => each.cells[0].textContent === wanted).cells].map(
          each => each.textContent,
        ),
      name,
    );
  assert.deepEqual(await row('N'), [
    'N',
    'Int32, Int64',
    '3',
    '3',
    '1',
    '9007199254740993',
    '9007199254740996',
    '3,002,399,751,580,332',
  ]);
  assert.deepEqual(await row('D'), ['D', 'Double', '2', '2', '0.5', '1.5', '2', '1']);
  assert.deepEqual(await row('S'), ['S', 'String', '3', '2', 'x', 'y', '', '']);
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  await close(page);
});

test('columns are moved, widened and hidden with the keyboard alone', async () => {
  const page = await open();
  await makeTable(page, 'Narrow', ['p'], 3, () => ({ A: 'a', B: 'b', C: 'c' }));
  await go(page, 't/Narrow/rows', '.gr');
  await page.focus('.grid');
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowRight');
  const wide = await widthOf(page, 'A');
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  await page.keyboard.press('-');
  await eventually(async () => assert.equal(await widthOf(page, 'A'), wide + 16));
  await page.keyboard.press('>');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'B', 'A', 'C', 'Timestamp']);
  await page.keyboard.press('>');
  await page.keyboard.press('<');
  await page.keyboard.press('<');
  await page.keyboard.press('<');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'A', 'B', 'C', 'Timestamp']); // none is put before the keys
  await page.focus('text=/of 6 columns/');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog .columns');
  await page.focus('dialog li[data-name="C"] [data-step="-1"]');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'C', 'A', 'B', 'Timestamp']);
  await page.focus('dialog li[data-name="B"] input');
  await page.keyboard.press('Space');
  await page.keyboard.press('Escape');
  await hasColumns(page, ['PartitionKey', 'RowKey', 'C', 'A', 'Timestamp']);
  await close(page);
});

test('mixed types, long values and times are shown as what they are', async () => {
  const page = await open();
  await ask(page, 'POST', tablePath('Tables'), JSON.stringify({ TableName: 'Mixed' }));
  const json = '{"a":[1,2]}'.padEnd(300, ' ');
  for (const body of [
    { RowKey: '1', V: 'text' },
    { RowKey: '2', V: 7 },
    { RowKey: '3', 'V@odata.type': 'Edm.Int64', V: '9007199254740993' },
    { RowKey: '4', 'V@odata.type': 'Edm.DateTime', V: '2026-07-01T12:00:00.1234567Z' },
    { RowKey: '5', 'V@odata.type': 'Edm.Binary', V: 'iVBORw0KGgo=' },
    { RowKey: '6', V: '' },
    { RowKey: '7', V: json },
    { RowKey: '8' },
  ])
    assert.equal(
      (await ask(page, 'POST', tablePath('Mixed'), JSON.stringify({ PartitionKey: 'p', ...body })))
        .status,
      201,
    );
  await go(page, 't/Mixed/rows', '.gr');
  const cell = row => page.textContent(`.gr[data-index="${row - 1}"] [data-column="2"]`);
  assert.match(await page.textContent('.gh [data-head][title=V]'), /mixed/);
  assert.deepEqual(
    [await cell(1), await cell(2), await cell(3), await cell(6), await cell(8)],
    ['text', '7', '9007199254740993', '""', '–'],
  );
  assert.equal(await cell(4), '2026-07-01 12:00:00.123');
  assert.match(await cell(5), /^89 50 4e …8 B$/);
  await page.focus('.grid');
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowRight');
  for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await page.waitForSelector('dialog .whole');
  assert.match(await page.textContent('dialog .whole'), /\n {4}1,\n/);
  await page.keyboard.press('Escape');
  await dialogIsGone(page);
  await page.click('.gr[data-index="4"] .size');
  assert.match(await page.textContent('dialog .whole'), /000000 {2}89 50 4e 47 0d 0a 1a 0a/);
  await close(page);
});
