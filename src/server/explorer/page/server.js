// The server: what it does now, from its own metrics, second by second; its log; its cluster.

import {
  h,
  put,
  putAgain,
  count,
  bytes,
  milliseconds,
  instant,
  percent,
  plural,
  dialog,
  shortCount,
} from './dom.js';
import * as api from './api.js';
import { topBar } from './frame.js';
import { link } from './route.js';
import { chart as lineChart, shareBar } from './charts.js';
import { logTail } from './log.js';
import { clusterView } from './cluster.js';

// How long a chart is, and what a point of it stands for.
const SPANS = { '2 min': { points: 120, stepMs: 1000 }, '1 hour': { points: 360, stepMs: 10000 } };
const KEPT_MS = 130_000;

// What was measured, each {from, to, ...} in milliseconds of this browser: second by second while a page looks, and as
// the server has kept it.  It stays while the page lives, so that coming back shows what was.
const seconds = [];
let kept = [],
  keptLast = null,
  spanName = '2 min';

function sum(metrics, name, test = () => true) {
  let total = 0;
  for (const [key, value] of metrics)
    if ((key === name || key.startsWith(`${name}{`)) && test(key)) total += value;
  return total;
}

/** A quantile in seconds out of the growth of a Prometheus histogram. */
function quantile(now, before, name, q) {
  const buckets = new Map();
  for (const [key, value] of now) {
    if (!key.startsWith(`${name}_bucket{`)) continue;
    const le = /le="([^"]+)"/.exec(key)[1];
    buckets.set(le, (buckets.get(le) || 0) + value - (before.get(key) || 0));
  }
  const sorted = [...buckets]
    .map(([le, n]) => [le === '+Inf' ? Infinity : Number(le), n])
    .sort((a, b) => a[0] - b[0]);
  const total = sorted.length ? sorted[sorted.length - 1][1] : 0;
  if (!(total > 0)) return null;
  const found = sorted.find(([, n]) => n >= q * total);
  return found && Number.isFinite(found[0]) ? found[0] : (sorted[sorted.length - 2]?.[0] ?? null);
}

const PLANS = [
  ['point', 'Point', 'point'],
  ['range', 'Range', 'range'],
  ['partition', 'Partition scan', 'part'],
  ['table', 'Table scan', 'table'],
];
const byPlan = (metrics, name) =>
  PLANS.map(([plan]) => sum(metrics, name, key => key.includes(`plan="${plan}"`)));

function measure(now, before, seconds) {
  const rate = (name, test) =>
    Math.max(0, (sum(now, name, test) - sum(before, name, test)) / seconds);
  const ofService = service =>
    rate('tavola_requests_total', key => key.includes(`service="${service}"`));
  const groups = rate('tavola_commit_groups_total'),
    writes = rate('tavola_commit_writes_total');
  return {
    tables: ofService('table'),
    queues: ofService('queue'),
    blobs: ofService('blob'),
    errors: rate('tavola_requests_total', key => /status="5/.test(key)),
    conflicts: rate('tavola_requests_total', key => /status="412"/.test(key)),
    p50: quantile(now, before, 'tavola_request_seconds', 0.5),
    p99: quantile(now, before, 'tavola_request_seconds', 0.99),
    commit: quantile(now, before, 'tavola_commit_seconds', 0.99),
    groups,
    perGroup: groups > 0 ? writes / groups : null,
    memory: sum(now, 'tavola_resident_bytes'),
    held: sum(now, 'tavola_memory_held_bytes'),
    disk:
      sum(now, 'tavola_rocksdb_table_bytes') +
      sum(now, 'tavola_extent_bytes') +
      sum(now, 'tavola_rocksdb_write_buffer_bytes'),
    poolReads: rate('tavola_rados_read_ops_total'),
    poolWrites: rate('tavola_rados_write_ops_total'),
    bytesIn: rate('tavola_body_bytes_total', key => key.includes('direction="in"')),
    bytesOut: rate('tavola_body_bytes_total', key => key.includes('direction="out"')),
    plans: byPlan(now, 'tavola_queries_total').map(
      (value, i) => Math.max(0, value - byPlan(before, 'tavola_queries_total')[i]) / seconds,
    ),
  };
}

/** Since the server started: the share of table scans among queries, and in what they read. */
function reading(metrics) {
  const queries = byPlan(metrics, 'tavola_queries_total'),
    examined = byPlan(metrics, 'tavola_queries_examined_total');
  const total = list => list.reduce((sum, value) => sum + value, 0);
  const bars = [
    ['of queries', queries],
    ['of entities read', examined],
  ].map(([label, list]) =>
    shareBar(
      label,
      PLANS.map(([, name, css], i) => ({ name, css, value: list[i] })),
    ),
  );
  const scans = queries[2] + queries[3],
    read = examined[2] + examined[3];
  return h(
    'div',
    { class: 'reading' },
    bars,
    total(queries) > 0 &&
      h(
        'p',
        { class: 'muted' },
        scans > 0
          ? h(
              'a',
              { href: link('advice') },
              `Scans are ${percent(scans / total(queries))} of the queries since the start and ${percent(read / (total(examined) || 1))} of the reading.`,
            )
          : 'No query has scanned since the start.',
      ),
  );
}

/** What has gone by since, in two units: "3 days 4 h". */
function lasting(seconds) {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  return days
    ? `${plural(days, 'day')} ${hours} h`
    : hours
      ? `${hours} h ${minutes} min`
      : minutes
        ? `${minutes} min`
        : `${Math.floor(seconds)} s`;
}

/** Ask for what the server has kept since the last time. */
async function readHistory() {
  const { now, points } = await api.metricsBefore(keptLast?.at ?? 0),
    offset = Date.now() - now;
  if (
    keptLast &&
    points.length &&
    sum(points[0].metrics, 'tavola_commit_groups_total') <
      sum(keptLast.metrics, 'tavola_commit_groups_total')
  )
    keptLast = null; // it was started again
  for (const point of points) {
    if (keptLast && point.at > keptLast.at)
      kept.push({
        from: keptLast.at + offset,
        to: point.at + offset,
        ...measure(point.metrics, keptLast.metrics, (point.at - keptLast.at) / 1000),
      });
    keptLast = point;
  }
  kept = kept.slice(-SPANS['1 hour'].points);
}

/** A measurement for each point of a span that ends now, or null. */
function pointsOf({ points, stepMs }, now) {
  const found = new Array(points).fill(null);
  for (const list of stepMs < 10000 ? [kept, seconds] : [kept]) {
    // what was seen by the second goes over what was kept
    for (const sample of list) {
      const last = Math.floor(points - 1 - (now - sample.to) / stepMs),
        first = Math.floor(points - 1 - (now - sample.from) / stepMs) + 1;
      for (let i = Math.max(0, Math.min(first, last)); i <= Math.min(last, points - 1); i++)
        found[i] = sample;
    }
  }
  return found;
}

async function bundle(trouble) {
  const wanted = await dialog('Support bundle', close =>
    h(
      'form',
      {
        class: 'putbox',
        onsubmit: event => {
          event.preventDefault();
          close(true);
        },
      },
      h('h2', null, 'Support bundle'),
      h('p', null, 'One text file for whoever helps you. It has:'),
      h(
        'ul',
        { class: 'dots' },
        [
          'the versions of the server, its libraries and the system',
          'the settings of the server: its flags, with paths and ports',
          'what /healthz and /metrics say, with names of tables',
          'on a cluster: nodes, ranges and their history, with keys',
          'the last lines of the log; with --access-log these name what was asked for',
        ].map(text => h('li', null, text)),
      ),
      h(
        'p',
        { class: 'soft' },
        'It has no keys of accounts, no tokens, no sessions and no data of entities. Look through it before you send it.',
      ),
      h(
        'div',
        { class: 'row end' },
        h('button', { type: 'button', class: 'btn', onclick: () => close(false) }, 'Cancel'),
        h('button', { type: 'submit', class: 'btn primary', autofocus: true }, 'Download'),
      ),
    ),
  );
  if (!wanted) return;
  try {
    const url = URL.createObjectURL(await api.bundle());
    const a = h('a', {
      href: url,
      download: `tavola-${new Date().toISOString().slice(0, 19).replace(/[:]/g, '')}.txt`,
    });
    document.body.append(a);
    a.click();
    a.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  } catch (error) {
    put(trouble, h('p', { class: 'bad', role: 'alert' }, `No bundle: ${error.message}`));
  }
}

export async function show() {
  const hello = api.serverFacts(),
    isCluster = hello.engine === 'rados';
  const body = h('div', { class: 'charts' }),
    line = h('p', { class: 'factsline' }),
    trouble = h('div');
  let previous = null,
    metrics = new Map(),
    timer,
    isOpen = true,
    isPaused = false,
    lastAt = null;
  const pause = h(
    'button',
    {
      class: 'btn',
      'aria-pressed': 'false',
      onclick: () => {
        isPaused = !isPaused;
        pause.setAttribute('aria-pressed', String(isPaused));
        put(pause, isPaused ? 'Go on' : 'Pause');
      },
    },
    'Pause',
  );

  function draw() {
    const shown = pointsOf(SPANS[spanName], previous ? previous.wall : Date.now());
    const of = pick => shown.map(sample => (sample ? pick(sample) : null));
    const chart = (title, series, options) =>
      lineChart(title, series, { ...options, span: `${spanName} ago` });
    const last = seconds.at(-1) || kept.at(-1),
      some = value => (value == null ? null : value);
    const mostPlans = last ? last.plans.reduce((total, value) => total + value, 0) : 0;
    const rate = value =>
      value == null ? '–' : value >= 100 || value === 0 ? count(value) : value.toFixed(1);
    const small = value => (value >= 10 || value === 0 ? shortCount(value) : value.toFixed(1));
    putAgain(
      body,
      chart(
        'Queries by plan',
        PLANS.map(([, name, css], i) => ({ name, css, values: of(x => x.plans[i]) })),
        {
          format: small,
          unit: '/s',
          stacked: true,
          big: `${rate(mostPlans)} per s`,
          more: reading(metrics),
        },
      ),
      chart(
        'Latency',
        [
          { name: 'p99', css: 'l1', values: of(x => some(x.p99 && x.p99 * 1000)) },
          { name: 'p50', css: 'l2', values: of(x => some(x.p50 && x.p50 * 1000)) },
        ],
        {
          format: milliseconds,
          big: last?.p99 ? `${milliseconds(last.p99 * 1000)} p99` : 'no requests',
        },
      ),
      chart(
        'Requests',
        [
          { name: 'Tables', css: 'l1', values: of(x => x.tables) },
          { name: 'Queues', css: 'l2', values: of(x => x.queues) },
          { name: 'Blobs', css: 'l3', values: of(x => x.blobs) },
        ],
        {
          format: small,
          unit: '/s',
          big: last ? `${rate(last.tables + last.queues + last.blobs)} per s` : null,
        },
      ),
      chart('Commit groups', [{ name: 'Groups', css: 'l1', values: of(x => x.groups) }], {
        format: small,
        unit: '/s',
        big: last?.perGroup ? `${rate(last.perGroup)} writes a group` : 'no writes',
        more: h(
          'p',
          { class: 'muted' },
          last?.commit
            ? `${isCluster ? 'In the pool' : 'On the disk'} in ${milliseconds(last.commit * 1000)} (p99${isCluster ? '' : ', fsync included'}).`
            : isCluster
              ? 'Each group is one operation on a range.'
              : 'Each group is one fsync.',
        ),
      }),
      chart(
        'Refused',
        [
          { name: '412, changed meanwhile', css: 'part', values: of(x => x.conflicts) },
          { name: '5xx', css: 'table', values: of(x => x.errors) },
        ],
        {
          format: small,
          unit: '/s',
          big: last ? `${rate(last.conflicts + last.errors)} per s` : null,
        },
      ),
      chart(
        'Bodies',
        [
          { name: 'Out', css: 'l1', values: of(x => x.bytesOut) },
          { name: 'In', css: 'l2', values: of(x => x.bytesIn) },
        ],
        {
          format: value => bytes(Math.round(value)),
          least: 1000,
          unit: '/s',
          big: last ? `${bytes(Math.round(last.bytesIn + last.bytesOut))} per s` : null,
        },
      ),
      chart(
        'Memory',
        [
          { name: 'Resident', css: 'l1', values: of(x => x.memory) },
          { name: 'Held by requests', css: 'l2', values: of(x => x.held) },
        ],
        { format: bytes, big: last ? bytes(last.memory) : null },
      ),
      isCluster
        ? chart(
            'Pool',
            [
              { name: 'Reads', css: 'l1', values: of(x => x.poolReads) },
              { name: 'Writes', css: 'l2', values: of(x => x.poolWrites) },
            ],
            {
              format: small,
              unit: '/s',
              big: last ? `${rate(last.poolReads + last.poolWrites)} operations per s` : null,
              more: h(
                'p',
                { class: 'muted' },
                `${bytes(sum(metrics, 'tavola_pool_free_bytes'))} free in the pool.`,
              ),
            },
          )
        : chart('Disk', [{ name: 'Data', css: 'l1', values: of(x => x.disk) }], {
            format: bytes,
            least: 1000,
            big: last ? bytes(last.disk) : null,
            more: h(
              'p',
              { class: 'muted' },
              `${bytes(sum(metrics, 'tavola_disk_free_bytes'))} free; below ${bytes(sum(metrics, 'tavola_disk_reserve_bytes'))} writes are refused.`,
            ),
          }),
    );
  }

  function drawFacts() {
    const isFull = sum(metrics, 'tavola_disk_is_full') + sum(metrics, 'tavola_pool_is_full') > 0;
    put(
      line,
      h(
        'span',
        { class: 'state' },
        h('i', { class: isFull ? 'dot bad' : 'dot', 'aria-hidden': 'true' }),
        h('b', null, isFull ? `The ${isCluster ? 'pool' : 'disk'} is nearly full` : 'Up'),
      ),
      [
        ...hello.versions,
        `up ${lasting(sum(metrics, 'tavola_uptime_seconds'))}, since ${instant(hello.startedAt).slice(0, 19)}`,
      ].map(text => h('span', null, text)),
      h(
        'a',
        { href: link('account') },
        [
          ['tables', 'table'],
          ['queues', 'queue'],
          ['containers', 'container'],
        ]
          .map(([all, one]) => plural(sum(metrics, `tavola_${all}`), one))
          .join(', '),
      ),
    );
  }

  async function look() {
    try {
      metrics = await api.metrics();
      const at = performance.now(),
        wall = Date.now();
      if (previous && !isPaused && at > previous.at && at - previous.at < 10000)
        seconds.push({
          from: previous.wall,
          to: wall,
          ...measure(metrics, previous.metrics, (at - previous.at) / 1000),
        });
      while (seconds.length && seconds[0].to < wall - KEPT_MS) seconds.shift();
      previous = { metrics, at, wall };
      lastAt = new Date();
      if (spanName === '1 hour') await readHistory();
      put(trouble);
      body.classList.remove('stale');
      if (!isPaused) {
        drawFacts();
        draw();
      }
    } catch (error) {
      if (error.status === 401) return;
      previous = null;
      body.classList.add('stale');
      put(
        trouble,
        h(
          'p',
          { class: 'bad', role: 'alert' },
          lastAt
            ? `No data since ${instant(lastAt.toISOString()).slice(11, 19)}: the server does not answer.`
            : 'No data: the server does not answer.',
        ),
      );
    }
    if (isOpen)
      timer = setTimeout(function again() {
        if (document.hidden) {
          previous = null;
          timer = setTimeout(again, 1000);
        } else look();
      }, 1000);
  }

  const spans = h('span', { class: 'seg', role: 'group', 'aria-label': 'How far back' });
  const drawSpans = () =>
    put(
      spans,
      Object.keys(SPANS).map(name =>
        h(
          'button',
          {
            'aria-pressed': String(name === spanName),
            onclick: async () => {
              spanName = name;
              drawSpans();
              spans.querySelector('[aria-pressed="true"]').focus();
              await readHistory().catch(() => {});
              if (isOpen) draw();
            },
          },
          name,
        ),
      ),
    );
  drawSpans();
  await readHistory().catch(() => {}); // without it the charts begin now
  const tail = logTail(),
    nodes = isCluster ? clusterView() : null;
  await look();
  draw();
  return {
    nodes: [
      topBar(
        'Server',
        '',
        pause,
        h('button', { class: 'btn', onclick: () => bundle(trouble) }, 'Support bundle'),
      ),
      h(
        'div',
        { class: 'pad' },
        line,
        h('div', { class: 'row gapped' }, spans),
        trouble,
        body,
        h('p', { class: 'sect' }, h('a', { href: link('requests') }, 'Requests as they come')),
        nodes?.node,
        tail.node,
      ),
    ],
    leave: () => {
      isOpen = false;
      clearTimeout(timer);
      tail.leave();
      nodes?.leave();
    },
  };
}
