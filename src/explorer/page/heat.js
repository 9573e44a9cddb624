// The heat map of a table: time against keys.  The picture is one canvas; what moves over it is
// another, so that a pointer redraws no cell.

import { h, put, icon, count, bytes, plural, visible, shortened, say } from './dom.js';
import * as api from './api.js';
import { link, setQuery, troubleBox } from './shell.js';

const MEASURES = { reads: 'Reads', writes: 'Writes', deletes: 'Deletes', bytes: 'Bytes', scanned: 'Scanned', conflicts: 'Conflicts' };
const SPANS = { '1m': ['6 hours', 60], '10m': ['4 days', 600], '1h': ['28 days', 3600] };
const RAMPS = {
  dark: ['121517', '1d2550', '4c2a86', '98307f', 'd9484f', 'f88f2f', 'fbd657', 'fdfbd8'],
  light: ['f8f9fa', 'fff0c2', 'fdcf6b', 'f6963c', 'dd5548', 'a3307a', '592a86', '191647'],
};
const NAMES = { even: 'Even', stripes: 'Stripes', 'hot-line': 'Hot line', rising: 'Rising diagonal', falling: 'Falling diagonal', wall: 'Wall' };

/** 256 colours of a theme; `power` above 1 keeps the ordinary pale. */
export function palette(theme, power) {
  const stops = RAMPS[theme].map(hex => [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, code) => {
    const part = code === 0 ? 0 : 0.06 + 0.94 * ((code / 255) ** power);
    const at = part * (stops.length - 1), low = Math.floor(at), high = Math.min(low + 1, stops.length - 1), mix = at - low;
    return stops[low].map((value, i) => Math.round(value + (stops[high][i] - value) * mix));
  });
}

/** TVH1: a header in JSON, then a byte for each cell, slot by slot. */
export function readHeat(buffer) {
  const view = new DataView(buffer);
  if (String.fromCharCode(...new Uint8Array(buffer, 0, 4)) !== 'TVH1') throw new Error('This is not a heat map.');
  const length = view.getUint32(4, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return { ...head, cells: new Uint8Array(buffer, 8 + length) };
}

/** About what a byte stands for. */
export const valueOf = (code, max) => code === 0 ? 0 : max ** ((code - 1) / 254);

const keyText = key => !key || key.every(part => part === '') ? '' : key.slice(0, 2).map(part => visible(part)).join(' / ');
const keyParameter = key => key.join('\u0001');

class Heat {
  constructor(route, table) {
    const { query } = route;
    Object.assign(this, { table, measure: MEASURES[query.get('m')] ? query.get('m') : 'writes', grain: SPANS[query.get('g')] ? query.get('g') : '1m', power: 1.4, isFlipped: false, data: null, cursor: null, pins: [], isTable: query.get('as') === 'table' });
    this.zoom = this.readZoom(query);
    this.canvas = h('canvas', { class: 'cells', 'aria-hidden': 'true' });
    this.over = h('canvas', { class: 'over', tabindex: '0', role: 'img', 'aria-label': 'Heat map' });
    this.box = h('div', { class: 'heatbox' }, this.canvas, this.over);
    this.keysBox = h('div', { class: 'hkeys', 'aria-hidden': 'true' });
    this.timesBox = h('div', { class: 'htimes', 'aria-hidden': 'true' });
    this.cards = h('div', { class: 'hcards' });
    this.tip = h('div', { class: 'htip', role: 'status', hidden: true });
    this.pinBox = h('div', { class: 'hpins' });
    this.bar = h('div', { class: 'row hbar' });
    this.trouble = h('div');
    this.tableBox = h('div', { class: 'pad', hidden: true });
    this.map = h('div', { class: 'hmap' }, this.keysBox, this.box, h('span'), this.timesBox);
    this.foot = h('div', { class: 'row hfoot muted' });
    this.nodes = h('div', { class: 'page heat' }, this.cards, this.bar, this.trouble, this.map, this.tableBox, this.tip, this.pinBox, this.foot);
    this.listen();
  }

  readZoom(query) {
    const x = query.get('x')?.split(',').map(text => /^\d+$/.test(text) ? Number(text) : Date.parse(text) / 1000), y = query.get('y');
    return { from: x?.[0] || null, to: x?.[1] || null, low: y ? JSON.parse(y)[0] : null, high: y ? JSON.parse(y)[1] : null };
  }

  async load() {
    const { zoom } = this;
    const query = new URLSearchParams({ account: api.currentAccount(), table: this.table, measure: this.measure, grain: this.grain, buckets: '512', format: 'heat' });
    if (zoom.from) { query.set('from', Math.floor(zoom.from)); query.set('to', Math.ceil(zoom.to)); }
    if (zoom.low) query.set('low', keyParameter(zoom.low));
    if (zoom.high) query.set('high', keyParameter(zoom.high));
    try {
      const reply = await api.send('GET', `/traffic?${query}`);
      if (!reply.ok) throw await api.troubleOf(reply);
      this.data = readHeat(await reply.arrayBuffer());
      put(this.trouble);
    } catch (trouble) {
      put(this.trouble, trouble.status === 404 ? h('p', { class: 'pad0 muted' }, 'No traffic is recorded: the server was started with --watch=off, or the table is gone.') : troubleBox(trouble));
      return;
    }
    this.drawAll();
  }

  drawAll() {
    this.drawBar();
    this.drawCards();
    this.drawCells();
    this.drawAxes();
    this.drawTable();
    this.drawOver();
    const { findings = [] } = this.data;
    this.over.setAttribute('aria-label', `Heat map of ${MEASURES[this.measure].toLowerCase()}: ${findings.length ? findings.map(finding => `${NAMES[finding.pattern ?? finding.kind] || finding.pattern}: ${finding.text ?? finding.sentence ?? ''}`).join(' ') : 'no pattern'}. Arrow keys move the cursor, Enter pins.`);
    put(this.foot, 'Drag to zoom. Click to pin. Esc shows all. Each pixel shows the busiest bucket under it.', this.data.approx ? ' Where bounds have changed, parts are about right.' : '', h('span', { class: 'grow' }), h('button', { class: 'btn quiet small', 'aria-pressed': String(this.isTable), onclick: () => { this.isTable = !this.isTable; setQuery({ as: this.isTable ? 'table' : null }); this.drawAll(); } }, 'Show as table'));
    this.map.hidden = this.isTable;
    this.tableBox.hidden = !this.isTable;
  }

  drawBar() {
    const group = (label, entries, chosen, choose) => h('span', { class: 'seg', role: 'group', 'aria-label': label }, entries.map(([id, name]) => h('button', { 'aria-pressed': String(id === chosen), onclick: () => choose(id) }, name)));
    put(this.bar,
      group('Measure', Object.entries(MEASURES), this.measure, id => { this.measure = id; setQuery({ m: id }, true); this.load(); }),
      group('Time', Object.entries(SPANS).map(([id, [name]]) => [id, name]), this.grain, id => { this.grain = id; this.setZoom({ from: null, to: null, low: null, high: null }); setQuery({ g: id, x: null, y: null }, true); }),
      this.isZoomed() && h('button', { class: 'btn small', onclick: () => this.showAll() }, 'Show all'), h('span', { class: 'grow' }),
      h('span', { class: 'legend' }, '0', h('canvas', { class: 'ramp', width: '120', height: '8', 'aria-hidden': 'true' }), `${this.measure === 'bytes' ? bytes(this.data.max) : count(this.data.max)} per ${{ '1m': 'minute', '10m': '10 minutes', '1h': 'hour' }[this.grain]}`));
    const ramp = this.bar.querySelector('.ramp').getContext('2d'), colours = this.colours();
    for (let x = 0; x < 120; x++) { ramp.fillStyle = `rgb(${colours[Math.round(x / 119 * 255)]})`; ramp.fillRect(x, 0, 1, 8); }
  }

  drawCards() {
    const { findings = [], recorded = 0 } = this.data;
    put(this.cards, findings.length ? findings.map((finding, i) => h('article', { class: 'hcard' }, h('b', null, `${i + 1}  ${NAMES[finding.pattern ?? finding.kind] || finding.pattern || finding.kind}`), h('span', { class: `verdict ${finding.verdict === 'fix' ? 'bad' : finding.verdict === 'fine' ? 'good' : 'soft'}` }, finding.verdict), h('p', null, finding.text ?? finding.sentence)))
      : h('p', { class: 'muted' }, recorded < 10 ? `Patterns need 10 ${this.grain === '1m' ? 'minutes' : 'slots'} of traffic; ${recorded} so far.` : `No pattern found in ${SPANS[this.grain][0]}.`));
  }

  colours() { return palette(document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light', this.power); }

  /** Which row of cells is at the top: the last key, unless it is flipped. */
  bucketAt(y, height) { const part = Math.min(0.999999, Math.max(0, y / height)); return Math.floor((this.isFlipped ? part : 1 - part - 1e-9) * this.data.buckets); }

  // A pixel takes the greatest of the cells under it, so that a thin line survives.
  drawCells() {
    const { slots, buckets, cells } = this.data, ratio = devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.box.clientWidth * ratio)), height = Math.max(1, Math.round(this.box.clientHeight * ratio));
    this.canvas.width = width;
    this.canvas.height = height;
    const context = this.canvas.getContext('2d'), picture = context.createImageData(width, height), colours = this.colours();
    const first = new Int32Array(height), last = new Int32Array(height);
    for (let y = 0; y < height; y++) {
      const from = Math.floor(y * buckets / height), to = Math.max(from + 1, Math.ceil((y + 1) * buckets / height));
      first[y] = this.isFlipped ? from : Math.max(0, buckets - to);
      last[y] = this.isFlipped ? Math.min(buckets, to) : buckets - from;
    }
    for (let x = 0; x < width; x++) {
      const from = Math.floor(x * slots / width), to = Math.min(slots, Math.max(from + 1, Math.ceil((x + 1) * slots / width)));
      for (let y = 0; y < height; y++) {
        let most = 0;
        for (let slot = from; slot < to; slot++) for (let bucket = first[y]; bucket < last[y]; bucket++) { const code = cells[slot * buckets + bucket]; if (code > most) most = code; }
        const colour = colours[most], at = (y * width + x) * 4;
        picture.data[at] = colour[0];
        picture.data[at + 1] = colour[1];
        picture.data[at + 2] = colour[2];
        picture.data[at + 3] = 255;
      }
    }
    context.putImageData(picture, 0, 0);
  }

  drawAxes() {
    const { slots, buckets, keys, from, grainS } = this.data, height = this.box.clientHeight || 400, step = Math.max(1, Math.ceil(buckets / Math.max(1, Math.floor(height / 22))));
    const labels = [];
    for (let bucket = 0; bucket < buckets; bucket += step) {
      const y = (this.isFlipped ? bucket : buckets - bucket - 1) / buckets * height;
      labels.push(h('span', { css: { top: `${y}px` }, title: keyText(keys[bucket]) }, shortened(keyText(keys[bucket]) || '(first)', 20)));
    }
    put(this.keysBox, labels);
    const times = 6;
    put(this.timesBox, Array.from({ length: times + 1 }, (_, i) => { const date = new Date((from + i / times * slots * grainS) * 1000); return h('span', null, this.grain === '1m' ? date.toISOString().slice(11, 16) : date.toISOString().slice(5, 16).replace('T', ' ')); }));
  }

  drawTable() {
    if (!this.isTable) return;
    const { slots, buckets, cells, keys, max, from, grainS } = this.data, rows = [];
    let total = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      let sum = 0, peak = 0, peakSlot = 0;
      for (let slot = 0; slot < slots; slot++) { const value = valueOf(cells[slot * buckets + bucket], max); sum += value; if (value > peak) { peak = value; peakSlot = slot; } }
      total += sum;
      if (sum) rows.push({ bucket, sum, peakSlot });
    }
    rows.sort((a, b) => b.sum - a.sum);
    put(this.tableBox, h('table', { class: 'list' }, h('caption', { class: 'sr' }, 'The busiest buckets'), h('thead', null, h('tr', null, ['From', 'To', `About, ${MEASURES[this.measure].toLowerCase()}`, 'Share', 'Peak'].map((name, i) => h('th', { scope: 'col', class: i > 1 ? 'r' : null }, name)))),
      h('tbody', null, rows.slice(0, 100).map(({ bucket, sum, peakSlot }) => h('tr', null, h('td', { class: 'mono' }, keyText(keys[bucket]) || '(first)'), h('td', { class: 'mono' }, bucket + 1 < buckets ? keyText(keys[bucket + 1]) : '(end)'), h('td', { class: 'r' }, count(sum)), h('td', { class: 'r' }, `${(sum / total * 100).toFixed(1)} %`), h('td', { class: 'r' }, new Date((from + peakSlot * grainS) * 1000).toISOString().slice(0, 16).replace('T', ' ')))), rows.length === 0 && h('tr', null, h('td', { colspan: '5', class: 'muted' }, 'No traffic.')))));
  }

  // --- the layer that moves ---

  drawOver() {
    const ratio = devicePixelRatio || 1, width = this.box.clientWidth, height = this.box.clientHeight, { slots, buckets } = this.data;
    this.over.width = width * ratio;
    this.over.height = height * ratio;
    const context = this.over.getContext('2d'), ink = getComputedStyle(document.documentElement).getPropertyValue('--ink');
    context.scale(ratio, ratio);
    context.strokeStyle = ink;
    const x = slot => (slot + 0.5) * width / slots, y = bucket => ((this.isFlipped ? bucket : buckets - bucket - 1) + 0.5) * height / buckets;
    if (this.cursor) {
      context.globalAlpha = 0.6;
      context.beginPath();
      context.moveTo(x(this.cursor.slot), 0);
      context.lineTo(x(this.cursor.slot), height);
      context.moveTo(0, y(this.cursor.bucket));
      context.lineTo(width, y(this.cursor.bucket));
      context.stroke();
      context.globalAlpha = 1;
    }
    for (const pin of this.pins) context.strokeRect(x(pin.slot) - 5, y(pin.bucket) - 5, 10, 10);
    if (this.drag) context.strokeRect(Math.min(this.drag.x0, this.drag.x1), Math.min(this.drag.y0, this.drag.y1), Math.abs(this.drag.x1 - this.drag.x0), Math.abs(this.drag.y1 - this.drag.y0));
  }

  cellAt(event) {
    const box = this.over.getBoundingClientRect();
    return { slot: Math.max(0, Math.min(this.data.slots - 1, Math.floor((event.clientX - box.left) / box.width * this.data.slots))), bucket: Math.max(0, Math.min(this.data.buckets - 1, this.bucketAt(event.clientY - box.top, box.height))) };
  }

  describe(cell) {
    const { keys, buckets, cells, max, from, grainS } = this.data, time = new Date((from + cell.slot * grainS) * 1000).toISOString().slice(0, 16).replace('T', ' ');
    const value = valueOf(cells[cell.slot * buckets + cell.bucket], max);
    return { time, low: keys[cell.bucket], high: cell.bucket + 1 < buckets ? keys[cell.bucket + 1] : null, about: value };
  }

  showTip(cell, event) {
    const { time, low, high, about } = this.describe(cell);
    this.tip.hidden = false;
    put(this.tip, h('b', null, `${time} UTC`), h('div', { class: 'mono' }, keyText(low) || '(first)', ' … ', high ? keyText(high) : '(end)'), h('div', null, about ? `about ${this.measure === 'bytes' ? bytes(Math.round(about)) : count(about)} ${MEASURES[this.measure].toLowerCase()}` : 'nothing'));
    if (event) { this.tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 300)}px`; this.tip.style.top = `${Math.min(event.clientY + 14, innerHeight - 110)}px`; }
  }

  async pin(cell) {
    this.pins = [...this.pins.slice(-2), cell];
    const { time, low, high } = this.describe(cell);
    const query = new URLSearchParams({ account: api.currentAccount(), table: this.table, grain: this.grain, from: String(this.data.from + cell.slot * this.data.grainS) });
    query.set('low', keyParameter(low));
    if (high) query.set('high', keyParameter(high));
    try { cell.exact = await api.getJson(`/traffic/cell?${query}`); } catch (trouble) { cell.exact = { trouble: trouble.message }; }
    Object.assign(cell, { time, low, high });
    this.drawPins();
    this.drawOver();
    say(`Pinned ${time}`);
  }

  drawPins() {
    put(this.pinBox, this.pins.map((cell, i) => {
      const filter = [cell.low?.[0] != null && cell.low[0] !== '' && `PartitionKey ge '${cell.low[0].replace(/'/g, "''")}'`, cell.high?.[0] != null && `PartitionKey le '${cell.high[0].replace(/\u0002/g, '').replace(/'/g, "''")}'`].filter(Boolean).join(' and ');
      const figures = cell.exact?.measures || cell.exact || {};
      return h('article', { class: 'hcard' }, h('b', null, `${cell.time} UTC`), h('button', { class: 'btn quiet small', 'aria-label': 'Remove the pin', onclick: () => { this.pins.splice(i, 1); this.drawPins(); this.drawOver(); this.over.focus(); } }, icon('close', 12)),
        h('p', { class: 'mono' }, keyText(cell.low) || '(first)', ' … ', cell.high ? keyText(cell.high) : '(end)'),
        cell.exact?.trouble ? h('p', { class: 'bad' }, cell.exact.trouble) : h('dl', { class: 'kv' }, Object.entries(MEASURES).filter(([id]) => figures[id] != null).map(([id, name]) => [h('dt', null, name), h('dd', null, id === 'bytes' ? bytes(figures[id]) : count(figures[id]))])),
        h('a', { href: link('t', this.table, 'rows', { f: filter }) }, 'Open its entities'));
    }));
  }

  // --- zoom ---

  isZoomed() { return this.zoom.from || this.zoom.low || this.zoom.high; }
  setZoom(zoom) { this.zoom = zoom; this.pins = []; this.cursor = null; this.drawPins(); this.load(); }
  showAll() { setQuery({ x: null, y: null }, true); this.setZoom({ from: null, to: null, low: null, high: null }); }
  zoomTo(a, b) {
    const { from, grainS, keys, buckets } = this.data, [s0, s1] = [Math.min(a.slot, b.slot), Math.max(a.slot, b.slot)], [b0, b1] = [Math.min(a.bucket, b.bucket), Math.max(a.bucket, b.bucket)];
    const zoom = { from: from + s0 * grainS, to: from + (s1 + 1) * grainS, low: b0 > 0 ? keys[b0] : this.zoom.low, high: b1 + 1 < buckets ? keys[b1 + 1] : this.zoom.high };
    setQuery({ x: `${zoom.from},${zoom.to}`, y: zoom.low || zoom.high ? JSON.stringify([zoom.low, zoom.high]) : null }, true);
    this.setZoom(zoom);
  }

  listen() {
    const { over } = this;
    over.addEventListener('pointermove', event => {
      if (!this.data) return;
      const cell = this.cellAt(event), box = over.getBoundingClientRect();
      if (this.drag) { this.drag.x1 = event.clientX - box.left; this.drag.y1 = event.clientY - box.top; } else { this.cursor = cell; this.showTip(cell, event); }
      this.drawOver();
    });
    over.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    over.addEventListener('pointerdown', event => { if (!this.data) return; const box = over.getBoundingClientRect(); over.setPointerCapture(event.pointerId); this.drag = { x0: event.clientX - box.left, y0: event.clientY - box.top, x1: event.clientX - box.left, y1: event.clientY - box.top, start: this.cellAt(event) }; });
    over.addEventListener('pointerup', event => {
      if (!this.drag) return;
      const { drag } = this, end = this.cellAt(event), isDrag = Math.abs(drag.x1 - drag.x0) > 6 || Math.abs(drag.y1 - drag.y0) > 6;
      this.drag = null;
      if (isDrag) this.zoomTo(drag.start, end); else this.pin(end);
    });
    over.addEventListener('dblclick', () => this.showAll());
    over.addEventListener('keydown', event => this.key(event));
    this.resize = new ResizeObserver(() => { if (this.data && !this.isTable) { this.drawCells(); this.drawAxes(); this.drawOver(); } });
    this.resize.observe(this.box);
    this.onTheme = () => { if (this.data) this.drawAll(); };
    addEventListener('themechange', this.onTheme);
  }

  key(event) {
    if (!this.data) return;
    const step = event.shiftKey ? 20 : 1, up = this.isFlipped ? -1 : 1, cell = this.cursor || { slot: this.data.slots - 1, bucket: 0 };
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step * up], ArrowDown: [0, -step * up] };
    if (moves[event.key]) { this.cursor = { slot: Math.max(0, Math.min(this.data.slots - 1, cell.slot + moves[event.key][0])), bucket: Math.max(0, Math.min(this.data.buckets - 1, cell.bucket + moves[event.key][1])) }; this.showTip(this.cursor); this.drawOver(); }
    else if (event.key === 'Enter' && this.cursor) this.pin({ ...this.cursor });
    else if (event.key === 'Escape') { if (this.isZoomed()) this.showAll(); else this.tip.hidden = true; }
    else if (event.key === '+' || event.key === '-') { this.power = Math.max(0.6, Math.min(3, this.power + (event.key === '-' ? 0.2 : -0.2))); this.drawAll(); }
    else if (event.key === 'f') { this.isFlipped = !this.isFlipped; this.drawAll(); }
    else if (event.key === 'z' && this.cursor) this.zoomTo({ slot: this.cursor.slot - 10 < 0 ? 0 : this.cursor.slot - 10, bucket: Math.max(0, this.cursor.bucket - 10) }, { slot: Math.min(this.data.slots - 1, this.cursor.slot + 10), bucket: Math.min(this.data.buckets - 1, this.cursor.bucket + 10) });
    else return;
    event.preventDefault();
  }

  close() {
    this.resize.disconnect();
    removeEventListener('themechange', this.onTheme);
    clearInterval(this.timer);
  }
}

export async function show(route, table) {
  const heat = new Heat(route, table);
  return { nodes: heat.nodes, shown: () => { heat.load(); heat.timer = setInterval(() => { if (!document.hidden && !heat.isZoomed() && !heat.drag) heat.load(); }, 30000); }, leave: () => heat.close() };
}
