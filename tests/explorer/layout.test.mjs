// Where things stand: each view, light and dark, on a phone, a tablet and two desks.
//
// EXPLORER_TEST_SHOTS=FOLDER keeps a picture of each, to look at; EXPLORER_TEST_RECORD=1 writes layout.json,
// where everything stands, anew; EXPLORER_TEST_ONLY=WORDS takes the views that have these in their names.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { boxes, differences, drawn, problems } from './layout.mjs';
import { ask, before, close, control, go, importTable, open, test } from './page.mjs';
import { Tables, endpoints } from './service.mjs';

const SHOTS = process.env.EXPLORER_TEST_SHOTS;
const SIZES = { 390: 844, 1024: 768, 1440: 900, 2560: 1440 };
const DEPARTMENTS = ['Sales-Europe', 'Sales-America', 'Engineering', 'Support'],
  PEOPLE = 60;

before(async () => {
  const page = await open(),
    tables = new Tables((await endpoints(page)).table);
  const staff = DEPARTMENTS.flatMap((department, d) => [
    { PartitionKey: department, RowKey: 'department', Name: department, Floor: d + 1 },
    ...Array.from({ length: PEOPLE }, (_, i) => ({
      PartitionKey: department,
      RowKey: `employee_${String(1000 + i * 17).padStart(8, '0')}`,
      Name: `Ada Lovelace the ${i}th of ${department}`,
      Email: `ada.${i}@${department.toLowerCase()}.example.org`,
      Age: 20 + i,
      Salary: 40000.5 + i * 100,
      'Hired@odata.type': 'Edm.DateTime',
      Hired: `2024-0${1 + (i % 9)}-11T08:00:00Z`,
      Remote: i % 2 === 0,
    })),
  ]);
  await importTable('Staff', staff);
  await tables.create('SensorReadings');
  for (let minute = 0; minute < 6; minute++) {
    for (let s = 0; s < 3; s++)
      await tables.put(
        'SensorReadings',
        `building-7/sensor_${s}`.replace('/', '.'),
        Array.from({ length: s ? 4 : 40 }, (_, i) => ({
          row: `2026-11-15T14:${String(10 + minute).padStart(2, '0')}:${String(i).padStart(2, '0')}Z`,
          Value: i * 1.5,
        })),
      );
    for (let i = 0; i < 3; i++)
      await tables.query('Staff', `Email eq 'ada.${i}@engineering.example.org'`);
    await tables.query(
      'Staff',
      "PartitionKey eq 'Engineering' and RowKey ge 'employee_00001500' and RowKey lt 'employee_00001800'",
    );
    await control('/clock/60000');
  }
  for (let i = 0; i < 3; i++) await control('/clock/10000');
  await ask(page, 'PUT', '/api/queue/devstoreaccount1/orders-to-ship');
  for (const text of ['aGVsbG8=', 'eyJvcmRlciI6IDEyMywgImNpdHkiOiAiQmVybGluIn0='])
    await ask(
      page,
      'POST',
      '/api/queue/devstoreaccount1/orders-to-ship/messages',
      `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`,
      { 'content-type': 'application/xml' },
    );
  await ask(
    page,
    'PUT',
    '/api/queue/devstoreaccount1/orders-to-ship?comp=acl',
    `<SignedIdentifiers><SignedIdentifier><Id>workers</Id><AccessPolicy><Start>2026-01-01T00:00:00Z</Start><Expiry>2027-01-01T00:00:00Z</Expiry><Permission>rp</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`,
    { 'content-type': 'application/xml' },
  );
  await ask(page, 'PUT', '/api/blob/devstoreaccount1/photos?restype=container', undefined, {
    'x-ms-meta-OwnedBy': 'Ada Lovelace',
  });
  for (const name of [
    '2026/a.txt',
    'read me first.txt',
    'a-name-that-is-quite-long-because-somebody-likes-to-be-exact-about-it.json',
  ])
    await ask(
      page,
      'PUT',
      `/api/blob/devstoreaccount1/photos/${encodeURIComponent(name)}`,
      'hello',
      { 'x-ms-blob-type': 'BlockBlob', 'content-type': 'text/plain' },
    );
  await close(page);
});

const FILTER = encodeURIComponent("PartitionKey eq 'Engineering' and Age gt 30"),
  SCAN = encodeURIComponent("Email eq 'ada.7@support.example.org' or Age lt 25 and Remote eq true");
const AT = encodeURIComponent(JSON.stringify(['Engineering', 'employee_00001017']));
const openEditor = async page => {
  await page.waitForSelector('.editor');
};
const openForm = async page => {
  await page.click('.qopts >> text=Form');
  await page.waitForSelector('.form .cond');
};
const openPlan = async page => {
  await page.waitForSelector('.qright button.chip');
  await page.click('.qright button.chip');
  await page.waitForSelector('.planpanel dt');
};

// name: [address, what is there when it is there, what is done then]
const VIEWS = {
  start: ['start', '.ends'],
  account: ['account', '.list'],
  rows: ['t/Staff/rows', '.gr'],
  'rows, a filter': [`t/Staff/rows?f=${FILTER}`, '.gr'],
  'rows, asked': [`t/Staff/rows?f=${SCAN}`, '.gr'],
  'rows, form and plan': [
    `t/Staff/rows?f=${FILTER}`,
    '.gr',
    async page => {
      await openForm(page);
      await openPlan(page);
    },
  ],
  'rows, editor': [`t/Staff/rows?at=${AT}&open=1`, '.gr', openEditor],
  'rows, form, plan and editor': [
    `t/Staff/rows?f=${FILTER}`,
    '.gr',
    async page => {
      await openForm(page);
      await openPlan(page);
      await page.focus('.grid');
      await page.keyboard.press('Enter');
      await openEditor(page);
    },
  ],
  'rows, insert': [
    't/Staff/rows',
    '.gr',
    async page => {
      await page.click('.top >> text=Insert');
      await page.waitForSelector('.editor');
    },
  ],
  heat: ['t/SensorReadings/heat', '.hbar .legend'],
  queries: ['t/Staff/shapes', '.list'],
  'advice of a table': [
    't/Staff/advice',
    '.adv .cbtn',
    async page => {
      await page.click('.cbtn');
      await page.waitForSelector('.finding .in');
    },
  ],
  facts: ['t/Staff/facts', '.facts .list'],
  batch: ['t/Staff/batch', '.op'],
  io: ['t/Staff/io', '.io'],
  access: ['t/Staff/access', '.list'],
  queue: ['q/orders-to-ship', '.putbox'],
  'queue, access': ['access/queue/orders-to-ship', '.list'],
  container: ['c/photos', '.list'],
  'container, access': ['access/blob/photos', '.list'],
  advice: ['advice', '.adv'],
  sas: ['sas', '.sasout pre'],
  'sas, explained': ['sas/explain', '.putbox'],
  server: ['server', '.chart'],
  help: ['help', '.keys'],
};

// What the reference has of each view.
const LANDMARKS = [
  '.side',
  '.top',
  '.tabs',
  '.qwrap',
  '.form',
  '.qopts',
  '.planpanel',
  '.browse',
  '.ruler',
  '.grid',
  '.status',
  '.insp',
  '.props',
  '.ift',
  '.ends',
  '.steps > *',
  '.next',
  '.chart',
  '.logbox',
  '.hbar',
  '.hmap',
  '.heatbox',
  'main .card',
  '.sasform',
  '.sasout',
  '.putbox',
  'main .list',
  '.keys > *',
];
// What may be wider than its place: it scrolls by itself.
const SIDEWAYS = ['.grid', '.tabs', '.scrollx', '.scroll', 'main .list'];
// On a phone nobody finds what is beside the window: only what is a picture or has a place of its own may be.
const SIDEWAYS_ON_A_PHONE = ['.grid', '.tabs', '.scroll', '.keymap', '.scrollx:has(.keymap)'];

/** Whether all that elements have is to be seen; `of` are those that are not. */
const cut = (page, selector) =>
  page.$$eval(selector, all =>
    all
      .filter(each => each.offsetParent && each.scrollWidth > each.clientWidth)
      .map(each => each.textContent),
  );
const box = (page, selector) =>
  page.$eval(selector, each => {
    const { width, height } = each.getBoundingClientRect();
    return { width, height };
  });

test('views give way to what is worked on: the editor has the height, the rows keep a part of it', async () => {
  for (const [width, least] of [
    [390, 800],
    [1024, 600],
    [1440, 700],
  ]) {
    const page = await open({ width, height: SIZES[width] }),
      [view, selector, act] = VIEWS['rows, form, plan and editor'];
    await go(page, view, selector);
    await act(page);
    assert.ok(
      (await box(page, '.editor')).height > least,
      `${width}: ${(await box(page, '.editor')).height}`,
    );
    assert.deepEqual(await cut(page, '.editor input, .editor .val'), []);
    await page.click('.editor [aria-label=Close]');
    await page.waitForSelector('.planpanel dt');
    assert.ok(
      (await box(page, '.grid')).height >= 160,
      `${width}: ${(await box(page, '.grid')).height}`,
    );
    await close(page);
  }
});

test('keys are cut last in the grid', async () => {
  const long = text => text.padEnd(300, 'x');
  const page = await open({ width: 1024, height: 768 });
  await importTable('LongKeys', [{ PartitionKey: long('p'), RowKey: long('r'), A: 'a' }]);
  await importTable('UnlikeKeys', [
    { PartitionKey: 'p', RowKey: '2026-11-15T14:10:00.000Z-device-1', A: 'a'.repeat(60) },
  ]);
  const keys = '.gr:not([hidden]) > .st1, .gr:not([hidden]) > .st2';
  await go(page, `t/Staff/rows?at=${AT}&open=1`, '.editor');
  assert.deepEqual(await cut(page, keys), []);
  await go(page, 't/UnlikeKeys/rows', '.gr');
  assert.deepEqual(await cut(page, keys), []);
  await page.setViewportSize({ width: 2560, height: 1440 });
  await go(page, 't/Staff/rows', '.gr');
  assert.deepEqual(
    await cut(page, '.gr:not([hidden]) > div'),
    [],
    'where there is room nothing is cut',
  );
  assert.deepEqual(await cut(page, '.gh .cn'), []);
  await page.setViewportSize({ width: 1024, height: 768 });
  await go(page, 't/LongKeys/rows', '.gr');
  const [grid, ...both] = await page.$$eval(`.grid, ${keys}`, all =>
    all.map(each => each.clientWidth),
  );
  assert.ok(
    both[0] + both[1] < 0.7 * grid,
    `${both} of ${grid}: properties are to be seen beside long keys`,
  );
  await close(page);
});

test('queries are to be read on a phone, on a tablet and on a desk', async () => {
  for (const width of Object.keys(SIZES)) {
    const page = await open({ width: Number(width), height: SIZES[width] });
    await go(page, ...VIEWS.queries);
    const tall = await page.$$eval('.list tbody td:first-child', all =>
      all.map(each => each.clientHeight / each.textContent.length),
    );
    assert.ok(Math.max(...tall) < 3, `${width}: ${tall} pixels a letter`);
    assert.equal(await page.$eval('.scrollx', each => each.scrollWidth > each.clientWidth), false);
    await close(page);
  }
});

/** All views at all sizes: look(page, name, width) at each. */
async function walk(look) {
  const page = await open({ width: 1440, height: 900 });
  await page.emulateMedia({ reducedMotion: 'reduce' }); // what slides is not where it will be
  for (const [name, [view, selector, act]] of Object.entries(VIEWS)) {
    if (!name.match(process.env.EXPLORER_TEST_ONLY || '')) continue;
    await page.setViewportSize({ width: 1440, height: 900 });
    await go(page, 'nothing');
    await go(page, view, selector);
    await act?.(page);
    await page.evaluate(() => {
      document.activeElement?.blur();
      document.querySelector('.toast')?.remove();
    });
    for (const width of Object.keys(SIZES).map(Number)) {
      await page.setViewportSize({ width, height: SIZES[width] });
      await page.evaluate(drawn);
      await look(page, name, width);
    }
  }
  await close(page);
}

test('in all views at all sizes nothing overlaps, nothing is cut off, and nothing scrolls sideways that should not', async () => {
  const wrong = [];
  await walk(async (page, name, width) => {
    for (const text of await page.evaluate(problems, width < 760 ? SIDEWAYS_ON_A_PHONE : SIDEWAYS))
      wrong.push(`${name} at ${width}: ${text}`);
  });
  assert.deepEqual(wrong, []);
});

test('what overlaps, is cut or scrolls sideways is seen as such', async () => {
  const page = await open({ width: 1024, height: 768 });
  const seen = async (style, words) => {
    await page.evaluate(text => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [sheet];
    }, style);
    assert.match((await page.evaluate(problems, SIDEWAYS)).join('; '), words);
    await page.evaluate(() => {
      document.adoptedStyleSheets = [];
    });
    assert.deepEqual(await page.evaluate(problems, SIDEWAYS), []);
  };
  await go(page, 'account', '.list');
  await seen('.sect { margin-bottom: -24px; }', /"Tables" lies below|"Tables" and "Name" overlap/);
  await seen('.top .btn { width: 30px; overflow: hidden; }', /"New table" is cut by \d+/);
  await seen('.pad > section { min-width: 2000px; }', /\.pad.* scrolls sideways/);
  await seen('.pad { min-width: 2000px; }', /the page is \d+ wide/);
  await seen(
    ".side::after { position: fixed; inset: 0; content: ''; }",
    /"Tables" lies below nav\.side/,
  );
  await close(page);
});

test('everything stands where it has stood, light and dark', async () => {
  const file = new URL('layout.json', import.meta.url),
    found = {},
    wrong = [];
  await walk(async (page, name, width) => {
    const light = await page.evaluate(boxes, LANDMARKS);
    await page.evaluate(() => {
      document.documentElement.dataset.theme = 'dark';
    });
    wrong.push(
      ...differences(light, await page.evaluate(boxes, LANDMARKS)).map(
        text => `${name} at ${width}, dark: ${text}`,
      ),
    );
    await page.evaluate(() => {
      document.documentElement.dataset.theme = 'light';
    });
    (found[name] ||= {})[width] = light;
  });
  if (process.env.EXPLORER_TEST_RECORD)
    await fs.writeFile(
      file,
      `${JSON.stringify(found, null, 1).replace(/\[\s+(-?\d+|null),\s+(-?\d+|null),\s+(-?\d+|null),\s+(-?\d+|null)\s+\]/g, '[$1, $2, $3, $4]')}\n`,
    );
  const wanted = JSON.parse(await fs.readFile(file, 'utf8'));
  for (const [name, sizes] of Object.entries(found))
    for (const [width, all] of Object.entries(sizes))
      wrong.push(
        ...differences(wanted[name]?.[width] || {}, all).map(
          text => `${name} at ${width}: ${text}`,
        ),
      );
  assert.deepEqual(wrong, []);
});

const shoot = SHOTS ? test : () => {};
shoot('a picture of each', async () => {
  await walk(async (page, name, width) => {
    for (const theme of ['light', 'dark']) {
      await page.evaluate(on => {
        document.documentElement.dataset.theme = on;
        dispatchEvent(new Event('themechange')); // what is painted is painted anew
      }, theme);
      await page.screenshot({ path: `${SHOTS}/${width} ${name} ${theme}.png` });
    }
  });
});
