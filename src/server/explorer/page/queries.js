// The query bar: a filter, its plan while it is typed, and what the guide says to it.

import { h, put, glyph, count, plural, milliseconds, visible, PLANS } from './dom.js';
import * as api from './api.js';
import { TYPES } from './values.js';

// --- the words of a filter, for colours and completion ---

const WORD =
  /('(?:[^']|'')*'?|datetime'[^']*'?|guid'[^']*'?|X'[^']*'?|binary'[^']*'?|-?\d[\w.+-]*|[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*|[()]|\s+|.)/gu;
const COMPARISONS = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];

/** [{kind, text, at}]; kinds: space, text, number, op, join, name, other. */
export function words(filter) {
  const found = [];
  for (const match of filter.matchAll(WORD)) {
    const text = match[0];
    const kind = /^\s/.test(text)
      ? 'space'
      : /'/.test(text)
        ? 'text'
        : /^-?\d/.test(text)
          ? 'number'
          : COMPARISONS.includes(text)
            ? 'op'
            : ['and', 'or', 'not'].includes(text)
              ? 'join'
              : ['true', 'false'].includes(text)
                ? 'number'
                : /^[\p{L}\p{Nl}_]/u.test(text)
                  ? 'name'
                  : 'other';
    found.push({ kind, text, at: match.index });
  }
  return found;
}

/** What may come where the caret is: [{put, label, type, note}] and from where it replaces. */
export function completions(before, columns, partitions) {
  const list = words(before),
    last = list[list.length - 1];
  const typed = last && last.kind !== 'space' && last.kind !== 'other' ? last : null;
  const earlier = list.filter(word => word.kind !== 'space' && word !== typed);
  const previous = earlier[earlier.length - 1];
  const from = typed ? typed.at : before.length,
    text = typed ? typed.text : '';
  const starts = label =>
    label.toLowerCase().startsWith(text.toLowerCase().replace(/^'/, '')) && label !== text;
  let offers;
  if (!previous || previous.kind === 'join' || previous.text === '(')
    offers = [...columns].map(([name, type]) => ({
      put: `${name} `,
      label: name,
      note: type ? TYPES[type].name : '',
    }));
  else if (previous.kind === 'name')
    offers = COMPARISONS.map(op => ({
      put: `${op} `,
      label: op,
      note: {
        eq: 'equal',
        ne: 'not equal',
        gt: 'greater',
        ge: 'greater or equal',
        lt: 'less',
        le: 'less or equal',
      }[op],
    }));
  else if (previous.kind === 'op') {
    const name = earlier[earlier.length - 2]?.text,
      type = columns.get(name);
    offers =
      name === 'PartitionKey'
        ? partitions.map(([key, size]) => ({
            put: `'${key.replace(/'/g, "''")}' `,
            label: key,
            note: size == null ? '' : count(size),
          }))
        : type === 'Edm.Boolean'
          ? ['true', 'false'].map(label => ({ put: `${label} `, label, note: 'Boolean' }))
          : type === 'Edm.DateTime' || name === 'Timestamp'
            ? [{ put: `datetime'${new Date().toISOString()}' `, label: "datetime'…'", note: 'now' }]
            : type === 'Edm.Guid'
              ? [{ put: "guid''", label: "guid'…'", note: 'Guid' }]
              : type === 'Edm.Int64'
                ? [{ put: '0L ', label: '0L', note: 'Int64' }]
                : [];
  } else offers = ['and', 'or'].map(label => ({ put: `${label} `, label, note: '' }));
  return { from, offers: offers.filter(offer => starts(offer.label)).slice(0, 8) };
}

// --- sentences ---

const b = text => h('b', null, text);

/** One sentence for an explained plan, and one for each comparison that cannot be meant. */
const sentence = (explained, filter) =>
  explained
    ? [
        reads(explained, filter),
        (explained.warnings || []).map(text => [' ', h('b', { class: 'warns' }, `${text}.`)]),
      ]
    : [];

function reads(explained, filter) {
  const estimate = explained.estimate;
  const about = estimate
    ? [estimate.low === estimate.high ? '' : 'about ', b(count(estimate.examined))]
    : ['its'];
  const rest = explained.residual ? ', and tests each one' : '';
  const ranges = explained.ranges || [];
  switch (explained.plan) {
    case 'none':
      return ['No entity can match, so nothing is read.'];
    case 'point':
      return ranges.length > 1
        ? ['Reads ', b(count(ranges.length)), ' entities, each found by its key.']
        : ['Reads ', b('1'), ' entity, found by its key. Nothing is faster.'];
    case 'range':
      return ['Reads ', about, ' entities in ', b(plural(ranges.length, 'range')), rest, '.'];
    case 'partition':
      return [
        'Reads all ',
        about,
        ' entities of ',
        ranges.length > 1 ? `${count(ranges.length)} partitions` : 'one partition',
        rest,
        '.',
      ];
    default:
      return filter.trim()
        ? ['Reads ', about, ' entities: no single PartitionKey is given', rest, '.']
        : [
            'No filter: pages of 1,000 from the first key on',
            estimate ? [', of ', b(count(estimate.examined)), ' entities.'] : '.',
          ];
  }
}

const planOf = (explained, filter) =>
  explained.plan === 'table' && !filter.trim() ? 'all' : explained.plan;

/** Whether a run reads what it does not return, all over the table. */
export const wastes = explained => explained?.plan === 'table' && !!explained.residual;

/** A chip with the plan's glyph and word. */
export const planChip = (plan, properties) =>
  h(
    properties ? 'button' : 'span',
    { class: `chip ${PLANS[plan]?.css || 'none'}`, ...properties },
    glyph(plan),
    PLANS[plan]?.word || plan,
  );

/** The keys that a range of an explanation has: "Sales: 2 → before 4".  A bound is a key, or where a partition begins or ends. */
function rangeText({ from, to }) {
  const isSame = from && to && from.PartitionKey === to.PartitionKey,
    hasRow = bound => bound?.RowKey !== undefined;
  if (!from && !to) return 'all of the table';
  if (!isSame || (!from.isIncluded && !hasRow(from))) {
    const name = bound =>
      visible(bound.PartitionKey) + (hasRow(bound) ? ` / ${visible(bound.RowKey)}` : '');
    return `${!from ? 'the beginning' : (from.isIncluded ? '' : 'after ') + name(from)} → ${!to ? 'the end' : (to.isIncluded ? '' : 'before ') + name(to)}`;
  }
  const partition = visible(from.PartitionKey);
  if (!hasRow(from) && !hasRow(to)) return `${partition}: all`;
  if (hasRow(from) && hasRow(to) && from.RowKey === to.RowKey)
    return `${partition} / ${visible(from.RowKey)}`;
  return `${partition}: ${!hasRow(from) ? 'the first' : (from.isIncluded ? '' : 'after ') + visible(from.RowKey)} → ${!hasRow(to) ? 'the last' : (to.isIncluded ? '' : 'before ') + visible(to.RowKey)}`;
}

// --- the bar ---

/** What an estimate goes by, as in `tavola explain`. */
const BASES = {
  'partition fact': 'by what is known of partitions',
  'key sample': 'by a sample of keys',
  'mean partition': 'by the mean of all partitions',
  sample: 'by a sample of entities',
  history: 'by earlier queries of this kind',
  beginning: 'by the first of them',
};

function boundsText(about, low, high, basis) {
  if (high == null) return `${count(low)} or more`;
  if (low === high) return count(low);
  if (Math.round(about) === 0)
    return `few or none (${count(high)} at most, ${BASES[basis] ?? 'by an estimate'})`;
  return `about ${count(about)} (${count(low)} to ${count(high)}, ${BASES[basis] ?? 'by an estimate'})`;
}

/** "40 examined, 40 returned; 1 page, 0.06 ms" */
export function estimateText(e) {
  const examined = boundsText(e.examined, e.low, e.high, e.basis),
    returned = boundsText(e.returned, e.returnedLow, e.returnedHigh, e.returnedBasis);
  return `${examined} examined, ${returned} returned; ${plural(e.pages, 'page')}, about ${milliseconds(e.ms)}`;
}

/**
 * `on.run(filter)` when it is to be run, `on.plan(explained)` when the plan changes; `columns()` is a
 * Map of names to types, `partitions()` a list of [key, count].
 */
export class QueryBar {
  constructor(table, filter, { columns, partitions, on }) {
    Object.assign(this, {
      table,
      columns,
      partitions,
      on,
      explained: null,
      problem: null,
      sequence: 0,
      offers: [],
      at: 0,
    });
    this.highlight = h('pre', { 'aria-hidden': 'true' });
    this.field = h('textarea', {
      id: 'filter',
      rows: '1',
      spellcheck: 'false',
      autocomplete: 'off',
      autocapitalize: 'off',
      'aria-label': 'Filter',
      'aria-describedby': 'plan-sentence',
      'aria-haspopup': 'listbox',
      'aria-controls': 'completions',
      'aria-autocomplete': 'list',
      oninput: () => {
        this.typed();
        this.offer();
      },
      onkeydown: event => this.key(event),
      onblur: () => this.close(),
    });
    this.list = h('ul', {
      class: 'pop',
      id: 'completions',
      role: 'listbox',
      'aria-label': 'Completions',
      hidden: true,
    });
    this.sentence = h('div', { class: 'say', id: 'plan-sentence', 'aria-live': 'polite' });
    this.chip = h('span');
    this.runButton = h(
      'button',
      { class: 'btn primary', onclick: () => this.run() },
      'Run',
      h('kbd', null, '↵'),
    );
    this.node = h(
      'div',
      { class: 'qbar' },
      h('span', { class: 'lbl', 'aria-hidden': 'true' }, 'Filter'),
      h('div', { class: 'qedit' }, this.highlight, this.field, this.list),
      h('div', { class: 'qright' }, this.chip, this.runButton),
    );
    this.panel = h('div', { class: 'planpanel', hidden: true });
    this.set(filter);
  }

  get filter() {
    return this.field.value;
  }

  set(filter) {
    this.field.value = filter;
    this.typed();
  }

  typed() {
    put(
      this.highlight,
      words(this.filter).map(word => h('span', { class: `q-${word.kind}` }, word.text)),
      '\u200b',
    );
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.plan(), 60);
    this.on.typed?.();
  }

  async plan() {
    clearTimeout(this.timer);
    const sequence = ++this.sequence,
      filter = this.filter;
    try {
      const explained = await api.explain(this.table, filter);
      if (sequence !== this.sequence) return;
      this.explained = explained;
      this.problem = null;
    } catch (trouble) {
      if (sequence !== this.sequence) return;
      this.problem = trouble;
    }
    this.planned = filter;
    this.draw();
    this.on.plan?.(this.explained, this.problem);
  }

  /** Nobody is scolded in the middle of a word: what only lacks its end is not yet a mistake. */
  isUnfinished() {
    const list = words(this.filter).filter(word => word.kind !== 'space'),
      last = list[list.length - 1];
    return (
      !last ||
      ['op', 'join', 'name'].includes(last.kind) ||
      (last.kind === 'text' && !/'$/.test(last.text)) ||
      last.text === '('
    );
  }

  draw() {
    if (this.problem) {
      const unfinished = this.problem.status === 400 && this.isUnfinished();
      put(
        this.chip,
        h(
          'span',
          { class: unfinished ? 'chip none' : 'chip err' },
          unfinished ? 'Incomplete' : 'Not a filter yet',
        ),
      );
      put(this.sentence, unfinished ? this.hint() : this.problem.message);
      this.runButton.disabled = true;
      this.panel.hidden = true;
      return;
    }
    const plan = planOf(this.explained, this.filter);
    put(
      this.chip,
      planChip(plan, {
        'aria-expanded': String(!this.panel.hidden),
        title: 'The plan (Alt P)',
        onclick: () => this.togglePanel(),
      }),
    );
    put(this.sentence, sentence(this.explained, this.filter));
    this.runButton.disabled = false;
    this.runButton.className = wastes(this.explained) ? 'btn' : 'btn primary';
    put(this.runButton, wastes(this.explained) ? 'Scan…' : 'Run', h('kbd', null, '↵'));
    if (!this.panel.hidden) this.drawPanel();
  }

  hint() {
    const list = words(this.filter).filter(word => word.kind !== 'space'),
      last = list[list.length - 1];
    if (!last || last.kind === 'join' || last.text === '(') return 'A property comes next.';
    if (last.kind === 'name') return `After ${last.text} comes one of eq, ne, gt, ge, lt, le.`;
    if (last.kind === 'op') return "A value comes next. Text goes in single quotes: 'Jones'.";
    return 'Text ends with a single quote.';
  }

  togglePanel() {
    this.panel.hidden = !this.panel.hidden;
    this.draw();
    if (!this.panel.hidden) this.drawPanel();
  }

  drawPanel() {
    const { description, ranges = [], residual, advice, estimate, warnings = [] } = this.explained;
    put(
      this.panel,
      h(
        'dl',
        null,
        h('dt', null, 'Plan'),
        h('dd', null, description),
        residual && [
          h('dt', null, 'Tested on each entity that is read'),
          h('dd', null, h('code', null, residual)),
        ],
        warnings.length > 0 && [
          h('dt', null, 'Compared with another type'),
          warnings.map(text => h('dd', { class: 'warns' }, text)),
        ],
        advice && [h('dt', null, 'The guide says'), h('dd', null, advice)],
      ),
      h(
        'dl',
        null,
        h('dt', null, plural(ranges.length, 'range')),
        ranges.slice(0, 4).map(range => h('dd', null, h('code', null, rangeText(range)))),
        ranges.length > 4 && h('dd', null, `and ${count(ranges.length - 4)} more`),
        estimate && [h('dt', null, 'Estimate'), h('dd', null, estimateText(estimate))],
        estimate?.azure && [
          h('dt', null, 'In Azure'),
          h(
            'dd',
            null,
            estimate.azure.plan === 'refused'
              ? 'refused, for more than 15 comparisons'
              : `${estimate.azure.plan}: ${count(estimate.azure.examined ?? 0)} examined${estimate.azure.documented ? '' : '; a guess, since its plan for such filters is not documented'}`,
          ),
        ],
      ),
    );
  }

  /** Run it, by the plan of what is there now: that on the screen may be of a word that was not yet whole. */
  async run() {
    this.close();
    if (this.planned !== this.filter) await this.plan();
    if (this.planned === this.filter && !this.problem) this.on.run(this.filter, this.explained);
  }

  // --- completion ---

  offer() {
    const before = this.filter.slice(0, this.field.selectionStart);
    const { from, offers } = completions(before, this.columns(), this.partitions());
    Object.assign(this, { from, offers, at: 0 });
    this.drawOffers();
  }

  drawOffers() {
    this.list.hidden = this.offers.length === 0;
    this.field.setAttribute(
      'aria-activedescendant',
      this.offers.length ? `completion-${this.at}` : '',
    );
    put(
      this.list,
      this.offers.map((offer, i) =>
        h(
          'li',
          {
            id: `completion-${i}`,
            role: 'option',
            'aria-selected': String(i === this.at),
            onmousedown: event => {
              event.preventDefault();
              this.take(offer);
            },
          },
          h('span', null, offer.label),
          h('span', { class: 'muted' }, offer.note),
        ),
      ),
    );
  }

  close() {
    this.offers = [];
    this.drawOffers();
  }

  take(offer) {
    const end = this.field.selectionStart;
    this.field.setRangeText(offer.put, this.from, end, 'end');
    this.typed();
    this.offer();
  }

  key(event) {
    const isOpen = this.offers.length > 0;
    if (isOpen && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      this.at =
        (this.at + (event.key === 'ArrowDown' ? 1 : -1) + this.offers.length) % this.offers.length;
      this.drawOffers();
    } else if (isOpen && event.key === 'Tab' && !event.shiftKey) {
      event.preventDefault();
      this.take(this.offers[this.at]);
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      if (isOpen) this.close();
      else this.on.leave?.();
    } else if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault();
      this.offer();
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.run();
    } else if (event.key.toLowerCase() === 'p' && event.altKey) {
      event.preventDefault();
      if (!this.problem) this.togglePanel();
    } else if (event.key === 'ArrowUp' && this.field.selectionStart === 0 && !isOpen)
      this.on.history?.();
  }
}
