// The server: what it does now, from its own metrics, second by second.

import { h, put, count, bytes, milliseconds, instant, plural } from './dom.js';
import * as api from './api.js';
import { topBar, serverFacts, troubleBox } from './shell.js';
import { chart } from './charts.js';

const POINTS = 120;
const samples = []; // kept while the page lives, so that coming back shows what was

function sum(figures, name, test = () => true) {
  let total = 0;
  for (const [key, value] of figures) if ((key === name || key.startsWith(`${name}{`)) && test(key)) total += value;
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
  const sorted = [...buckets].map(([le, n]) => [le === '+Inf' ? Infinity : Number(le), n]).sort((a, b) => a[0] - b[0]);
  const total = sorted.length ? sorted[sorted.length - 1][1] : 0;
  if (!total) return null;
  const found = sorted.find(([, n]) => n >= q * total);
  return found && Number.isFinite(found[0]) ? found[0] : sorted[sorted.length - 2]?.[0] ?? null;
}

const PLANS = [['point', 'Point', 'point'], ['range', 'Range', 'range'], ['partition', 'Partition scan', 'part'], ['table', 'Table scan', 'table']];

function measure(now, before, seconds) {
  const rate = (name, test) => Math.max(0, (sum(now, name, test) - sum(before, name, test)) / seconds);
  return {
    tables: rate('tavola_requests_total', key => key.includes('service="table"')), queues: rate('tavola_requests_total', key => key.includes('service="queue"')), blobs: rate('tavola_requests_total', key => key.includes('service="blob"')),
    errors: rate('tavola_requests_total', key => /status="5/.test(key)), conflicts: rate('tavola_requests_total', key => /status="412"/.test(key)),
    p50: quantile(now, before, 'tavola_request_seconds', 0.5), p99: quantile(now, before, 'tavola_request_seconds', 0.99),
    commit: quantile(now, before, 'tavola_commit_seconds', 0.99), groups: rate('tavola_commit_groups_total'), writes: rate('tavola_commit_writes_total'),
    memory: sum(now, 'tavola_resident_bytes'), disk: sum(now, 'tavola_rocksdb_live_bytes') || sum(now, 'tavola_engine_bytes'),
    plans: Object.fromEntries(PLANS.map(([plan]) => [plan, rate('tavola_queries_total', key => key.includes(`plan="${plan}"`)) || rate('tavola_table_queries_total', key => key.includes(`plan="${plan}"`))])),
  };
}

export async function show() {
  const hello = serverFacts();
  const body = h('div', { class: 'charts' }), line = h('p', { class: 'factsline' }), trouble = h('div'), clusterBox = h('div');
  let previous = null, timer, isOpen = true, isPaused = false;
  const pause = h('button', { class: 'btn', 'aria-pressed': 'false', onclick: () => { isPaused = !isPaused; pause.setAttribute('aria-pressed', String(isPaused)); put(pause, isPaused ? 'Go on' : 'Pause'); } }, 'Pause');

  function draw() {
    const recent = samples.slice(-POINTS), padded = [...new Array(POINTS - recent.length).fill(null), ...recent];
    const of = pick => padded.map(sample => sample ? pick(sample) : null);
    put(body,
      chart('Requests', [{ name: 'Tables', css: 'l1', values: of(x => x.tables) }, { name: 'Queues', css: 'l2', values: of(x => x.queues) }, { name: 'Blobs', css: 'l3', values: of(x => x.blobs) }], { unit: '/s' }),
      chart('Queries by plan', PLANS.map(([plan, name, css]) => ({ name, css, values: of(x => x.plans[plan]) })), { unit: '/s', stacked: true }),
      chart('Latency', [{ name: 'p99', css: 'l1', values: of(x => x.p99 && x.p99 * 1000) }, { name: 'p50', css: 'l2', values: of(x => x.p50 && x.p50 * 1000) }], { format: milliseconds }),
      chart('Commits', [{ name: 'Writes', css: 'l1', values: of(x => x.writes) }, { name: 'Groups', css: 'l2', values: of(x => x.groups) }], { unit: '/s' }),
      chart('Refused', [{ name: '412', css: 'part', values: of(x => x.conflicts) }, { name: '5xx', css: 'table', values: of(x => x.errors) }], { unit: '/s' }),
      chart('Memory', [{ name: 'Resident', css: 'l1', values: of(x => x.memory) }], { format: bytes }));
  }

  async function look() {
    try {
      const figures = await api.metrics(), at = performance.now();
      if (previous && !isPaused) { samples.push(measure(figures, previous.figures, (at - previous.at) / 1000)); if (samples.length > POINTS) samples.shift(); }
      previous = { figures, at };
      put(trouble);
      put(line, [`Tavola ${hello.version}`, `engine ${hello.engine}`, `up since ${instant(hello.startedAt)}`, plural(sum(figures, 'tavola_tables'), 'table'), plural(sum(figures, 'tavola_queues'), 'queue'), plural(sum(figures, 'tavola_containers'), 'container'), `${bytes(sum(figures, 'tavola_disk_free_bytes'))} of disk free`].map(text => h('span', null, text)));
      if (!isPaused) draw();
    } catch (error) {
      if (error.status === 401) return;
      samples.push(null);
      put(trouble, h('p', { class: 'bad' }, 'No data: the server does not answer.'));
    }
    if (isOpen) timer = setTimeout(function again() { if (document.hidden) timer = setTimeout(again, 1000); else look(); }, 1000);
  }

  async function cluster() {
    try {
      const answer = await api.getJson('/cluster');
      put(clusterBox, h('h2', null, 'Nodes'), h('table', { class: 'list' }, h('thead', null, h('tr', null, ['Node', 'State', 'Version'].map(name => h('th', { scope: 'col' }, name)))), h('tbody', null, (answer.nodes || []).map(node => h('tr', null, h('td', { class: 'mono' }, String(node.name ?? node.id ?? node.node)), h('td', null, String(node.state ?? (node.leads ? 'leads' : 'up'))), h('td', null, String(node.version ?? '')))))),
        h('h2', null, 'Ranges'), h('table', { class: 'list' }, h('thead', null, h('tr', null, ['Range', 'From', 'Rows'].map(name => h('th', { scope: 'col' }, name)))), h('tbody', null, (answer.ranges || []).map(range => h('tr', null, h('td', { class: 'mono' }, String(range.id ?? range.name)), h('td', { class: 'mono' }, String(range.from ?? range.start ?? '')), h('td', { class: 'r' }, count(range.rows ?? 0)))))),
        h('h2', null, 'History'), h('table', { class: 'list' }, h('tbody', null, (answer.history || []).slice(0, 50).map(event => h('tr', null, h('td', null, String(event.at ?? event.time ?? '')), h('td', null, String(event.what ?? event.kind ?? '')), h('td', { class: 'r' }, event.pauseMs != null ? `${event.pauseMs} ms` : ''))))));
    } catch { /* one server */ }
  }

  await look();
  draw();
  if (hello.engine === 'rados') cluster();
  return { nodes: [topBar('Server', '', pause), h('div', { class: 'pad' }, line, trouble, body, clusterBox)], leave: () => { isOpen = false; clearTimeout(timer); } };
}
