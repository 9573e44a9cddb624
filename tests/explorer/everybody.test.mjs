// For everybody: colours that the system sets, large text, little motion, Tab alone, and axe on what opens.

import assert from 'node:assert/strict';
import {
  ask,
  before,
  close,
  dialogIsGone,
  go,
  makeTable,
  open,
  RULES,
  test,
  toastSays,
  violations,
} from './page.mjs';

const VIEWS = {
  start: '.ends',
  account: '.list',
  't/People/rows': '.gr',
  't/People/heat': '.hbar .legend',
  't/People/shapes': '.pad',
  't/People/advice': '.adv',
  't/People/facts': '.pad',
  't/People/batch': '.op',
  't/People/io': '.io',
  't/People/access': '.list',
  'q/jobs': '.putbox',
  'c/photos': '.pad',
  'access/blob/photos': '.list',
  advice: '.adv',
  sas: '.sasout pre',
  'sas/explain': '.putbox',
  server: '.chart',
  help: '.keys',
};

before(async () => {
  const page = await open();
  await makeTable(page, 'People', ['HR', 'Sales'], 60);
  await ask(page, 'PUT', '/api/queue/devstoreaccount1/jobs');
  await ask(page, 'PUT', '/api/blob/devstoreaccount1/photos?restype=container');
  await close(page);
});

// What opens over a view: [view, selector, what opens it].
const DIALOGS = {
  'Go to': ['start', '.ends', page => page.keyboard.press('Control+k')],
  'How to read this': [
    't/People/heat',
    '.hbar .legend',
    page => page.click('text=How to read this'),
  ],
  'Delete a table': ['t/People/rows', '.gr', page => page.click('text=Delete table')],
  'Rename a table': [
    't/People/io',
    "[aria-label='Copy or rename']",
    async page => {
      await page.fill("[aria-label='Copy or rename'] input", 'Staff');
      await page.click('text=/^Rename$/');
    },
  ],
};
for (const theme of Object.keys(RULES)) {
  test(`axe finds nothing in dialogs and in what is open, ${theme}`, async () => {
    const page = await open({ theme }),
      found = [],
      rules = RULES[theme];
    for (const [name, [view, selector, act]] of Object.entries(DIALOGS)) {
      await go(page, view, selector);
      await page.focus('main');
      await act(page);
      await page.waitForSelector('dialog[open]');
      found.push(...(await violations(page, rules)).map(text => `${name}: ${text}`));
      if (!(await page.evaluate(() => document.activeElement.closest('dialog'))))
        found.push(`${name}: focus is not in the dialog`);
      await page.keyboard.press('Escape');
      await dialogIsGone(page);
      if (await page.evaluate(() => document.activeElement === document.body))
        found.push(`${name}: focus is lost when it is closed`);
    }
    await go(page, 'sas/explain', '.putbox');
    await page.fill(
      '.putbox textarea',
      'sv=2021-12-02&sp=r&se=2030-01-01T00:00:00Z&tn=People&spr=https&sip=10.0.0.1&sig=abc',
    );
    await page.waitForSelector('.verdictline');
    found.push(...(await violations(page, rules)).map(text => `explained: ${text}`));
    await go(page, 't/People/heat', '.hbar .legend');
    await page.focus('.over');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.hpins dd');
    found.push(...(await violations(page, rules)).map(text => `pinned: ${text}`));
    await go(page, 't/People/heat?as=table', '.heat tbody');
    found.push(...(await violations(page, rules)).map(text => `as a table: ${text}`));
    assert.deepEqual(found, []);
    await close(page);
  });
}

test("with the system's colours everything that can be pressed has an edge, and what is chosen stands out", async () => {
  const page = await open(),
    wrong = [];
  await page.emulateMedia({ forcedColors: 'active' });
  for (const view of ['t/People/heat', 'sas', 't/People/access', 'advice', 't/People/rows']) {
    await go(page, view, VIEWS[view]);
    wrong.push(
      ...(await page.evaluate(name => {
        const bad = [],
          seen = element => element.offsetParent && element.getClientRects().length;
        for (const element of document.querySelectorAll(
          'main .btn:not(.quiet), main input.field, main select.field, main textarea.field',
        ))
          if (seen(element) && getComputedStyle(element).borderStyle === 'none')
            bad.push(`${name}: ${element.outerHTML.slice(0, 80)} has no edge`);
        for (const element of document.querySelectorAll('main .seg')) {
          const on = element.querySelector('[aria-pressed=true]'),
            off = element.querySelector('[aria-pressed=false]');
          if (
            seen(element) &&
            on &&
            off &&
            getComputedStyle(on).backgroundColor === getComputedStyle(off).backgroundColor
          )
            bad.push(`${name}: ${on.textContent} does not stand out`);
        }
        return bad;
      }, view)),
    );
  }
  assert.deepEqual(wrong, []);
  await close(page);
});

test('at twice the size nothing is cut off and nothing scrolls sideways', async () => {
  const page = await open({ width: 640, height: 450 }),
    wrong = [];
  for (const [view, selector] of Object.entries(VIEWS)) {
    await go(page, view, selector);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 640) wrong.push(`${view}: ${wide}`);
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll('main button, main a.btn')]
        .filter(
          each =>
            each.offsetParent &&
            !each.closest('.grid, .tabs, .scrollx, .list, .tree') &&
            (each.getBoundingClientRect().right > innerWidth + 1 ||
              each.scrollWidth > each.clientWidth + 2),
        )
        .map(each => each.textContent.slice(0, 30)),
    );
    if (cut.length) wrong.push(`${view}: ${cut} cut`);
  }
  assert.deepEqual(wrong, []);
  await close(page);
});

test('who wants little motion gets none', async () => {
  const page = await open(),
    moving = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('*')]
          .filter(each => {
            const style = getComputedStyle(each);
            return (
              style.animationName !== 'none' ||
              style.transitionDuration.split(',').some(text => parseFloat(text) > 0)
            );
          })
          .map(each => each.className),
      );
  assert.ok((await moving()).length > 0, 'there is motion otherwise');
  await page.emulateMedia({ reducedMotion: 'reduce' });
  for (const view of ['start', 't/People/rows', 't/People/heat', 'server']) {
    await go(page, view, VIEWS[view]);
    assert.deepEqual(await moving(), [], view);
  }
  await close(page);
});

test('Tab comes to every control of a view, each is seen to have focus, and none keeps it', async () => {
  const page = await open(),
    wrong = [];
  for (const view of ['t/People/heat', 'sas', 'sas/explain', 't/People/access', 'advice']) {
    await go(page, view, VIEWS[view]);
    await page.evaluate(() => {
      document.activeElement.blur();
      document
        .querySelectorAll(
          "main button:not(:disabled), main a[href], main input, main select, main textarea, main summary, main [tabindex='0']",
        )
        .forEach((each, i) => {
          each.dataset.reach = i;
        });
    });
    await page.focus('main');
    const reached = new Set(),
      hidden = [];
    for (let i = 0; i < 120; i++) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const element = document.activeElement,
          style = element && getComputedStyle(element);
        return element?.closest('main')
          ? {
              id: element.dataset.reach,
              isSeen: style.outlineStyle !== 'none' || style.boxShadow !== 'none',
              html: element.outerHTML.slice(0, 80),
            }
          : null;
      });
      if (!at) {
        if (reached.size) break;
        continue;
      }
      if (!at.isSeen) hidden.push(at.html);
      reached.add(at.id);
    }
    const missed = await page.evaluate(
      known =>
        [...document.querySelectorAll('main [data-reach]')]
          .filter(
            each =>
              each.offsetParent &&
              each.type !== 'radio' &&
              !known.includes(each.dataset.reach) &&
              !each.closest('details:not([open])'),
          )
          .map(each => each.outerHTML.slice(0, 80)),
      [...reached],
    );
    if (missed.length) wrong.push(`${view}: Tab does not reach ${missed}`);
    if (hidden.length) wrong.push(`${view}: focus is not seen on ${hidden}`);
  }
  assert.deepEqual(wrong, []);
  await close(page);
});

test('with the keyboard alone: a policy is added, saved and taken away again', async () => {
  const page = await open();
  await go(page, 't/People/access', '.list');
  const tabTo = async selector => {
    for (let i = 0; i < 60; i++) {
      if (await page.evaluate(wanted => document.activeElement?.matches(wanted), selector)) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not come to ${selector}`);
  };
  const acl = async () =>
    (
      await ask(page, 'GET', '/api/table/devstoreaccount1/People?comp=acl', undefined, {
        'x-ms-version': '2019-02-02',
      })
    ).text;
  await tabTo('main .row.end button:not(.primary)');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() =>
    document.activeElement?.matches("input[aria-label='Name of policy 1']"),
  );
  await page.keyboard.press('Control+a');
  await page.keyboard.type('readers');
  await tabTo('main .primary');
  await page.keyboard.press('Enter');
  await toastSays(page, /Policies saved/);
  assert.match(await acl(), /<Id>readers<\/Id>/);
  await page.focus('main');
  await tabTo("[aria-label='Remove policy 1']");
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    () =>
      document.activeElement !== document.body &&
      !document.querySelector("input[aria-label='Name of policy 1']"),
  );
  await tabTo('main .primary');
  await page.keyboard.press('Enter');
  await toastSays(page, /Policies saved/);
  assert.doesNotMatch(await acl(), /readers/);
  await close(page);
});
