// The server's page: charts, the log as it is written, the support bundle, a cluster.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { during, sendAsClient } from './client.mjs';
import {
  ask,
  close,
  control,
  go,
  makeTable,
  open,
  tablePath,
  test,
  until,
  violations,
} from './page.mjs';

const lines = page => page.$$eval('.log li', all => all.map(each => each.textContent));
const hasLine = (page, text) =>
  page.waitForFunction(
    wanted =>
      [...document.querySelectorAll('.log .tx, .log .ev')].some(each =>
        each.textContent.includes(wanted),
      ),
    text,
  );

test('charts of rates, latency, commit groups, memory and disk follow what is asked of the server', async () => {
  const page = await open();
  await makeTable(page, 'Charted', ['a'], 30);
  await go(page, 'server', '.chart');
  assert.deepEqual(await page.$$eval('.chart h2', all => all.map(each => each.textContent)), [
    'Queries by plan',
    'Latency',
    'Requests',
    'Commit groups',
    'Refused',
    'Bodies',
    'Memory',
    'Disk',
  ]);
  assert.match(
    await page.textContent('.factsline'),
    /Up.*Tavola \d+\.\d+\.\d+.*RocksDB \d+\.\d+.*OpenSSL \d.*Linux/s,
  );
  const query = async () => {
    for (const filter of ['', '?$filter=Age eq 3', "?$filter=PartitionKey eq 'a'"])
      await ask(page, 'GET', tablePath(`Charted()${filter}`));
  };
  await during(query, () =>
    page.waitForFunction(() => {
      const of = title =>
        [...document.querySelectorAll('.chart')].find(
          each => each.querySelector('h2').textContent === title,
        );
      const legend = title => of(title).querySelector('.legend').textContent;
      return (
        /p99 [\d.]+ ms.*p50 [\d.]+ ms/.test(legend('Latency')) &&
        /Table scan (?!0\/s)[\d.]+\/s/.test(legend('Queries by plan')) &&
        /Resident [\d.]+ MB/.test(legend('Memory')) &&
        /Data [\d.]+ [kM]?B/.test(legend('Disk')) &&
        of('Requests').querySelector('path.line').getAttribute('d').includes('L')
      );
    }),
  );
  assert.match(
    await page.textContent('.reading'),
    /Scans are [\d.]+ % of the queries since the start and [\d.]+ % of the reading/,
  );
  await page.click('text=Pause');
  await page.waitForSelector('text=Go on');
  await close(page);
});

test('charts begin with what the server has kept, and go back for an hour', async () => {
  const first = await open();
  await makeTable(first, 'Before', ['a'], 30);
  const kept = async () => JSON.parse((await ask(first, 'GET', '/metrics/history')).text);
  const requests = ({ series, points }) =>
    points.map(point => point[1 + series.indexOf('tavola_requests_total{service="table"}')]);
  await during(
    () => ask(first, 'GET', tablePath('Before()?$filter=Age eq 3')),
    async () => {
      while (new Set(requests(await kept())).size < 4) await ask(first, 'GET', tablePath('Tables'));
    },
  );
  await close(first);
  const page = await open({ expected: [/ERR_FAILED|Failed to/] });
  let asked = 0;
  await page.route(/\/metrics$/, route => (++asked > 1 ? undefined : route.continue())); // so nothing is measured by the page itself
  await go(page, 'server', '.chart');
  const of = title =>
    page.evaluate(name => {
      const figure = [...document.querySelectorAll('.chart')].find(
        each => each.querySelector('h2').textContent === name,
      );
      return {
        line: figure.querySelector('path.line').getAttribute('d'),
        legend: figure.querySelector('.legend').textContent,
        xs: figure.querySelector('.xs').textContent,
      };
    }, title);
  const requestsChart = await of('Requests');
  assert.match(requestsChart.line, /L/);
  assert.match((await of('Memory')).legend, /Resident [\d.]+ MB/);
  assert.match(requestsChart.xs, /2 min ago/);
  await page.click('text=1 hour');
  await page.waitForFunction(() =>
    /1 hour ago/.test(document.querySelector('.chart .xs').textContent),
  );
  assert.match((await of('Memory')).line, /M/);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await close(page);
});

test('the log is followed as it is written, by level and by text', async () => {
  const page = await open({ expected: [/400/] }); // no table has such a name
  await go(page, 'server', '.log');
  await hasLine(page, 'start');
  assert.match((await lines(page)).join('\n'), /explorer_login/);
  await page.fill("input[aria-label='Only lines with this text']", 'Q-ONE');
  await page.waitForSelector('text=No line that is kept fits.');
  await sendAsClient(page, 'GET', 'Tables?a=q-one');
  await ask(page, 'GET', tablePath("Tables('q-one')"));
  await hasLine(page, 'q-one');
  assert.ok((await lines(page)).every(line => /q-one/i.test(line)));
  await page.fill("input[aria-label='Only lines with this text']", '');
  await page.click('.logbox >> text=Errors');
  await page.waitForSelector('text=No line that is kept fits.');
  await page.click('.logbox >> text=/^All$/');
  await hasLine(page, 'start');
  await page.click('.logbox >> text=Following');
  const before = (await lines(page)).length;
  let isAsked = false;
  page.on('request', request => {
    if (/\/log\?.*text=&/.test(request.url())) isAsked = true;
  });
  await ask(page, 'GET', tablePath("Tables('q-two')"));
  await until(page, async () => {
    const { log } = await import(
      document.querySelector('script[src]').src.replace('shell.js', 'api.js')
    );
    return (await log(0, 'debug', 'q-two')).lines.length > 0;
  });
  for (let i = 0; i < 2; i++) await page.waitForResponse(/\/metrics/); // the charts go on, as often as the log would
  assert.equal(isAsked, false);
  assert.equal((await lines(page)).length, before);
  await page.click('.logbox >> text=/^Follow$/');
  await hasLine(page, 'q-two');
  await close(page);
});

test('hostile text in the log is text, and no secret is in it', async () => {
  const page = await open({ expected: [/40\d/] });
  let ran = false;
  page.on('dialog', dialog => {
    ran = true;
    dialog.dismiss();
  });
  await go(page, 'server', '.log');
  await ask(page, 'GET', tablePath('<img src=x onerror=alert(1)>'));
  await ask(page, 'GET', '/api/blob/devstoreaccount1/x/y?sv=2020-01-01&sig=abcSECRETdef');
  await page.waitForFunction(
    () =>
      /blob.*GetBlob|\/x\/y/.test(document.querySelector('.log').textContent) &&
      /onerror/.test(document.querySelector('.log').textContent),
  );
  assert.equal(await page.locator('.log img').count(), 0);
  const text = (await ask(page, 'GET', '/log?lines=2048')).text,
    bundle = (await ask(page, 'GET', '/bundle')).text;
  const words = await page.evaluate(() => localStorage.getItem('tavola.page'));
  for (const secret of ['abcSECRETdef', words, 'Eby8vdM02xNOcqFlqUwJ']) {
    assert.ok(!text.includes(secret), `the log has ${secret}`);
    assert.ok(!bundle.includes(secret), `the bundle has ${secret}`);
  }
  assert.equal(ran, false);
  await close(page);
});

test('a support bundle says what is in it, then it is one file', async () => {
  const page = await open();
  await go(page, 'server', '.log');
  await page.click('text=Support bundle');
  await page.waitForSelector('dialog >> text=no keys of accounts');
  assert.deepEqual(await violations(page), []);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click('dialog >> text=Download'),
  ]);
  const text = await fs.readFile(await download.path(), 'utf8');
  for (const part of [
    '== versions\n',
    '== settings\n',
    'engine=rocksdb\n',
    '== health\nok\n',
    '== metrics\n',
    'tavola_uptime_seconds',
    '== log\n',
    'event=start',
  ])
    assert.ok(text.includes(part), part);
  await close(page);
});

test('the keyboard alone: to the server, into its log, pause, the bundle, and back', async () => {
  const page = await open();
  await page.waitForSelector('.ends');
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.waitForSelector('.log li');
  const focused = () =>
    page.evaluate(
      () => document.activeElement.textContent || document.activeElement.getAttribute('aria-label'),
    );
  const tabTo = async text => {
    for (let i = 0; i < 60 && (await focused()) !== text; i++) await page.keyboard.press('Tab');
    assert.equal(await focused(), text);
  };
  await tabTo('Pause');
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=Go on');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Support bundle');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.equal(await focused(), 'Support bundle');
  for (
    let i = 0;
    i < 20 && !(await page.evaluate(() => document.activeElement.matches('.logbox input')));
    i++
  )
    await page.keyboard.press('Tab');
  await page.keyboard.type('event=start');
  await page.waitForFunction(() => {
    const all = [...document.querySelectorAll('.log li .ev')];
    return all.length > 0 && all.every(each => each.textContent === 'start');
  });
  await tabTo('Errors');
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=No line that is kept fits.');
  assert.equal(await focused(), 'Errors');
  await close(page);
});

test('a server that goes away and comes back: a gap, words, and the log starts over', async () => {
  const page = await open({
    expected: [/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|Failed to load/],
  });
  await go(page, 'server', '.log li');
  await control('/kill');
  await page.waitForSelector('text=/No data since \\d\\d:\\d\\d:\\d\\d/');
  await page.waitForSelector('.lost:not([hidden])');
  await control('/start');
  await page.waitForFunction(
    () =>
      document.querySelector('.lost').hidden &&
      !/No data since/.test(document.querySelector('main').textContent),
  );
  await hasLine(page, 'start');
  await close(page);
});

// What GET /cluster of three nodes on Ceph has answered; tests/cluster compares its fields with
// those of a cluster that runs.
const recorded = JSON.parse(await fs.readFile(new URL('./nodes.json', import.meta.url), 'utf8'));

/** A page whose server says that it is of a cluster. */
async function openOnCluster(options) {
  const page = await open(options);
  await page.route('**/api/hello', async route => {
    const reply = await route.fetch(),
      hello = await reply.json();
    await route.fulfill({ response: reply, json: { ...hello, engine: 'rados' } });
  });
  await page.route('**/cluster', route => route.fulfill({ json: recorded }));
  await page.reload();
  await page.waitForSelector('.app');
  return page;
}

test('of a cluster: its nodes, its ranges and what was done to them', async () => {
  const page = await openOnCluster();
  await go(page, 'server', '.cluster table');
  const rows = region =>
    page.$$eval(`.cluster [aria-label='${region}'] tbody tr`, all =>
      all.map(each => [...each.children].map(cell => cell.textContent)),
    );
  const nodes = await rows('Nodes'),
    ranges = await rows('Ranges'),
    history = await rows('History');
  assert.equal(nodes.length, recorded.nodes.length);
  assert.deepEqual(
    nodes.map(row => row[1]),
    recorded.nodes.map(node =>
      String(node.incarnation) === recorded.leader ? 'live, leads' : node.state,
    ),
  );
  assert.equal(nodes.filter(row => /this one/.test(row[0])).length, 1);
  assert.equal(ranges.length, recorded.ranges.length);
  assert.deepEqual(
    ranges.map(row => row[0]),
    recorded.ranges.map(range => range.start || 'the first key'),
  );
  assert.deepEqual(
    ranges.map(row => row[2]),
    recorded.ranges.map(range => range.rows.toLocaleString('en-US')),
  );
  assert.match(ranges[1][0], /^devstoreaccount1\/People\/<i>\d/);
  assert.equal(await page.locator('.cluster i:not(.dot)').count(), 0);
  assert.equal(history[0][1], 'split');
  assert.equal(history[0][6], `${recorded.history[0].paused_ms} ms`);
  assert.deepEqual(await violations(page), []);
  await page.setViewportSize({ width: 360, height: 800 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  await close(page);
});

test('requests of applications are listed as they come, with pause and filter', async () => {
  const page = await open({ expected: [/40\d/] });
  await go(page, 'server', '.log');
  await page.click('text=Requests as they come');
  await page.waitForSelector('text=Nothing yet: this list begins when it is opened.');
  const listed = text =>
    page.waitForFunction(
      wanted =>
        [...document.querySelectorAll('.requests tbody tr')].some(each =>
          each.textContent.includes(wanted),
        ),
      text,
    );
  const rows = () => page.$$eval('.requests tbody tr', all => all.map(each => each.textContent));
  await ask(page, 'GET', tablePath("Tables('by-the-page')"));
  await sendAsClient(page, 'GET', 'Tables?sig=topSecret', { agent: 'first-app/1.0' });
  await listed('QueryTables');
  await sendAsClient(page, 'GET', 'Nowhere()');
  await listed('TableNotFound');
  await sendAsClient(page, 'POST', 'Tables', {
    body: { TableName: '<img src=x onerror=alert(1)>' },
  });
  await listed('CreateTable');
  assert.equal((await rows()).length, 3);
  assert.match(
    (await rows())[2],
    /GET \/devstoreaccount1\/Tables200.*127\.0\.0\.1:\d+ first-app\/1\.0/,
  );
  assert.ok(
    !(await rows()).join().includes('topSecret') && !(await rows()).join().includes('by-the-page'),
  );
  await page.fill("[aria-label='Only requests with this text']", 'QUERYTABLES');
  assert.equal((await rows()).length, 1);
  await page.fill("[aria-label='Only requests with this text']", '');
  await page.click('text=Refused or failed');
  assert.equal((await rows()).length, 2);
  await page.click('text=Refused or failed');
  await page.click('[aria-label=Service] >> text=Blobs');
  assert.equal((await rows()).length, 0);
  await page.click('[aria-label=Service] >> text=All');
  await page.click('text=/^Pause$/');
  await sendAsClient(page, 'GET', 'Tables', { agent: 'while-paused' });
  const { requests } = JSON.parse((await ask(page, 'GET', '/requests?count=1')).text);
  assert.equal(requests.length, 1);
  assert.equal((await rows()).length, 3);
  await page.click('text=/^Go on$/');
  await listed('while-paused');
  assert.deepEqual(await violations(page), []);
  await page.click('text=/^Clear$/');
  assert.equal((await rows()).length, 0);
  await close(page);
});
