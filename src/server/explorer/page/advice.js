// Advice: the findings of the server, most costly first, each with what was seen and what to do.

import {
  h,
  put,
  icon,
  count,
  plural,
  instant,
  glyph,
  PLANS,
  copyButton,
  toast,
  shortCount,
} from './dom.js';
import * as api from './api.js';
import { setAdviceCount, topBar, troubleBox } from './frame.js';
import { link, setQuery } from './route.js';
import { placeOnMap, spanOf, whatifCommand } from './advice_links.js';

const GUIDE = 'https://learn.microsoft.com/azure/storage/tables/table-storage-design-guide';
const SEVERITY = { error: 'table', warning: 'part', info: 'none' };

function costOf(finding) {
  const cost = finding.cost || {};
  if (cost.rowsPerHour)
    return [shortCount(cost.rowsPerHour), `entities read for nothing ${spanOf(finding)}`];
  if (cost.requestsPerHour)
    return [shortCount(cost.requestsPerHour), `requests too many ${spanOf(finding)}`];
  if (cost.bytesPerHour)
    return [shortCount(cost.bytesPerHour), `bytes too many ${spanOf(finding)}`];
  return ['', ''];
}

const planOfFinding = finding =>
  finding.code === 'Q01' || finding.code === 'Q02' || finding.code === 'Q10'
    ? 'table'
    : finding.code === 'Q03' || finding.code === 'Q04' || finding.code === 'Q05'
      ? 'partition'
      : finding.code === 'Q08'
        ? 'point'
        : 'range';

function code(finding) {
  const box = h('div', { class: 'code' });
  const codes = Object.fromEntries(
      (finding.cure.code || []).map(({ language, text }) => [language, text]),
    ),
    languages = Object.keys(codes);
  if (!languages.length) return null;
  let chosen = languages[0];
  const draw = () =>
    put(
      box,
      h(
        'div',
        { class: 'bar' },
        h(
          'span',
          { class: 'seg', role: 'group', 'aria-label': 'Language' },
          languages.map(name =>
            h(
              'button',
              {
                'aria-pressed': String(name === chosen),
                onclick: () => {
                  chosen = name;
                  draw();
                  box.querySelector('[aria-pressed="true"]').focus();
                },
              },
              name,
            ),
          ),
        ),
        h('span', { class: 'grow' }),
        copyButton(() => codes[chosen], 'Code'),
      ),
      h('pre', { tabindex: '0', role: 'region', 'aria-label': `${chosen} code` }, codes[chosen]),
    );
  draw();
  return box;
}

const chip = plan =>
  h(
    'span',
    { class: `chip ${PLANS[plan]?.css || 'none'}` },
    glyph(plan),
    PLANS[plan]?.word || plan,
  );

/** Before and after: plans, entities read by a query, keys; and how to try it on what was recorded. */
function change(finding, proposal) {
  if (!proposal) return null;
  const {
      examinedBefore: read,
      examinedAfter: then,
      planAfter,
      extraWritesPerHour: writes,
      partitionKey,
      rowKey,
      filterBefore,
      filterAfter,
    } = proposal,
    command = whatifCommand(finding);
  return h(
    'section',
    null,
    h('h3', null, 'With the change'),
    planAfter &&
      h(
        'div',
        { class: 'beforeafter' },
        h(
          'div',
          null,
          chip(planOfFinding(finding)),
          h(
            'p',
            null,
            h('b', null, count(read)),
            ` ${read === 1 ? 'entity' : 'entities'} read by a query`,
          ),
        ),
        h('span', { 'aria-hidden': 'true', class: 'arrow' }, '→'),
        h('span', { class: 'sr' }, 'becomes'),
        h(
          'div',
          null,
          chip(planAfter),
          h(
            'p',
            null,
            h('b', null, `about ${count(then)}`),
            ` ${Math.round(then) === 1 ? 'entity' : 'entities'} read by a query`,
          ),
        ),
      ),
    writes > 0 &&
      h(
        'p',
        { class: 'soft' },
        `Price: about ${plural(Math.round(writes), 'write')} more an hour.`,
      ),
    h(
      'div',
      { class: 'scrollx' },
      h(
        'table',
        { class: 'list keymap' },
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ['', 'PartitionKey', 'RowKey'].map(name =>
              h('th', { scope: 'col' }, name || h('span', { class: 'sr' }, 'Which')),
            ),
          ),
        ),
        h(
          'tbody',
          null,
          h(
            'tr',
            null,
            h('th', { scope: 'row' }, 'Asked today'),
            h('td', { class: 'mono', colspan: '2' }, filterBefore || finding.subject?.text || ''),
          ),
          partitionKey &&
            h(
              'tr',
              { class: 'new' },
              h('th', { scope: 'row' }, 'Store'),
              h('td', { class: 'mono' }, partitionKey),
              h('td', { class: 'mono' }, rowKey),
            ),
          filterAfter &&
            h(
              'tr',
              null,
              h('th', { scope: 'row' }, 'Ask then'),
              h('td', { class: 'mono', colspan: '2' }, filterAfter),
            ),
        ),
      ),
    ),
    command &&
      h(
        'div',
        { class: 'code whatif' },
        h(
          'div',
          { class: 'bar' },
          'Replay a trace under these keys',
          h('span', { class: 'grow' }),
          copyButton(command, 'Command'),
        ),
        h(
          'pre',
          { class: 'wrap copied', tabindex: '0', role: 'region', 'aria-label': 'Command' },
          command,
        ),
        h(
          'p',
          { class: 'muted pad0' },
          'run.trace is what a server writes that was started with --trace run.trace. It reads the table and writes nothing.',
        ),
      ),
  );
}

function body(finding, refresh) {
  const { cure, seen = '', chapter = {} } = finding,
    proposal = cure.proposal;
  const filter = proposal?.filterBefore;
  const isIgnored = finding.state === 'ignored';
  const ignore = async days => {
    await api.postJson('/advice/ignore', {
      id: finding.id,
      until: new Date(Date.now() + days * 86400e3).toISOString(),
    });
    toast(days > 0 ? 'Muted for 7 days' : 'Shown again');
    refresh();
  };
  return h(
    'div',
    { class: 'in' },
    h(
      'div',
      { class: 'two' },
      h('section', null, h('h3', null, 'Seen'), h('p', null, seen)),
      h(
        'section',
        null,
        h('h3', null, 'What to do'),
        h('p', null, cure.text),
        cure.functions?.length > 0 &&
          h(
            'p',
            { class: 'muted' },
            'In C: ',
            cure.functions.map((name, i) => [i > 0 && ', ', h('code', null, name)]),
          ),
      ),
    ),
    change(finding, proposal),
    proposal?.notes?.length > 0 &&
      h(
        'ul',
        { class: 'plain' },
        proposal.notes.map(note => h('li', { class: 'soft' }, note)),
      ),
    code(finding),
    h(
      'p',
      { class: 'soft chapter' },
      chapter.anchor
        ? h(
            'a',
            { href: `${GUIDE}#${chapter.anchor}`, target: '_blank', rel: 'noreferrer' },
            h('b', null, chapter.title),
          )
        : h('b', null, chapter.title),
      chapter.text && `: ${chapter.text}`,
    ),
    h(
      'div',
      { class: 'row' },
      finding.table &&
        h(
          'a',
          { class: 'btn', href: link('t', finding.table, 'heat', placeOnMap(finding)) },
          'Show on the map',
        ),
      filter &&
        h(
          'a',
          { class: 'btn', href: link('t', finding.table, 'rows', { f: filter }) },
          'Open the query',
        ),
      h(
        'button',
        {
          class: 'btn',
          onclick: () => {
            const line = `[rules]\n${finding.rule} = "error"`;
            navigator.clipboard?.writeText(line).then(
              () => toast('Line for tavola-lint.toml copied'),
              () => toast(line),
            );
          },
        },
        'Fail CI on this',
      ),
      h(
        'button',
        {
          class: 'btn quiet',
          onclick: () => ignore(isIgnored ? -1 : 7).catch(trouble => toast(trouble.message)),
        },
        isIgnored ? 'Show again' : 'Mute for 7 days',
      ),
    ),
    finding.sources?.length > 0 && h('p', { class: 'muted' }, 'From ', finding.sources.join(', ')),
    h(
      'p',
      { class: 'muted' },
      `${finding.code} ${finding.rule}; ${finding.confidence}; first seen ${finding.firstSeen ? instant(finding.firstSeen) : '–'}, last ${finding.lastSeen ? instant(finding.lastSeen) : '–'}.`,
    ),
  );
}

/** What was found before the window, by an earlier server or while it was used, is not in its requests. */
function heading(findings, { requests = 0, from = '' } = {}) {
  const older = findings.filter(finding => finding.lastSeen < from).length,
    all = `${plural(findings.length, 'finding')}, most costly first`;
  return older === 0
    ? `${all}; ${plural(requests, 'request')} looked at.`
    : `${all}; ${older === findings.length ? 'last seen' : `${older} of them last seen`} before ${instant(from)}, and ${plural(requests, 'request')} looked at since.`;
}

export async function show(route, table) {
  const list = h('div', { class: 'adv' });
  let open = route.query.get('open'),
    timer,
    isOpen = true,
    drawn = [];
  const named = table || route.query.get('t') || '';

  // What somebody reads is left alone.
  function again() {
    if (!isOpen) return;
    if (document.hidden || open) timer = setTimeout(again, 10000);
    else load();
  }

  async function load() {
    let answer;
    try {
      answer = await api.getJson(
        `/advice?account=${encodeURIComponent(api.currentAccount())}${named ? `&table=${encodeURIComponent(named)}` : ''}`,
      );
    } catch (trouble) {
      put(
        list,
        trouble.status === 404
          ? h(
              'p',
              { class: 'muted' },
              'This server gives no advice: it was started with --watch=off.',
            )
          : troubleBox(trouble),
      );
      return;
    }
    const active = answer.findings.filter(
      finding => finding.state === 'active' || finding.state === 'quiet',
    );
    if (!named) setAdviceCount(active.filter(finding => finding.severity !== 'info').length);
    draw(answer, answer.findings);
    clearTimeout(timer);
    timer = setTimeout(again, 10000);
  }

  function draw(answer, findings) {
    const focused = drawn[[...list.querySelectorAll('.cbtn')].indexOf(document.activeElement)];
    drawn = findings.map(finding => finding.id);
    const requests = answer.window?.requests ?? 0;
    put(
      list,
      findings.length === 0
        ? h(
            'p',
            { class: 'soft' },
            requests === 0
              ? 'No request of an application in the last hour. What this page and the tool tavola do is not judged.'
              : requests < 1000
                ? `Nothing to improve so far, in ${plural(requests, 'request')}.`
                : `Nothing to improve in the last hour (${plural(requests, 'request')}).`,
          )
        : h('p', { class: 'soft' }, heading(findings, answer.window)),
      findings.map(finding => {
        const isThis = finding.id === open,
          [value, unit] = costOf(finding);
        return h(
          'article',
          { class: `card finding${isThis ? ' open' : ''}` },
          h(
            'button',
            {
              class: 'cbtn',
              'aria-expanded': String(isThis),
              onclick: () => {
                open = isThis ? null : finding.id;
                setQuery({ open });
                draw(answer, findings);
                list.querySelectorAll('.cbtn')[findings.indexOf(finding)]?.focus();
              },
            },
            glyph(planOfFinding(finding)),
            h(
              'span',
              { class: 'tt' },
              h('b', null, finding.title),
              h(
                'span',
                { class: 'sub' },
                finding.table,
                finding.subject?.text && h('code', null, finding.subject.text),
                finding.subject?.partitionKey != null &&
                  h('code', null, finding.subject.partitionKey),
              ),
            ),
            h(
              'span',
              { class: `chip ${SEVERITY[finding.severity]}` },
              finding.state === 'active' ? finding.severity : finding.state,
            ),
            h('span', { class: 'cost' }, h('b', null, value), h('span', null, unit)),
            icon(isThis ? 'down' : 'right', 14),
          ),
          isThis &&
            body(finding, () => load().then(() => list.querySelectorAll('.cbtn')[0]?.focus())),
        );
      }),
    );
    if (focused)
      list.querySelectorAll('.cbtn')[drawn.indexOf(focused)]?.focus({ preventScroll: true });
  }

  await load();
  const page = h('div', { class: 'pad' }, list);
  return {
    nodes: table
      ? page
      : [topBar('Advice', 'What the design guide says about the traffic of this server'), page],
    leave: () => {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}
