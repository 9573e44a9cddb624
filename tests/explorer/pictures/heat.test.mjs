// docs/explorer/heat-map.png: a log that is appended to, devices that report every five minutes, and an
// entity that everybody reads; 45 minutes of it.

import { before, close, control, go, open, picture, test } from '../page.mjs';
import { Tables, endpoints } from '../service.mjs';

const MINUTES = 45,
  STEPS = 6,
  LINES = 10,
  VISITS = 15,
  REPORTS = 20;

async function passMinute(tables, minute) {
  if (minute % 5 === 0)
    for (let device = 1; device <= 6; device++)
      await tables.put(
        'Activity',
        `device_${device}`,
        Array.from({ length: REPORTS }, (_, i) => `m${String(i).padStart(3, '0')}`),
      );
  for (let step = 0; step < STEPS; step++) {
    const first = (minute * STEPS + step) * LINES;
    await tables.put(
      'Activity',
      'log',
      Array.from({ length: LINES }, (_, i) => ({
        row: `r${String(first + i).padStart(6, '0')}`,
        Text: 'started',
      })),
    );
    for (let i = 0; i < VISITS; i++) await tables.get('Activity', 'counter', 'visits');
    await control(`/clock/${60_000 / STEPS}`);
  }
}

before(async () => {
  const page = await open(),
    tables = new Tables((await endpoints(page)).table);
  await tables.create('Activity');
  await tables.put('Activity', 'counter', ['visits']);
  for (let minute = 0; minute < MINUTES; minute++) await passMinute(tables, minute);
  await close(page);
});

test('the heat map', async () => {
  const page = await open({ theme: 'dark' });
  await go(page, 't/Activity/heat?m=writes', ".hcard:has-text('Rising diagonal')");
  await page.waitForFunction(() => document.querySelector('.cells').width > 1);
  await picture(page, 'heat-map');
  await close(page);
});
