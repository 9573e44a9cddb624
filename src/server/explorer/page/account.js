// An account: everything in it as a table, and new ones.

import { h, put, stacked, count, plural, bytes, toast, dialog, ask, sparkline } from './dom.js';
import * as api from './api.js';
import { topBar } from './frame.js';
import { countText, itemsOf, rateText, refreshTree, treeIsThere } from './names.js';
import { link } from './route.js';
import { planChip } from './queries.js';

const RULES = {
  table: [
    /^[A-Za-z][A-Za-z0-9]{2,62}$/,
    'A table has 3 to 63 letters and digits and begins with a letter.',
  ],
  queue: [
    /^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
    'A queue has 3 to 63 small letters, digits and single dashes.',
  ],
  blob: [
    /^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
    'A container has 3 to 63 small letters, digits and single dashes.',
  ],
};
const TITLES = { table: 'table', queue: 'queue', blob: 'container' };

async function make(kind) {
  const made = await dialog(`New ${TITLES[kind]}`, close => {
    const note = h('p', { class: 'muted', role: 'alert' }, RULES[kind][1]);
    const button = h('button', { type: 'submit', class: 'btn primary', disabled: true }, 'Create');
    const field = h('input', {
      class: 'field mono',
      autofocus: true,
      'aria-label': 'Name',
      oninput: () => {
        const fits = RULES[kind][0].test(field.value);
        button.disabled = !fits;
        field.setAttribute('aria-invalid', String(!fits));
      },
    });
    return h(
      'form',
      {
        class: 'putbox',
        onsubmit: async event => {
          event.preventDefault();
          try {
            if (kind === 'table') await api.createTable(field.value);
            else if (kind === 'queue') await api.service('PUT', api.queuePath(`/${field.value}`));
            else await api.service('PUT', api.blobPath(`/${field.value}?restype=container`));
            close(field.value);
          } catch (trouble) {
            put(note, `${trouble.code}: ${trouble.message}`);
          }
        },
      },
      h('h2', null, `New ${TITLES[kind]}`),
      field,
      note,
      h(
        'div',
        { class: 'row end' },
        h('button', { type: 'button', class: 'btn', onclick: () => close() }, 'Cancel'),
        button,
      ),
    );
  });
  if (!made) return;
  toast(`${made} created`);
  await refreshTree();
  location.hash =
    kind === 'table' ? link('t', made, 'rows') : link(kind === 'queue' ? 'q' : 'c', made);
}

// --- what is in it ---

const TITLE_OF = { table: 'Tables', queue: 'Queues', blob: 'Containers' };
const ITEMS_OF = { table: 'Entities', queue: 'Messages', blob: 'Blobs' };
const WORST_FIRST = ['table', 'partition', 'range', 'point'];
const EVERY_MS = 15000;

/** What the last hour's queries and the rules say of tables: Maps by name, or null when nothing is recorded. */
async function judgements() {
  const account = encodeURIComponent(api.currentAccount());
  const get = path =>
    api.getJson(path).catch(trouble => {
      if (trouble.status === 404) return null;
      throw trouble;
    });
  const [queries, advice] = await Promise.all([
    get(`/shapes?account=${account}`),
    get(`/advice?account=${account}`),
  ]);
  const plans = new Map(),
    findings = new Map();
  for (const shape of queries?.shapes || []) {
    if (shape.account && shape.account !== api.currentAccount()) continue;
    for (const plan of Object.keys(shape.plans || {})) {
      const before = plans.get(shape.table);
      if (
        WORST_FIRST.includes(plan) &&
        (before == null || WORST_FIRST.indexOf(plan) < WORST_FIRST.indexOf(before))
      )
        plans.set(shape.table, plan);
    }
  }
  for (const finding of advice?.findings || [])
    if (finding.table && (!finding.account || finding.account === api.currentAccount()))
      findings.set(finding.table, (findings.get(finding.table) || 0) + 1);
  return { plans: queries && plans, findings: advice && findings };
}

async function remove(item) {
  const what = TITLES[item.kind],
    inIt =
      item.items == null
        ? 'what is in it'
        : `its ${item.exact ? '' : 'about '}${count(item.items)} ${ITEMS_OF[item.kind].toLowerCase()}`;
  if (
    !(await ask(
      `Delete the ${what} ${item.name} and ${inIt}? This cannot be undone.`,
      `Delete ${item.name}`,
    ))
  )
    return;
  try {
    if (item.kind === 'table') await api.deleteTable(item.name);
    else if (item.kind === 'queue') await api.service('DELETE', api.queuePath(`/${item.name}`));
    else await api.service('DELETE', api.blobPath(`/${item.name}?restype=container`));
    toast(`${item.name} deleted`);
  } catch (trouble) {
    toast(`${trouble.code}: ${trouble.message}`);
  }
  await refreshTree();
}

const COLUMNS = {
  name: ['Name', (a, b) => (a.name < b.name ? -1 : 1)],
  items: ['', (a, b) => (b.items ?? -1) - (a.items ?? -1)],
  bytes: ['Size', (a, b) => (b.bytes ?? -1) - (a.bytes ?? -1)],
  rate: ['Requests', (a, b) => b.rate - a.rate || b.requests - a.requests],
  plan: ['Worst plan, last hour', null],
  findings: ['Advice', null],
};

export async function show() {
  let order = 'name',
    judged = { plans: null, findings: null },
    isOpen = true,
    timer;
  const tables = Object.fromEntries(Object.keys(TITLE_OF).map(kind => [kind, h('section')]));
  const field = h('input', {
    class: 'field',
    type: 'search',
    placeholder: 'Filter names',
    'aria-label': 'Filter names of the account',
    oninput: () => draw(),
  });

  const worst = item => {
    const plan = judged.plans?.get(item.name);
    return plan ? WORST_FIRST.indexOf(plan) : 9;
  };
  const found = item => judged.findings?.get(item.name) || 0;
  const compare = {
    ...Object.fromEntries(Object.entries(COLUMNS).map(([id, [, by]]) => [id, by])),
    plan: (a, b) => worst(a) - worst(b),
    findings: (a, b) => found(b) - found(a),
  };

  function row(kind, item, columns) {
    const cells = {
      name: () =>
        h(
          'td',
          null,
          h(
            'a',
            {
              href:
                kind === 'table'
                  ? link('t', item.name, 'rows')
                  : link(kind === 'queue' ? 'q' : 'c', item.name),
              dir: 'auto',
            },
            item.name,
          ),
        ),
      items: () =>
        h(
          'td',
          { class: 'r' },
          item.items == null
            ? h(
                'span',
                { class: 'muted' },
                kind === 'table' && api.serverFacts().engine === 'rados'
                  ? 'not counted'
                  : 'counting',
              )
            : countText(item),
        ),
      bytes: () => h('td', { class: 'r' }, item.bytes == null ? '–' : bytes(item.bytes)),
      rate: () =>
        h(
          'td',
          { class: 'r' },
          h(
            'span',
            { class: 'rate' },
            item.points.some(Boolean) && sparkline(item.points),
            rateText(item.rate) ||
              h(
                'span',
                { class: 'muted' },
                item.requests ? `${count(item.requests)} so far` : 'none',
              ),
          ),
        ),
      plan: () =>
        h(
          'td',
          null,
          judged.plans?.has(item.name)
            ? planChip(judged.plans.get(item.name))
            : h('span', { class: 'muted' }, judged.plans ? 'no query' : '–'),
        ),
      findings: () =>
        h(
          'td',
          { class: 'r' },
          found(item)
            ? h('a', { href: link('t', item.name, 'advice') }, plural(found(item), 'finding'))
            : h('span', { class: 'muted' }, judged.findings ? '0' : '–'),
        ),
    };
    return h(
      'tr',
      null,
      columns.map(id => cells[id]()),
      h(
        'td',
        { class: 'r' },
        h(
          'button',
          {
            class: 'btn quiet small',
            'aria-label': `Delete ${item.name}`,
            onclick: () => remove(item),
          },
          'Delete',
        ),
      ),
    );
  }

  // What is focused keeps its focus: it is found again by its name after all rows are new.
  function drawKind(kind) {
    const all = itemsOf(kind),
      wanted = field.value.toLowerCase(),
      shown = all
        .filter(item => item.name.toLowerCase().includes(wanted))
        .sort(compare[order])
        .slice(0, 1000);
    const columns = Object.keys(COLUMNS).filter(
      id =>
        kind === 'table' ||
        (id !== 'plan' && id !== 'findings' && !(kind === 'queue' && id === 'bytes')),
    );
    const focused = tables[kind].contains(document.activeElement) ? document.activeElement : null,
      mark = focused?.getAttribute('aria-label') || focused?.textContent;
    put(
      tables[kind],
      h(
        'h2',
        { class: 'sect' },
        TITLE_OF[kind],
        ' ',
        h('span', { class: 'muted num' }, count(all.length)),
      ),
      shown.length === 0
        ? h(
            'p',
            { class: 'muted' },
            all.length ? 'None has this in its name.' : `No ${TITLES[kind]} yet.`,
          )
        : h(
            'div',
            { class: 'scrollx' },
            stacked(
              h(
                'table',
                { class: 'list mid stack' },
                h(
                  'thead',
                  null,
                  h(
                    'tr',
                    null,
                    columns.map(id =>
                      h(
                        'th',
                        {
                          scope: 'col',
                          class: id === 'name' || id === 'plan' ? null : 'r',
                          'aria-sort':
                            id === order ? (id === 'name' ? 'ascending' : 'descending') : null,
                        },
                        h(
                          'button',
                          {
                            class: 'sorter',
                            onclick: () => {
                              order = id;
                              draw();
                            },
                          },
                          COLUMNS[id][0] || ITEMS_OF[kind],
                        ),
                      ),
                    ),
                    h('th', { scope: 'col' }, h('span', { class: 'sr' }, 'Actions')),
                  ),
                ),
                h(
                  'tbody',
                  null,
                  shown.map(item => row(kind, item, columns)),
                ),
              ),
            ),
          ),
      all.length > 1000 &&
        shown.length === 1000 &&
        h('p', { class: 'muted' }, `The first 1,000 of ${count(all.length)}: filter by name.`),
    );
    if (focused)
      [...tables[kind].querySelectorAll('a, button')]
        .find(each => (each.getAttribute('aria-label') || each.textContent) === mark)
        ?.focus({ preventScroll: true });
  }
  const draw = () => Object.keys(tables).forEach(drawKind);

  async function judge() {
    try {
      judged = await judgements();
      draw();
    } catch {
      /* the names are shown without it */
    }
    if (isOpen)
      timer = setTimeout(function again() {
        if (document.hidden) timer = setTimeout(again, 1000);
        else judge();
      }, EVERY_MS);
  }

  const fresh = refreshTree(); // what is known is shown at once
  if (!treeIsThere()) await fresh;
  fresh.catch(() => {});
  draw();
  judge();
  addEventListener('treechange', draw);
  return {
    nodes: [
      topBar(
        api.currentAccount(),
        '',
        ['table', 'queue', 'blob'].map(kind =>
          h('button', { class: 'btn', onclick: () => make(kind) }, `New ${TITLES[kind]}`),
        ),
      ),
      h(
        'div',
        { class: 'pad' },
        h(
          'div',
          { class: 'row' },
          field,
          h(
            'span',
            { class: 'muted' },
            'Requests are those of your applications, not of this page.',
          ),
          h('span', { class: 'grow' }),
          h('a', { href: link('settings') }, 'Service settings'),
        ),
        Object.values(tables),
      ),
    ],
    leave: () => {
      isOpen = false;
      clearTimeout(timer);
      removeEventListener('treechange', draw);
    },
  };
}
