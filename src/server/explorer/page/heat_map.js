// The map itself: its cells, the axes and sums around them, and the layer over them that moves.
// What may be seen of which answer is the view's to choose (heat.js).

import { h, put, count, bytes, shortened, say } from './dom.js';
import {
  MEASURES,
  bucketOf,
  isOneKey,
  keyText,
  labelsOf,
  orderOf,
  placeOf,
  rangeText,
  slotOf,
  countOf,
} from './heat_data.js';
import { changePalette, drawCells, drawEvent, drawMarker, palette } from './heat_draw.js';

export const GRAINS = {
  '1m': { span: '6 hours', each: 'minute' },
  '10m': { span: '4 days', each: '10 minutes' },
  '1h': { span: '28 days', each: 'hour' },
};
export const PATTERNS = {
  even: ['Even', 'The load is spread over the partitions. Nothing to do.'],
  uneven: [
    'Uneven',
    'One partition has more than others, which is fine while it stays below what Azure gives one: 2,000 entities a second.',
  ],
  stripes: [
    'Stripes',
    'A timer or a job asks in a rhythm. That is fine if the server copes with the peaks; if not, let the clients start at different times.',
  ],
  'hot-line': [
    'Hot line',
    'One partition, or one entity, takes the load, which no split can divide. Spread it over several, or keep it in the client.',
  ],
  rising: [
    'Rising diagonal',
    'The append anti-pattern: every insert goes to the last keys, and a split only moves the edge. Let something that varies come first in the PartitionKey.',
  ],
  falling: [
    'Falling diagonal',
    'The prepend anti-pattern: every insert goes before all others, and a split only moves the edge. Let something that varies come first in the PartitionKey.',
  ],
  wall: [
    'Wall',
    'What reads every key: Queries has its shape, and Advice a key that makes it a range.',
  ],
};

const time = (seconds, long) =>
  new Date(seconds * 1000)
    .toISOString()
    .slice(long ? 5 : 11, 16)
    .replace('T', ' ');
export const longTime = seconds =>
  new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
export const themeName = () =>
  document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light';

/**
 * `whole` is the answer for all that is kept, `data` the one that is shown, which is the same unless the
 * map is zoomed or two periods are compared; `rect` is what is seen of `data`, in slots and buckets.
 */
export class HeatMap {
  constructor() {
    Object.assign(this, {
      power: 1.4,
      isFlipped: false,
      whole: null,
      data: null,
      rect: null,
      sums: null,
      cursor: null,
      pins: [],
      drag: null,
      cluster: null,
      showsRanges: true,
    });
    this.canvas = h('canvas', { class: 'cells', 'aria-hidden': 'true' });
    this.over = h('canvas', {
      class: 'over',
      tabindex: '0',
      role: 'application',
      'aria-label': 'Heat map',
    });
    this.box = h('div', { class: 'heatbox' }, this.canvas, this.over);
    this.keysBox = h('div', { class: 'hkeys', 'aria-hidden': 'true' });
    this.commonBox = h('span'); // what all keys begin with
    this.sharesBox = h('div', { class: 'hshares' });
    this.timesBox = h('div', { class: 'htimes', 'aria-hidden': 'true' });
    this.totalBox = h('canvas', {
      class: 'htotal',
      role: 'img',
      'aria-label': 'All keys together over time',
    });
    this.tip = h('div', { class: 'htip', hidden: true });
    this.map = h(
      'div',
      { class: 'hmap' },
      this.keysBox,
      this.box,
      this.sharesBox,
      h('span'),
      this.timesBox,
      h('span'),
      h('span', { class: 'hall' }, 'all keys'),
      this.totalBox,
      h('span'),
    );
  }

  colours() {
    return this.data?.isDifference
      ? changePalette(themeName(), this.power / 2)
      : palette(themeName(), this.power);
  }

  amount(value) {
    return this.measure === 'bytes' ? bytes(Math.round(value)) : count(value);
  }
  findings() {
    return this.whole.findings || [];
  }
  /** Patterns of all measures come with each: in which this one is to be seen. */
  measureOf(finding) {
    return finding.m === 'inserts' ? 'writes' : finding.m;
  }
  isMarked(finding) {
    return finding.kind !== 'even' && this.measureOf(finding) === this.measure;
  }
  named(finding) {
    return (PATTERNS[finding.kind] || [finding.kind])[0];
  }

  drawMap() {
    const ratio = devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.over]) {
      canvas.width = Math.max(1, Math.round(this.box.clientWidth * ratio));
      canvas.height = Math.max(1, Math.round(this.box.clientHeight * ratio));
    }
    drawCells(this.canvas, this.data, this.rect, this.colours(), this.isFlipped);
    this.drawKeys();
    this.drawTimes();
    this.drawTotal();
    this.drawShares();
    this.drawOver();
  }

  xOf(slot) {
    return ((slot - this.rect.x0) / (this.rect.x1 - this.rect.x0)) * this.box.clientWidth;
  }
  yOf(bucket) {
    const part = (bucket - this.rect.y0) / (this.rect.y1 - this.rect.y0);
    return (this.isFlipped ? part : 1 - part) * this.box.clientHeight;
  }

  drawKeys() {
    const most = Math.max(6, Math.min(40, Math.floor((this.keysBox.clientWidth || 150) / 6.8))); // of 11 pixels in a fixed pitch
    const { keys } = this.data,
      { y0, y1 } = this.rect,
      height = this.box.clientHeight || 400,
      step = Math.max(1, Math.ceil((y1 - y0) / Math.max(1, Math.floor(height / 22)))),
      shown = [];
    for (let bucket = Math.ceil(y0); bucket < y1; bucket += step) shown.push(bucket);
    const texts = shown.map(bucket => keyText(keys[bucket])),
      { common, labels: short } = labelsOf(texts, most);
    put(this.commonBox, common && ['… stands for ', h('span', { class: 'mono' }, common)]);
    const labels = shown.map((bucket, i) =>
      h(
        'span',
        {
          css: { top: `${clamp(this.yOf(bucket) - (this.isFlipped ? 0 : 14), 0, height - 14)}px` },
          title: texts[i] || '(first)',
        },
        short[i] || '(first)',
      ),
    );
    put(this.keysBox, labels);
  }

  drawTimes() {
    const { from, grainS } = this.data,
      { x0, x1 } = this.rect,
      wide = this.box.clientWidth || 600,
      isLong = this.grain !== '1m';
    const parts = clamp(Math.floor(wide / (isLong ? 110 : 70)), 1, 12);
    put(
      this.timesBox,
      Array.from({ length: parts + 1 }, (_, i) =>
        h(
          'span',
          { css: { left: `${(i / parts) * 100}%` } },
          time(from + (x0 + (i / parts) * (x1 - x0)) * grainS, isLong),
        ),
      ),
    );
  }

  drawTotal() {
    const ratio = devicePixelRatio || 1,
      height = (this.totalBox.height = Math.round(30 * ratio)),
      { buckets } = this.data;
    this.totalBox.width = Math.max(1, Math.round(this.box.clientWidth * ratio));
    const first = Math.max(0, Math.floor(this.rect.x0)),
      last = Math.min(this.data.slots, Math.ceil(this.rect.x1)),
      context = this.totalBox.getContext('2d'),
      values = [];
    for (let slot = first; slot < last; slot++)
      values.push(this.sums.of(slot, slot + 1, 0, buckets));
    const most = Math.max(1, ...values);
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--control');
    values.forEach((value, i) => {
      const x = this.xOf(first + i) * ratio,
        size = (value / most) * height;
      context.fillRect(x, height - size, Math.max(1, this.xOf(first + i + 1) * ratio - x), size);
    });
    this.totalBox.setAttribute(
      'aria-label',
      `All keys together: ${this.amount(values.reduce((sum, value) => sum + value, 0))} ${MEASURES[this.measure].toLowerCase()}, at most ${this.amount(most)} in a ${GRAINS[this.grain].each === 'minute' ? 'minute' : 'slot'}`,
    );
  }

  /** Bands whose shares are shown: a cluster's ranges, else keys that begin alike. */
  bands() {
    const { data, rect } = this,
      low = Math.floor(rect.y0),
      high = Math.ceil(rect.y1),
      edges = new Set([low, high]);
    if (this.cluster?.ranges.length && this.showsRanges)
      for (const range of this.cluster.ranges)
        edges.add(range.key ? clamp(placeOf(data, range.key), low, high) : low);
    else
      for (let bucket = low + 1, before = this.stem(low); bucket < high; bucket++) {
        const stem = this.stem(bucket);
        if (stem !== before) edges.add(bucket);
        before = stem;
      }
    const sorted = [...edges].sort((a, b) => a - b),
      height = this.box.clientHeight / (rect.y1 - rect.y0),
      bands = [];
    for (let i = 0; i + 1 < sorted.length; i++) {
      const last = bands[bands.length - 1],
        isThin = (sorted[i + 1] - sorted[i]) * height < 32; // for a text of its own
      if (last && (isThin || (last.to - last.from) * height < 32)) last.to = sorted[i + 1];
      else bands.push({ from: sorted[i], to: sorted[i + 1] });
    }
    return bands;
  }
  stem(bucket) {
    return (this.data.keys[bucket][0] || '').replace(/[\d\u0002].*$/s, '').slice(0, 12);
  }

  drawShares() {
    const { data, rect } = this,
      [s0, s1] = [Math.max(0, Math.floor(rect.x0)), Math.min(data.slots, Math.ceil(rect.x1))],
      all = this.sums.of(s0, s1, 0, data.buckets);
    put(
      this.sharesBox,
      all > 0 &&
        this.bands().map(({ from, to }) => {
          const [top, bottom] = [this.yOf(to), this.yOf(from)].sort((a, b) => a - b),
            share = this.sums.of(s0, s1, from, to) / all;
          const owner =
            this.showsRanges &&
            this.cluster?.ranges.findLast(
              range => !range.key || placeOf(data, range.key) <= (from + to) / 2,
            )?.owner;
          return h(
            'div',
            { css: { top: `${top + 1}px`, height: `${Math.max(2, bottom - top - 2)}px` } },
            h(
              'span',
              null,
              h('b', null, `${Math.round(share * 100)} %`),
              h(
                'small',
                null,
                owner ? shortened(owner, 10) : `of ${MEASURES[this.measure].toLowerCase()}`,
              ),
            ),
          );
        }),
    );
  }

  drawTable() {
    if (!this.isTable) return;
    const { data } = this,
      { slots, buckets, keys, from, grainS } = data,
      shown = data.isDifference ? data.now : data,
      total = this.sums.of(0, slots, 0, buckets),
      rows = [];
    for (let bucket = 0; bucket < buckets; bucket++) {
      const sum = this.sums.of(0, slots, bucket, bucket + 1);
      if (sum <= 0) continue;
      let peak = 0,
        peakSlot = 0;
      for (let slot = 0; slot < slots; slot++) {
        const code = shown.cells[slot * buckets + bucket];
        if (code > peak) {
          peak = code;
          peakSlot = slot;
        }
      }
      rows.push({ bucket, sum, peakSlot });
    }
    rows.sort((a, b) => b.sum - a.sum);
    const head = [
      'From',
      'To',
      `About, ${MEASURES[this.measure].toLowerCase()}`,
      'Share',
      'Peak (UTC)',
    ];
    put(
      this.tableBox,
      h(
        'table',
        { class: 'list' },
        h('caption', { class: 'sr' }, 'The busiest buckets'),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            head.map((name, i) => h('th', { scope: 'col', class: i > 1 ? 'r' : null }, name)),
          ),
        ),
        h(
          'tbody',
          null,
          rows
            .slice(0, 100)
            .map(({ bucket, sum, peakSlot }) =>
              h(
                'tr',
                null,
                h('td', { class: 'mono' }, keyText(keys[bucket]) || '(first)'),
                h(
                  'td',
                  { class: 'mono' },
                  bucket + 1 < buckets ? keyText(keys[bucket + 1]) : '(end)',
                ),
                h('td', { class: 'r' }, this.amount(sum)),
                h('td', { class: 'r' }, `${((sum / total) * 100).toFixed(1)} %`),
                h('td', { class: 'r' }, longTime(from + peakSlot * grainS)),
              ),
            ),
          rows.length === 0 &&
            h('tr', null, h('td', { colspan: '5', class: 'muted' }, 'No traffic.')),
        ),
      ),
    );
  }

  // --- the layer that moves ---

  drawOver() {
    const ratio = devicePixelRatio || 1,
      width = this.box.clientWidth,
      height = this.box.clientHeight,
      context = this.over.getContext('2d'),
      style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--ink'),
      paper = style.getPropertyValue('--surface');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.strokeStyle = ink;
    context.lineWidth = 1;
    if (this.cluster && this.showsRanges) this.drawRanges(context, width, ink, paper);
    if (this.cursor) {
      const x = this.xOf(this.cursor.slot + 0.5),
        y = this.yOf(this.cursor.bucket + 0.5);
      context.globalAlpha = 0.6;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.moveTo(0, y);
      context.lineTo(width, y);
      context.stroke();
      context.globalAlpha = 1;
    }
    this.pins.forEach(pin => {
      const x = this.xOf(slotOf(this.data, pin.at) + 0.5),
        y = this.yOf((bucketOf(this.data, pin.low) + placeOf(this.data, pin.high)) / 2);
      context.strokeStyle = paper;
      context.lineWidth = 3;
      context.strokeRect(x - 5, y - 5, 10, 10);
      context.strokeStyle = ink;
      context.lineWidth = 1.5;
      context.strokeRect(x - 5, y - 5, 10, 10);
    });
    this.findings().forEach((finding, i) => {
      if (this.isMarked(finding))
        drawMarker(context, ...this.markerAt(finding, width, height), String(i + 1), ink, paper);
    });
    if (this.drag?.isZoom) {
      context.strokeStyle = ink;
      context.setLineDash([4, 3]);
      context.strokeRect(
        Math.min(this.drag.x0, this.drag.x1),
        Math.min(this.drag.y0, this.drag.y1),
        Math.abs(this.drag.x1 - this.drag.x0),
        Math.abs(this.drag.y1 - this.drag.y0),
      );
      context.setLineDash([]);
    }
  }

  /** The bounds of a finding in time and keys; it is of `whole`. */
  extentOf(finding) {
    const { whole } = this,
      last = finding.bucket + finding.buckets;
    return {
      from: whole.from + finding.slot * whole.grainS,
      to: whole.from + (finding.slot + finding.slots) * whole.grainS,
      low: whole.keys[finding.bucket],
      high: last < whole.buckets ? whole.keys[last] : null,
    };
  }

  markerAt(finding, width, height) {
    const { from, to, low, high } = this.extentOf(finding),
      { data } = this,
      middle = (slotOf(data, from) + slotOf(data, to)) / 2,
      bottom = bucketOf(data, low),
      top = placeOf(data, high);
    const part = finding.kind === 'rising' || finding.kind === 'falling' ? 0.62 : 0.5; // beside a diagonal, not on it
    return [
      clamp(this.xOf(middle), 10, width - 10),
      clamp(this.yOf(bottom + (top - bottom) * part), 10, height - 10),
    ];
  }

  drawRanges(context, width, ink, paper) {
    const { data, cluster } = this,
      seen = new Set(cluster.events.map(event => orderOf(event.key)));
    for (const { key } of cluster.ranges)
      if (key && !seen.has(orderOf(key)))
        drawEvent(context, { x: -1, y: this.yOf(placeOf(data, key)), width, text: '' }, ink, paper);
    for (const { at, key, kind } of cluster.events) {
      const slot = slotOf(data, at);
      if (slot < this.rect.x1)
        drawEvent(
          context,
          {
            x: this.xOf(slot),
            y: this.yOf(placeOf(data, key)),
            width,
            text: `${kind} ${time(at, this.grain !== '1m')}`,
            isHollow: kind === 'merge',
          },
          ink,
          paper,
        );
    }
  }

  cellAt(event) {
    const box = this.over.getBoundingClientRect(),
      { rect, data } = this,
      x = (event.clientX - box.left) / box.width,
      part = (event.clientY - box.top) / box.height,
      y = this.isFlipped ? part : 1 - part;
    return {
      slot: clamp(Math.floor(rect.x0 + x * (rect.x1 - rect.x0)), 0, data.slots - 1),
      bucket: clamp(Math.floor(rect.y0 + y * (rect.y1 - rect.y0) - 1e-9), 0, data.buckets - 1),
    };
  }

  describe({ slot, bucket }) {
    const { keys, buckets, cells, max, from, grainS, now, before } = this.data,
      at = from + slot * grainS,
      i = slot * buckets + bucket;
    return {
      at,
      low: keys[bucket],
      high: bucket + 1 < buckets ? keys[bucket + 1] : this.zoom.high,
      about: countOf((now || this.data).cells[i], max),
      earlier: before && countOf(before.cells[i], max),
      code: cells[i],
    };
  }

  showTip(cell, event) {
    const { at, low, high, about, earlier } = this.describe(cell),
      name = MEASURES[this.measure].toLowerCase(),
      change = about - (earlier ?? 0);
    const numbers =
      earlier != null
        ? `about ${this.amount(about)} ${name}, ${this.amount(earlier)} earlier: ${change < 0 ? '−' : '+'}${this.amount(Math.abs(change))}`
        : about
          ? `about ${this.amount(about)} ${name}`
          : at >= this.whole.until
            ? 'Not known yet: it is shown when its time is over.'
            : 'nothing';
    this.tip.hidden = false;
    put(
      this.tip,
      h('b', null, `${longTime(at)} UTC`),
      h('div', { class: 'mono' }, rangeText(low, high)),
      isOneKey(low, high) &&
        h('div', { class: 'muted' }, 'One entity: this bucket cannot be split.'),
      h('div', null, numbers),
    );
    const box = this.over.getBoundingClientRect(),
      x = event ? event.clientX : box.left + this.xOf(cell.slot),
      y = event ? event.clientY : box.top + this.yOf(cell.bucket);
    this.tip.style.left = `${clamp(x + 14, 4, innerWidth - 300)}px`;
    this.tip.style.top = `${clamp(y + 14, 4, innerHeight - 120)}px`;
    if (!event) say(`${longTime(at)}, ${rangeText(low, high)}: ${numbers}`);
  }
}
