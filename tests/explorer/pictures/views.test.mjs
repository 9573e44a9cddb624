// docs/explorer/: entities, account, connect, advice and shared-access, of one account with some traffic.

import assert from 'node:assert/strict';
import { during, sendAsClient } from '../client.mjs';
import {
  ask,
  before,
  close,
  control,
  eventually,
  go,
  importTable,
  open,
  picture,
  test,
} from '../page.mjs';
import { endpoints, Tables } from '../service.mjs';

const DEPARTMENTS = ['Engineering', 'Finance', 'Legal', 'Marketing', 'Sales', 'Support'];
const NAMES = ['Ada', 'Ben', 'Chloe', 'Dan', 'Eve', 'Finn', 'Grace', 'Hugo'];
const PEOPLE = 200,
  MINUTES = 6;
const employee = (department, i) => ({
  PartitionKey: department,
  RowKey: `empid_${String(100 + i).padStart(6, '0')}`,
  Name: `${NAMES[i % NAMES.length]} ${String.fromCharCode(65 + (i % 26))}.`,
  Age: 21 + ((i * 7) % 40),
  Email: `${NAMES[i % NAMES.length].toLowerCase()}.${i}@contoso.com`,
  'Hired@odata.type': 'Edm.DateTime',
  Hired: `20${10 + (i % 16)}-0${1 + (i % 9)}-1${i % 10}T08:00:00Z`,
  Remote: i % 3 === 0,
});

before(async () => {
  const page = await open(),
    tables = new Tables((await endpoints(page)).table);
  await importTable(
    'Employees',
    DEPARTMENTS.flatMap(each => Array.from({ length: PEOPLE }, (_, i) => employee(each, i))),
  );
  for (const name of ['Activity', 'Sessions']) await tables.create(name);
  for (let minute = 0; minute < MINUTES; minute++) {
    const rows = Array.from(
      { length: 40 },
      (_, i) => `r${String(minute * 40 + i).padStart(6, '0')}`,
    );
    await tables.put('Activity', 'log', rows);
    await tables.put('Sessions', `user_${minute}`, rows.slice(0, 7));
    for (let i = 0; i < 4; i++) await tables.query('Employees', `Email eq 'ada.${i}@contoso.com'`);
    await tables.query('Employees', "PartitionKey eq 'Sales' and RowKey lt 'empid_000150'");
    await control('/clock/60000');
  }
  for (let i = 0; i < 3; i++) await control('/clock/10000');
  for (const [name, messages] of [
    ['index-updates', 12],
    ['index-updates-poison', 3],
    ['resize', 0],
  ]) {
    await ask(page, 'PUT', `/api/queue/devstoreaccount1/${name}`);
    for (let i = 0; i < messages; i++)
      await ask(
        page,
        'POST',
        `/api/queue/devstoreaccount1/${name}/messages`,
        '<QueueMessage><MessageText>empid_000103</MessageText></QueueMessage>',
        { 'content-type': 'application/xml' },
      );
  }
  await ask(page, 'PUT', '/api/blob/devstoreaccount1/photos?restype=container');
  for (let i = 0; i < 20; i++)
    await ask(page, 'PUT', `/api/blob/devstoreaccount1/photos/${100 + i}.jpg`, 'x'.repeat(24_000), {
      'x-ms-blob-type': 'BlockBlob',
    });
  await close(page);
});

test('entities, with the plan of a filter', async () => {
  const page = await open();
  const filter =
    "PartitionKey eq 'Sales' and RowKey ge 'empid_000120' and RowKey lt 'empid_000160'";
  await go(page, `t/Employees/rows?f=${encodeURIComponent(filter)}`, '.gr');
  await page.click('.qright button.chip');
  await page.waitForSelector('.planpanel dt');
  await page.waitForSelector('.status >> text=40 returned');
  // Again, until the time is the server's and not that of what else the machine does.
  await eventually(async () => {
    await page.click('.qright .primary');
    await page.waitForSelector('.browse:not(.stale) .gr');
    assert.match(await page.textContent('.status'), /examined\s*\d(\.\d+)? ms/);
  });
  await picture(page, 'entities');
  await close(page);
});

test('the account, while applications ask', async () => {
  const page = await open();
  await go(page, 'account', '.list');
  let i = 0;
  const path = () =>
    `Employees(PartitionKey='Sales',RowKey='empid_${String(100 + (i++ % PEOPLE)).padStart(6, '0')}')`;
  await during(
    async () => {
      for (let k = 0; k < 3; k++) await sendAsClient(page, 'GET', path());
      await sendAsClient(page, 'GET', "Activity(PartitionKey='log',RowKey='r000001')");
    },
    () => page.waitForFunction(() => performance.now() > 16_000), // most of the line of each
  );
  await picture(page, 'account');
  await close(page);
});

test('Connect, dark, after a test entity', async () => {
  const page = await open({ theme: 'dark' });
  await go(page, 'start', '.ent');
  await page.click('text=Send a test entity');
  await page.waitForSelector('.ent >> text=/read back in/');
  await page.waitForFunction(() => !document.querySelector('.toast'));
  await picture(page, 'connect');
  await close(page);
});

test('advice on a table', async () => {
  const page = await open();
  await go(page, 't/Employees/advice', '.adv .cbtn');
  await page.click('.cbtn');
  await page.waitForSelector('.finding .in');
  await picture(page, 'advice');
  await close(page);
});

test('a signature explained', async () => {
  const page = await open();
  await go(page, 'sas?t=Employees', '.sasout pre');
  await page.waitForFunction(() =>
    /tn=Employees/.test(document.querySelector('.sasout pre').textContent),
  );
  const url = await page.textContent('.sasout pre');
  await go(page, 'sas/explain', '.putbox');
  await page.fill('.putbox textarea', url);
  await page.fill(
    '.putbox >> text=Would this request >> input',
    "DELETE /Employees(PartitionKey='Sales',RowKey='empid_000103')",
  );
  await page.waitForSelector('.verdictline >> text=AuthorizationPermissionMismatch');
  await picture(page, 'shared-access');
  await close(page);
});
