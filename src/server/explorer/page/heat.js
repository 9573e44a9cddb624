// The heat map of a table: time against keys.  The picture is one canvas; what moves over it is
// another, so that a pointer redraws no cell.  A gesture moves what is seen at once, over what is
// there, and asks for the finer answer when it has ended.

import { h, put, icon, count, bytes, say, dialog } from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { link, setQuery } from './route.js';
import {
  MEASURES,
  Sums,
  bucketOf,
  compare,
  filterOf,
  keyParameter,
  orderOf,
  placeOf,
  rangeText,
  rangesOf,
  readHeat,
  slotOf,
} from './heat_data.js';
import { palette, patternPicture } from './heat_draw.js';
import { GRAINS, HeatMap, PATTERNS, clamp, longTime, themeName } from './heat_map.js';

const EARLIER = {
  hour: ['an hour earlier', 3600],
  day: ['a day earlier', 86400],
  week: ['a week earlier', 604800],
};
const EARLIER_OF = { '1m': ['hour'], '10m': ['hour', 'day'], '1h': ['day', 'week'] };
const ALL = { from: null, to: null, low: null, high: null };
const PINS_MAX = 3,
  BUCKETS = '1024';

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  } // an address that somebody has typed
}

const isBound = key =>
  Array.isArray(key) && key.length > 0 && key.every(part => typeof part === 'string');

class Heat extends HeatMap {
  constructor(route, table) {
    const { query } = route;
    super();
    Object.assign(this, { table, finding: -1, turn: 0 });
    this.measure = MEASURES[query.get('m')] ? query.get('m') : 'writes';
    this.grain = GRAINS[query.get('g')] ? query.get('g') : '1m';
    this.isTable = query.get('as') === 'table';
    this.earlier =
      query.get('than') === 'previous' || EARLIER_OF[this.grain].includes(query.get('than'))
        ? query.get('than')
        : '';
    this.showsRanges = query.get('r') !== '0';
    this.zoom = this.readZoom(query);
    this.cards = h('div', { class: 'hcards' });
    this.pinBox = h('div', { class: 'hpins' });
    this.bar = h('div', { class: 'row hbar' });
    this.trouble = h('div');
    this.tableBox = h('div', { class: 'pad', hidden: true });
    this.foot = h('div', { class: 'row hfoot muted' });
    this.nodes = h(
      'div',
      { class: 'page heat' },
      this.cards,
      this.bar,
      this.trouble,
      this.map,
      this.tableBox,
      this.tip,
      this.pinBox,
      this.foot,
    );
    for (const pin of this.readPins(query)) this.pin(pin, true);
    this.listen();
  }

  readZoom(query) {
    const x = query
        .get('x')
        ?.split(',')
        .map(text => (/^\d+$/.test(text) ? Number(text) : Date.parse(text) / 1000)),
      y = parsed(query.get('y'));
    const isTime = x?.length === 2 && x.every(Number.isFinite) && x[0] < x[1];
    return {
      from: isTime ? x[0] : null,
      to: isTime ? x[1] : null,
      low: isBound(y?.[0]) ? y[0] : null,
      high: isBound(y?.[1]) ? y[1] : null,
    };
  }

  readPins(query) {
    const list = parsed(query.get('pin'));
    return (Array.isArray(list) ? list : [])
      .filter(pin => Array.isArray(pin) && Number.isFinite(pin[0]) && isBound(pin[1]))
      .map(([at, low, high]) => ({ at, low, high: isBound(high) ? high : null }));
  }

  // --- what the server knows ---

  async ask({ from, to, low, high }) {
    const query = new URLSearchParams({
      account: api.currentAccount(),
      table: this.table,
      measure: this.measure,
      grain: this.grain,
      buckets: BUCKETS,
      format: 'heat',
    });
    if (from) {
      query.set('from', Math.floor(from));
      query.set('to', Math.ceil(to));
    }
    if (low) query.set('low', keyParameter(low));
    if (high) query.set('high', keyParameter(high));
    const reply = await api.send('GET', `/traffic?${query}`);
    if (!reply.ok) throw await api.troubleOf(reply);
    return readHeat(await reply.arrayBuffer());
  }

  /** How many seconds earlier the other period is. */
  shift() {
    const span = this.zoom.from
      ? this.zoom.to - this.zoom.from
      : (this.whole.slots * this.whole.grainS) / 2;
    const seconds = this.earlier === 'previous' ? span : EARLIER[this.earlier][1];
    return Math.max(1, Math.round(seconds / this.whole.grainS)) * this.whole.grainS;
  }

  /** Ask for what is shown, and for all of it unless `isWholeKnown`; an answer that comes too late is dropped. */
  async load(isWholeKnown) {
    const mine = ++this.turn;
    try {
      const whole = isWholeKnown && this.whole ? this.whole : await this.ask(ALL);
      if (mine !== this.turn) return;
      this.whole = whole;
      let data = whole;
      if (this.earlier) {
        const shift = this.shift(),
          to = this.zoom.to ?? whole.from + whole.slots * whole.grainS,
          from = this.zoom.from ?? whole.from + shift;
        const both = await this.ask({ ...this.zoom, from: from - shift, to });
        data = compare(both, Math.min(shift / both.grainS, both.slots - 1));
      } else if (this.isZoomed())
        data = await this.ask({
          ...this.zoom,
          from: this.zoom.from ?? whole.from,
          to: this.zoom.to ?? whole.from + whole.slots * whole.grainS,
        });
      if (mine !== this.turn) return;
      this.take(data);
      put(this.trouble);
    } catch (trouble) {
      if (mine !== this.turn || trouble.status === 401) return;
      put(
        this.trouble,
        trouble.status === 404
          ? h(
              'p',
              { class: 'pad0 muted' },
              'No traffic is recorded: the server was started with --watch=off, or the table is gone.',
            )
          : troubleBox(trouble),
      );
    }
  }

  /** Show an answer; the cursor stays where it was in time and keys. */
  take(data) {
    const before = this.data,
      at = this.cursor && before && this.describe(this.cursor);
    this.data = data;
    this.rect = { x0: 0, x1: data.slots, y0: 0, y1: data.buckets };
    this.sums = new Sums(data.isDifference ? data.now : data);
    if (at)
      this.cursor = {
        slot: clamp(Math.floor(slotOf(data, at.at)), 0, data.slots - 1),
        bucket: bucketOf(data, at.low),
      };
    this.drawAll();
  }

  async loadCluster() {
    if (api.serverFacts()?.engine !== 'rados') return;
    try {
      this.cluster = rangesOf(await api.getJson('/cluster'), api.currentAccount(), this.table);
    } catch {
      return;
    } // the map is good without it
    if (this.data) this.drawAll();
  }

  // --- the frame ---

  drawAll() {
    this.drawBar();
    this.drawCards();
    this.drawTable();
    this.drawFoot();
    this.map.hidden = this.isTable;
    this.tableBox.hidden = !this.isTable;
    if (!this.isTable) this.drawMap();
    this.drawPins();
    const found = this.findings()
      .map((finding, i) => `${i + 1}, ${this.named(finding)}: ${finding.text}`)
      .join(' ');
    this.over.setAttribute(
      'aria-label',
      `Heat map of ${MEASURES[this.measure].toLowerCase()}: ${found || 'no pattern.'} Arrow keys move the cursor, n goes to the next pattern, Enter pins.`,
    );
  }

  drawBar() {
    const group = (label, entries, chosen, choose) =>
      h(
        'span',
        { class: 'seg wraps', role: 'group', 'aria-label': label },
        entries.map(([id, name]) =>
          h(
            'button',
            { 'aria-pressed': String(id === chosen), 'data-id': id, onclick: () => choose(id) },
            name,
          ),
        ),
      );
    const move = (name, label, act) =>
      h(
        'button',
        {
          class: 'btn quiet small',
          'aria-label': label,
          title: label,
          'data-id': label,
          onclick: act,
        },
        name,
      );
    const focused = document.activeElement?.dataset?.id,
      hadFocus = this.bar.contains(document.activeElement);
    const earlier = h(
      'select',
      {
        class: 'field small',
        'aria-label': 'Compare with',
        'data-id': 'than',
        onchange: () => this.compareWith(earlier.value),
      },
      [
        ['', 'Not compared'],
        ['previous', 'Compare: the period before'],
        ...EARLIER_OF[this.grain].map(id => [id, `Compare: ${EARLIER[id][0]}`]),
      ].map(([value, name]) => h('option', { value, selected: value === this.earlier }, name)),
    );
    put(
      this.bar,
      group('Measure', Object.entries(MEASURES), this.measure, id => {
        this.measure = id;
        setQuery({ m: id }, true);
        this.load();
      }),
      group(
        'Time',
        Object.entries(GRAINS).map(([id, { span }]) => [id, span]),
        this.grain,
        id => this.setGrain(id),
      ),
      earlier,
      this.cluster &&
        h(
          'label',
          { class: 'pick' },
          h('input', {
            type: 'checkbox',
            checked: this.showsRanges,
            'data-id': 'ranges',
            onchange: event => {
              this.showsRanges = event.target.checked;
              setQuery({ r: this.showsRanges ? null : '0' });
              this.drawAll();
            },
          }),
          'Ranges and splits',
        ),
      h(
        'span',
        { class: 'hmoves', role: 'group', 'aria-label': 'Move' },
        move('+', 'Zoom in', () => this.zoomBy(0.5)),
        move('−', 'Zoom out', () => this.zoomBy(2)),
        this.isZoomed() && [
          move('←', 'Earlier', () => this.panBy(-0.25, 0)),
          move('→', 'Later', () => this.panBy(0.25, 0)),
          move('↑', 'Up', () => this.panBy(0, this.isFlipped ? -0.25 : 0.25)),
          move('↓', 'Down', () => this.panBy(0, this.isFlipped ? 0.25 : -0.25)),
          h(
            'button',
            { class: 'btn small', 'data-id': 'all', onclick: () => this.showAll() },
            'Show all',
          ),
        ],
      ),
      h('span', { class: 'grow' }),
      this.legend(),
    );
    if (hadFocus) (this.bar.querySelector(`[data-id="${focused}"]`) || this.over).focus();
  }

  legend() {
    const ramp = h('canvas', { class: 'ramp', width: '120', height: '8', 'aria-hidden': 'true' }),
      context = ramp.getContext('2d'),
      colours = this.colours(),
      { data } = this;
    for (let x = 0; x < 120; x++) {
      context.fillStyle = `rgb(${colours[Math.round((data.isDifference ? 1 : 0) + (x / 119) * (data.isDifference ? 254 : 255))]})`;
      context.fillRect(x, 0, 1, 8);
    }
    const most = this.amount(data.max),
      each = `per ${GRAINS[this.grain].each}`;
    return h(
      'span',
      { class: 'legend' },
      data.isDifference
        ? ['less', ramp, `more, up to ${most} ${each}`]
        : ['0', ramp, `${most} ${each}`],
    );
  }

  drawCards() {
    const findings = this.findings(),
      { recorded = 0 } = this.whole,
      colours = palette(themeName(), 1.4);
    const spoken = findings.map(finding => finding.text).join(' ');
    if (this.spoken != null && spoken !== this.spoken && spoken) say(spoken);
    this.spoken = spoken;
    const focused = [...this.cards.querySelectorAll('button')].indexOf(document.activeElement);
    put(
      this.cards,
      findings.length === 0
        ? h(
            'p',
            { class: 'muted' },
            recorded < 3
              ? `Patterns need ${this.grain === '1m' ? '3 minutes' : '3 slots'} of traffic; ${recorded} so far.`
              : 'No pattern: there is too little traffic, or not yet enough of it to tell.',
          )
        : findings.map((finding, i) =>
            h(
              'article',
              { class: 'hcard' },
              patternPicture(finding.kind, colours),
              h(
                'div',
                null,
                h(
                  'h2',
                  null,
                  h('span', { class: 'hnum' }, i + 1),
                  this.named(finding),
                  h(
                    'span',
                    {
                      class: `verdict ${finding.verdict === 'fix' ? 'bad' : finding.verdict === 'fine' ? 'good' : 'soft'}`,
                    },
                    finding.verdict,
                  ),
                ),
                h('p', null, finding.text),
                finding.kind !== 'even' &&
                  h('p', { class: 'soft' }, (PATTERNS[finding.kind] || [])[1]),
                h(
                  'p',
                  null,
                  h(
                    'button',
                    {
                      class: 'linky',
                      onclick: () => {
                        this.toFinding(i);
                        this.over.focus();
                      },
                    },
                    'Show it',
                  ),
                  finding.rule && [
                    ' · ',
                    h(
                      'a',
                      { href: link('advice', { t: this.table, open: finding.id }) },
                      `Advice: ${finding.rule}`,
                    ),
                  ],
                ),
              ),
            ),
          ),
    );
    if (focused >= 0) this.cards.querySelectorAll('button')[focused]?.focus();
  }

  drawFoot() {
    const focused = [...this.foot.querySelectorAll('button')].indexOf(document.activeElement);
    put(
      this.foot,
      h(
        'span',
        null,
        'Drag to zoom, with Shift to pan. Click to pin. ',
        h('kbd', null, 'n'),
        ' next pattern, ',
        h('kbd', null, 'Esc'),
        ' all. Each pixel shows the busiest bucket under it.',
        this.data.approx && ' Where bounds have changed, numbers are about right.',
        this.data.isDifference &&
          ` Compared with ${this.earlier === 'previous' ? 'the period before' : EARLIER[this.earlier][0]}.`,
      ),
      this.commonBox,
      h('span', { class: 'grow' }),
      h('button', { class: 'btn quiet small', onclick: () => this.explain() }, 'How to read this'),
      h(
        'button',
        {
          class: 'btn quiet small',
          'aria-pressed': String(this.isTable),
          onclick: () => {
            this.isTable = !this.isTable;
            setQuery({ as: this.isTable ? 'table' : null });
            this.drawAll();
          },
        },
        'Show as table',
      ),
    );
    if (focused >= 0) this.foot.querySelectorAll('button')[focused]?.focus();
  }

  explain() {
    const colours = palette(themeName(), 1.4);
    dialog('How to read this', close =>
      h(
        'div',
        null,
        h('h2', null, 'How to read this'),
        h(
          'p',
          { class: 'soft' },
          'Time runs to the right, keys in their order upwards: what is appended rises. A busy range of keys has more buckets and so more height. Colour is the number in a bucket by its logarithm; the edge on the right has each part’s share, the strip below the sum of all keys.',
        ),
        h(
          'ul',
          { class: 'hhow' },
          Object.entries(PATTERNS).map(([kind, [name, text]]) =>
            h(
              'li',
              null,
              patternPicture(kind, colours),
              h('div', null, h('h3', null, name), h('p', { class: 'soft' }, text)),
            ),
          ),
        ),
        h(
          'div',
          { class: 'row end' },
          h('button', { class: 'btn primary', autofocus: true, onclick: () => close() }, 'Close'),
        ),
      ),
    );
  }

  // --- pins ---

  /** Keep a bucket of a slot in sight, with all its numbers, exact. */
  async pin(pin, isSilent) {
    this.pins = [...this.pins.slice(1 - PINS_MAX), pin];
    this.keepPins(isSilent);
    const query = new URLSearchParams({
      account: api.currentAccount(),
      table: this.table,
      grain: this.grain,
      from: String(pin.at),
    });
    query.set('low', keyParameter(pin.low));
    if (pin.high) query.set('high', keyParameter(pin.high));
    try {
      pin.exact = await api.getJson(`/traffic/cell?${query}`);
    } catch (trouble) {
      pin.exact = { trouble: trouble.message };
    }
    if (!this.data) return;
    this.drawPins();
    this.drawOver();
    if (!isSilent)
      say(
        `Pinned ${longTime(pin.at)}, ${rangeText(pin.low, pin.high)}: ${Object.entries(MEASURES)
          .map(([id, name]) => `${name} ${pin.exact[id] ?? 'not known'}`)
          .join(', ')}`,
      );
  }

  keepPins(isSilent) {
    if (!isSilent)
      setQuery({
        pin: this.pins.length
          ? JSON.stringify(this.pins.map(({ at, low, high }) => [at, low, high]))
          : null,
      });
  }

  drawPins() {
    put(
      this.pinBox,
      this.pins.map((pin, i) => {
        const remove = () => {
          this.pins.splice(i, 1);
          this.keepPins();
          this.drawPins();
          this.drawOver();
          this.over.focus();
        };
        return h(
          'article',
          { class: 'hcard' },
          h(
            'div',
            null,
            h(
              'h2',
              null,
              `${longTime(pin.at)} UTC`,
              h(
                'button',
                {
                  class: 'btn quiet small',
                  'aria-label': `Remove the pin at ${longTime(pin.at)}`,
                  onclick: remove,
                },
                icon('close', 12),
              ),
            ),
            h('p', { class: 'mono' }, rangeText(pin.low, pin.high)),
            pin.exact?.trouble
              ? h('p', { class: 'bad' }, pin.exact.trouble)
              : h(
                  'dl',
                  { class: 'kv' },
                  Object.entries(MEASURES).map(([id, name]) => [
                    h('dt', null, name),
                    h(
                      'dd',
                      null,
                      pin.exact?.[id] == null
                        ? '…'
                        : `${pin.exact.approx && pin.exact[id] ? 'about ' : ''}${id === 'bytes' ? bytes(pin.exact[id]) : count(pin.exact[id])}`,
                    ),
                  ]),
                ),
            h(
              'a',
              { href: link('t', this.table, 'rows', { f: filterOf(pin.low, pin.high) }) },
              'Open its entities',
            ),
          ),
        );
      }),
    );
  }

  // --- zoom, pan, compare ---

  isZoomed() {
    return Boolean(this.zoom.from || this.zoom.low || this.zoom.high);
  }

  /** Show this time and these keys, and write them into the address. */
  setZoom(zoom) {
    this.zoom = zoom;
    this.settled();
    setQuery(
      {
        x: zoom.from ? `${zoom.from},${zoom.to}` : null,
        y: zoom.low || zoom.high ? JSON.stringify([zoom.low, zoom.high]) : null,
      },
      true,
    );
    return this.load(true);
  }

  showAll() {
    say('All of it');
    return this.setZoom({ ...ALL });
  }

  setGrain(id) {
    this.grain = id;
    if (!EARLIER_OF[id].includes(this.earlier)) this.earlier = '';
    this.zoom = { ...ALL };
    this.pins = [];
    setQuery({ g: id, x: null, y: null, pin: null, than: this.earlier }, true);
    this.load();
  }

  compareWith(earlier) {
    this.earlier = earlier;
    setQuery({ than: earlier }, true);
    this.load(true).then(() => {
      if (earlier)
        say(`Compared with ${earlier === 'previous' ? 'the period before' : EARLIER[earlier][0]}`);
    });
  }

  /** What is shown, in slots and buckets of `whole`. */
  wholeRect() {
    const { whole, data, rect, zoom } = this;
    if (data === whole) return { ...rect };
    const x = slot => slotOf(whole, data.from + slot * data.grainS),
      y0 = zoom.low ? bucketOf(whole, zoom.low) : 0,
      y1 = Math.max(y0 + 1, placeOf(whole, zoom.high));
    return { x0: x(rect.x0), x1: x(rect.x1), y0, y1 };
  }

  /** Nothing is under way that would set another zoom. */
  settled() {
    clearTimeout(this.settle);
    this.settle = 0;
    this.isMoved = false;
  }

  /** Move `rect` of `whole` at once, and see to the finer answer when nothing moves any more. */
  preview(rect) {
    const { whole } = this,
      now = this.wholeRect(),
      wide = clamp(rect.x1 - rect.x0, Math.min(5, now.x1 - now.x0), whole.slots),
      tall = clamp(rect.y1 - rect.y0, 1, whole.buckets);
    const x0 = clamp(rect.x0, 0, whole.slots - wide),
      y0 = clamp(rect.y0, 0, whole.buckets - tall);
    this.turn++; // an answer to what was asked for before would jump
    if (this.data !== whole) this.sums = new Sums(whole);
    this.data = whole;
    this.rect = { x0, x1: x0 + wide, y0, y1: y0 + tall };
    this.cursor = null;
    this.drawMap();
    this.settled();
    this.isMoved = true;
    if (!this.drag && !this.pinch) this.settle = setTimeout(() => this.commit(), 160); // a hand that rests has not let go
  }

  commit() {
    const { whole, rect } = this,
      low = Math.round(rect.y0),
      high = Math.max(low + 1, Math.round(rect.y1)),
      first = Math.round(rect.x0),
      last = Math.max(first + 1, Math.round(rect.x1));
    const isAllTime = first === 0 && last === whole.slots;
    this.setZoom({
      from: isAllTime ? null : whole.from + first * whole.grainS,
      to: isAllTime ? null : whole.from + last * whole.grainS,
      low: low > 0 ? whole.keys[low] : null,
      high: high < whole.buckets ? whole.keys[high] : null,
    });
  }

  panBy(parts, up) {
    if (!this.isZoomed()) {
      say('All of it is shown');
      return;
    }
    const rect = this.wholeRect(),
      dx = (rect.x1 - rect.x0) * parts,
      dy = Math.sign(up) * Math.max(Math.abs(up) * (rect.y1 - rect.y0), up ? 1 : 0);
    this.preview({ x0: rect.x0 + dx, x1: rect.x1 + dx, y0: rect.y0 + dy, y1: rect.y1 + dy });
    say('Moved');
  }

  /** By a factor, around a place in parts of the map (0 to 1 from the left and from the first key). */
  zoomBy(factor, x = 0.5, y = 0.5) {
    if (!this.data) return;
    const rect = this.wholeRect(),
      cx = rect.x0 + x * (rect.x1 - rect.x0),
      cy = rect.y0 + y * (rect.y1 - rect.y0);
    this.preview({
      x0: cx - (cx - rect.x0) * factor,
      x1: cx + (rect.x1 - cx) * factor,
      y0: cy - (cy - rect.y0) * factor,
      y1: cy + (rect.y1 - cy) * factor,
    });
    say(factor < 1 ? 'Zoomed in' : 'Zoomed out');
  }

  /** To the cells between two, both included. */
  zoomTo(a, b) {
    const { from, grainS, keys, buckets } = this.data,
      [s0, s1] = [Math.min(a.slot, b.slot), Math.max(a.slot, b.slot)],
      [b0, b1] = [Math.min(a.bucket, b.bucket), Math.max(a.bucket, b.bucket)];
    return this.setZoom({
      from: from + s0 * grainS,
      to: from + (s1 + 1) * grainS,
      low: b0 > 0 ? keys[b0] : this.zoom.low,
      high: b1 + 1 < buckets ? keys[b1 + 1] : this.zoom.high,
    });
  }

  /** Put the cursor on a pattern; -1 is before the first. */
  async toFinding(i) {
    const measure = this.measureOf(this.findings()[i]);
    if (measure !== this.measure && MEASURES[measure]) {
      this.measure = measure;
      setQuery({ m: measure }, true);
      await this.load();
    }
    const finding = this.findings()[i];
    if (!finding) return; // it has ended meanwhile
    const extent = this.extentOf(finding);
    this.finding = i;
    const isSeen =
      (this.zoom.from ?? 0) <= extent.from &&
      (this.zoom.to ?? Infinity) >= extent.to &&
      (!this.zoom.low || orderOf(this.zoom.low) <= orderOf(extent.low)) &&
      (!this.zoom.high || (extent.high && orderOf(this.zoom.high) >= orderOf(extent.high)));
    if (!isSeen) await this.setZoom({ ...ALL });
    const { data } = this;
    this.cursor = {
      slot: clamp(
        Math.floor((slotOf(data, extent.from) + slotOf(data, extent.to)) / 2),
        0,
        data.slots - 1,
      ),
      bucket: clamp(
        Math.floor((bucketOf(data, extent.low) + placeOf(data, extent.high)) / 2),
        0,
        data.buckets - 1,
      ),
    };
    this.showTip(this.cursor);
    this.drawOver();
    say(`Pattern ${i + 1}, ${this.named(finding)}: ${finding.text}`);
  }

  /** The next one of those that are marked in this picture. */
  nextFinding() {
    const marked = this.findings()
      .map((finding, i) => (this.isMarked(finding) ? i : -1))
      .filter(i => i >= 0);
    if (marked.length === 0) say(`No pattern in ${MEASURES[this.measure].toLowerCase()}`);
    else this.toFinding(marked.find(i => i > this.finding) ?? marked[0]);
  }

  zoomToCursor() {
    const finding = this.findings()[this.finding];
    if (finding && finding.kind !== 'even') {
      const { from, to, low, high } = this.extentOf(finding);
      this.setZoom({ from, to, low: orderOf(low) ? low : null, high });
    } else if (this.cursor) {
      const { slot, bucket } = this.cursor,
        { slots, buckets } = this.data;
      this.zoomTo(
        { slot: Math.max(0, slot - 10), bucket: Math.max(0, bucket - 10) },
        { slot: Math.min(slots - 1, slot + 10), bucket: Math.min(buckets - 1, bucket + 10) },
      );
    }
  }

  // --- the hand ---

  listen() {
    const { over } = this,
      fingers = new Map();
    const place = event => {
      const box = over.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return { size: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    over.addEventListener('pointerdown', event => {
      if (!this.data || event.button > 0) return;
      const { x, y } = place(event),
        isZoom = event.pointerType !== 'touch' && !event.shiftKey;
      over.setPointerCapture(event.pointerId);
      if (event.pointerType === 'touch') fingers.set(event.pointerId, { x, y });
      if (fingers.size === 2) {
        this.pinch = { start: spread(), rect: this.wholeRect() };
        this.drag = null;
        return;
      }
      this.drag = {
        x0: x,
        y0: y,
        x1: x,
        y1: y,
        isZoom,
        start: this.cellAt(event),
        rect: this.wholeRect(),
      };
    });
    over.addEventListener('pointermove', event => {
      if (!this.data) return;
      const { x, y } = place(event);
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, { x, y });
      if (this.pinch) this.pinchTo(spread());
      else if (this.drag) this.dragTo(x, y);
      else {
        this.cursor = this.cellAt(event);
        this.finding = -1;
        this.showTip(this.cursor, event);
        this.drawOver();
      }
    });
    const end = event => {
      fingers.delete(event.pointerId);
      if (this.pinch) {
        if (fingers.size === 0) {
          this.pinch = null;
          if (this.isMoved) this.commit();
        }
        return;
      }
      const { drag } = this;
      this.drag = null;
      if (this.isMoved && !this.settle) {
        this.commit();
        return;
      }
      if (!drag || event.type === 'pointercancel') return;
      if (Math.abs(drag.x1 - drag.x0) <= 6 && Math.abs(drag.y1 - drag.y0) <= 6)
        this.pin(this.describe(this.cellAt(event)));
      else if (drag.isZoom) this.zoomTo(drag.start, this.cellAt(event));
    };
    over.addEventListener('pointerup', end);
    over.addEventListener('pointercancel', end);
    over.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
    over.addEventListener('blur', () => {
      this.tip.hidden = true;
    });
    over.addEventListener('dblclick', () => this.showAll());
    over.addEventListener('wheel', event => this.wheel(event), { passive: false });
    over.addEventListener('keydown', event => this.key(event));
    this.resize = new ResizeObserver(() => {
      if (this.data && !this.isTable) this.drawMap();
    });
    this.resize.observe(this.box);
    this.onTheme = () => {
      if (this.data) this.drawAll();
    };
    this.onVisible = () => {
      if (!document.hidden) this.refresh();
    };
    addEventListener('themechange', this.onTheme);
    document.addEventListener('visibilitychange', this.onVisible);
  }

  dragTo(x, y) {
    const { drag } = this;
    Object.assign(drag, { x1: x, y1: y });
    if (!drag.isZoom && (Math.abs(x - drag.x0) > 6 || Math.abs(y - drag.y0) > 6)) {
      const { rect } = drag,
        dx = ((drag.x0 - x) / this.box.clientWidth) * (rect.x1 - rect.x0),
        dy =
          ((y - drag.y0) / this.box.clientHeight) * (rect.y1 - rect.y0) * (this.isFlipped ? -1 : 1);
      this.preview({ x0: rect.x0 + dx, x1: rect.x1 + dx, y0: rect.y0 + dy, y1: rect.y1 + dy });
    } else this.drawOver();
  }

  pinchTo({ size, x, y }) {
    const { start, rect } = this.pinch,
      factor = clamp(start.size / Math.max(1, size), 0.05, 20),
      wide = rect.x1 - rect.x0,
      tall = rect.y1 - rect.y0;
    const cx = rect.x0 + (start.x / this.box.clientWidth) * wide,
      cy =
        rect.y0 +
        ((this.isFlipped ? start.y : this.box.clientHeight - start.y) / this.box.clientHeight) *
          tall;
    const x0 = cx - (x / this.box.clientWidth) * wide * factor,
      y0 =
        cy -
        ((this.isFlipped ? y : this.box.clientHeight - y) / this.box.clientHeight) * tall * factor;
    this.preview({ x0, x1: x0 + wide * factor, y0, y1: y0 + tall * factor });
  }

  wheel(event) {
    if (!this.data) return;
    const box = this.over.getBoundingClientRect(),
      x = (event.clientX - box.left) / box.width,
      part = (event.clientY - box.top) / box.height;
    if (event.ctrlKey)
      this.zoomBy(2 ** clamp(event.deltaY / 200, -1, 1), x, this.isFlipped ? part : 1 - part);
    else if (this.isZoomed())
      this.panBy(
        (event.shiftKey ? event.deltaY : event.deltaX) / box.width,
        ((event.shiftKey ? 0 : event.deltaY) / box.height) * (this.isFlipped ? 1 : -1),
      );
    else return; // the page scrolls
    event.preventDefault();
  }

  key(event) {
    if (!this.data || event.altKey || event.metaKey) return;
    const arrows = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, this.isFlipped ? -1 : 1],
      ArrowDown: [0, this.isFlipped ? 1 : -1],
    }[event.key];
    const does = {
      Enter: () => this.enter(),
      Escape: () => {
        if (this.isZoomed()) this.showAll();
        else this.tip.hidden = true;
      },
      '+': () => this.brighten(-0.2),
      '-': () => this.brighten(0.2),
      f: () => {
        this.isFlipped = !this.isFlipped;
        this.drawAll();
      },
      n: () => this.nextFinding(),
      z: () => this.zoomToCursor(),
      i: () => this.zoomBy(0.5),
      o: () => this.zoomBy(2),
    }[event.key];
    if (arrows && event.ctrlKey) this.panBy(arrows[0] * 0.25, arrows[1] * 0.25);
    else if (arrows) this.move(arrows, event.shiftKey ? 20 : 1);
    else if (does && !event.ctrlKey) does();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  move([right, up], step) {
    const cell = this.cursor || { slot: this.data.slots - 1, bucket: 0 };
    this.cursor = {
      slot: clamp(cell.slot + right * step, 0, this.data.slots - 1),
      bucket: clamp(cell.bucket + up * step, 0, this.data.buckets - 1),
    };
    this.finding = -1;
    this.showTip(this.cursor);
    this.drawOver();
  }

  /** Pin the cell under the cursor; if it is pinned already, open its entities. */
  enter() {
    if (!this.cursor) return;
    const { at, low, high } = this.describe(this.cursor),
      isPinned = this.pins.some(pin => pin.at === at && orderOf(pin.low) === orderOf(low));
    if (isPinned) location.hash = link('t', this.table, 'rows', { f: filterOf(low, high) });
    else this.pin({ at, low, high });
  }

  brighten(by) {
    this.power = clamp(this.power + by, 0.6, 3);
    this.drawAll();
  }

  // --- live ---

  /** Ask again, unless somebody is about to move the map. */
  refresh() {
    if (document.hidden || this.drag || this.pinch || this.isMoved || api.serverIsLost()) return;
    this.load();
    this.loadCluster();
  }

  close() {
    this.resize.disconnect();
    removeEventListener('themechange', this.onTheme);
    document.removeEventListener('visibilitychange', this.onVisible);
    clearInterval(this.timer);
    clearTimeout(this.settle);
    this.turn++;
  }
}

const REFRESH_MS = 30000; // a column comes every minute

export async function show(route, table) {
  const heat = new Heat(route, table);
  return {
    nodes: heat.nodes,
    shown: () => {
      heat.load();
      heat.loadCluster();
      heat.timer = setInterval(() => heat.refresh(), REFRESH_MS);
    },
    leave: () => heat.close(),
  };
}
