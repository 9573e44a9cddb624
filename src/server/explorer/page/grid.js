// The grid: only what is on screen is in the document, however many rows and columns there are.
//
// One tab stop.  The keys of the service come first and stay in sight.
//
// Browsers cannot lay out more than some millions of pixels.  Beyond HEIGHT_MAX the scrolled area is
// shorter than the rows: `top` is then where the view really is, the wheel and the keys move it pixel
// by pixel, the thumb moves it in proportion, and the thumb is put right when nobody moves anything.

import { h, put, visible, shortened, timesAreLocal } from './dom.js';
import { TYPES, cellOf, isNumber } from './values.js';
import { columnDrag } from './columns.js';

const HEIGHT_MAX = 8e6; // of the scrolled area
const OVERSCAN = 6; // rows beyond the edges
const TEXT_EXTRA = 240; // pixels
const CHECK_WIDTH = 38,
  WIDTH_STEP = 16,
  IDLE_MS = 150;
const WIDTHS = {
  'Edm.Boolean': 84,
  'Edm.Int32': 92,
  'Edm.Int64': 150,
  'Edm.Double': 130,
  'Edm.DateTime': 196,
  'Edm.Guid': 140,
  'Edm.Binary': 150,
};

const keyOf = entity => `${entity.partition}\u0000${entity.row}`;

/** How wide a column is, unless somebody has said otherwise. */
const usualWidth = ({ name, type }) =>
  Math.max(WIDTHS[type] || 120, Math.min(220, name.length * 8 + 56));

// Keys are shown whole as long as they leave a part of the grid to the properties; then the longer one gives way.
const KEY_LEAST = 130,
  KEYS_SHARE = 0.7,
  KEYS_LEAST = 290,
  CHARACTER = 7.3,
  CELL_PADDING = 22;

/** What both keys get of a grid of this width: of their longest values in characters. */
function keyWidths(wide, longest) {
  const wanted = longest.map(characters =>
    Math.max(KEY_LEAST, Math.ceil(characters * CHARACTER) + CELL_PADDING),
  );
  const room = Math.max(KEYS_LEAST, wide * KEYS_SHARE - CHECK_WIDTH),
    least = Math.min(...wanted);
  return wanted[0] + wanted[1] <= room
    ? wanted
    : wanted.map(each =>
        Math.floor(each === least ? Math.min(each, room / 2) : room - Math.min(least, room / 2)),
      );
}

export class Grid {
  /**
   * `source`: {length, at(index), loaded()}; `columns()`: [{name, type, width}], keys first;
   * on: {open(index, entity), view(first, last, row), select(), expand(entity, name), end(),
   * resize(name, width), reorder(name, to), sort(name), key(event, entity, column)}.
   */
  constructor({ source, columns, on }) {
    Object.assign(this, {
      source,
      columnsOf: columns,
      on,
      row: 0,
      column: 0,
      top: 0,
      selected: new Map(),
      order: null,
      total: 0,
      height: 30,
      headHeight: 35,
      tall: 0,
      wide: 0,
      lastScroll: 0,
      version: 0,
    });
    this.head = h('div', { class: 'gh', role: 'row' });
    this.space = h('div', { class: 'gspace' });
    this.pool = [];
    this.node = h(
      'div',
      {
        class: 'grid',
        role: 'grid',
        tabindex: '0',
        'aria-label': 'Entities',
        'aria-multiselectable': 'true',
        'aria-readonly': 'true',
        onscroll: () => this.scrolled(),
        onkeydown: event => this.key(event),
      },
      h('div', { class: 'ghg', role: 'rowgroup' }, this.head),
      this.space,
    );
    this.observer = new ResizeObserver(() => {
      const before = this.wide;
      this.measure();
      if (this.columns && this.wide !== before) this.refresh();
      else this.drawSoon();
    });
    this.observer.observe(this.node);
  }

  measure() {
    const wide = this.node.clientWidth,
      tall = this.node.clientHeight,
      headHeight = this.head.parentNode.offsetHeight;
    this.isNarrow = matchMedia('(max-width: 760px)').matches;
    this.height =
      parseInt(getComputedStyle(document.documentElement).getPropertyValue('--row'), 10) || 30;
    Object.assign(this, { wide, tall, headHeight });
    this.setTop(this.top);
  }

  widthOf(column) {
    return (column.width || column.usual || usualWidth(column)) + (column.extra || 0);
  }

  /** New columns or rows: the head as well. */
  refresh() {
    this.columns = this.columnsOf();
    this.total = this.source.length;
    this.version++;
    this.node.setAttribute('aria-rowcount', this.total + 1);
    this.node.setAttribute('aria-colcount', this.columns.length + 1);
    if (this.row >= this.total) this.row = Math.max(0, this.total - 1);
    this.column = Math.min(this.column, this.columns.length - 1);
    this.measure();
    keyWidths(
      this.wide,
      this.columns.slice(0, 2).map(each => each.longest),
    ).forEach((width, i) => {
      this.columns[i].usual = width;
    });
    this.space.style.height = `${Math.min(this.total * this.height, HEIGHT_MAX)}px`;
    this.space.style.width = this.isNarrow ? '100%' : `${this.shareRest()}px`;
    this.setTop(this.top);
    this.drawHead();
    this.draw();
  }

  /** What is left of the grid goes to texts, as far as they may need it, and then to the last column; how wide all are. */
  shareRest() {
    const sum = () => this.columns.reduce((all, column) => all + this.widthOf(column), CHECK_WIDTH),
      last = this.columns[this.columns.length - 1];
    const texts = this.columns
        .slice(2)
        .filter(({ type, width }) => type === 'Edm.String' && !width),
      rest = this.wide - sum();
    for (const column of texts)
      column.extra = Math.max(0, Math.min(TEXT_EXTRA, Math.floor(rest / texts.length)));
    if (!last.width) last.extra = (last.extra || 0) + Math.max(0, this.wide - sum());
    return sum();
  }

  /** Rows have come; the columns are the same. */
  rowsChanged() {
    this.total = this.source.length;
    this.node.setAttribute('aria-rowcount', this.total + 1);
    this.space.style.height = `${Math.min(this.total * this.height, HEIGHT_MAX)}px`;
    this.drawSoon();
  }

  /** Rows above have come or gone: what is in view stays where it is. */
  moved(shift, row) {
    this.row = row;
    this.total = this.source.length;
    this.space.style.height = `${Math.min(this.total * this.height, HEIGHT_MAX)}px`;
    if (shift) this.setTop(this.top + shift * this.height);
  }

  drawHead() {
    const all = h('input', {
      type: 'checkbox',
      tabindex: '-1',
      'aria-label': 'Select all that are loaded',
      checked: this.selected.size > 0 && this.selected.size >= this.total,
      onchange: event => this.selectAll(event.target.checked),
    });
    all.indeterminate = this.selected.size > 0 && this.selected.size < this.total;
    let left = CHECK_WIDTH;
    put(
      this.head,
      h('div', { class: 'st0', role: 'columnheader', css: { width: `${CHECK_WIDTH}px` } }, all),
      this.columns.map((column, i) => {
        const width = this.widthOf(column),
          cell = h(
            'div',
            {
              role: 'columnheader',
              class: i < 2 ? `st${i + 1}` : null,
              title: column.name,
              'data-head': i,
              'aria-sort':
                this.order?.name === column.name
                  ? this.order.isDown
                    ? 'descending'
                    : 'ascending'
                  : null,
              css: { width: `${width}px`, ...(i < 2 ? { left: `${left}px` } : {}) },
            },
            h('span', { class: 'cn' }, column.name),
            h('span', { class: 'tag' }, column.isMixed ? 'mixed' : TYPES[column.type]?.short || ''),
            h('span', { class: 'rs', 'aria-hidden': 'true' }),
          );
        left += width;
        columnDrag(this, cell, i);
        return cell;
      }),
    );
  }

  // --- where the view is ---

  get topMax() {
    return Math.max(0, this.total * this.height - this.tall + this.headHeight);
  }

  /** How much more the rows are than the scrolled area. */
  scale() {
    const room = HEIGHT_MAX - this.tall + this.headHeight;
    return this.total * this.height > HEIGHT_MAX ? this.topMax / room : 1;
  }

  setTop(top) {
    this.top = Math.max(0, Math.min(top, this.topMax));
    const wanted = this.top / this.scale();
    if (Math.abs(this.node.scrollTop - wanted) >= 1) this.node.scrollTop = wanted;
    this.lastScroll = this.node.scrollTop;
    if (this.scale() === 1) this.top = this.lastScroll;
  }

  scrolled() {
    const now = this.node.scrollTop,
      by = now - this.lastScroll,
      scale = this.scale();
    this.lastScroll = now;
    if (scale === 1) this.top = now;
    else if (by) {
      const isThumb = Math.abs(by) > HEIGHT_MAX / Math.max(1, this.tall) / 1.5; // a pixel of the thumb is more than this
      this.top = isThumb ? now * scale : Math.max(0, Math.min(this.top + by, this.topMax));
      clearTimeout(this.idle);
      this.idle = setTimeout(() => {
        this.setTop(this.top);
        this.draw();
      }, IDLE_MS);
      const edge = this.node.scrollHeight - this.tall;
      if ((now <= 0 && this.top > 0) || (now >= edge && this.top < this.topMax))
        this.setTop(this.top);
    }
    this.drawSoon();
  }

  firstVisible() {
    return Math.floor(this.top / this.height);
  }

  visibleCount() {
    return Math.max(1, Math.floor((this.tall - this.headHeight) / this.height));
  }

  // --- drawing ---

  drawSoon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.columns || !this.tall) return;
    const visibleRows = this.visibleCount(),
      seen = this.firstVisible();
    const first = Math.max(0, seen - OVERSCAN),
      last = Math.min(this.total, seen + visibleRows + OVERSCAN + 1),
      size = visibleRows + 2 * OVERSCAN + 2;
    const shift = this.lastScroll - this.top; // where rows of a shortened area stand
    const window = this.isNarrow ? null : this.columnWindow();
    while (this.pool.length < size) {
      const element = h('div', {
        class: 'gr',
        role: 'row',
        onclick: event => this.click(event, element),
        ondblclick: () => this.openAt(Number(element.dataset.index)),
      });
      this.pool.push(element);
      this.space.append(element);
    }
    for (const element of this.pool) element.isFree = true;
    // A row that stays in sight keeps its element.
    for (let index = first; index < last; index++) {
      const element = this.pool[index % this.pool.length];
      element.isFree = false;
      element.hidden = false;
      const top = `${index * this.height + shift}px`;
      if (element.style.top !== top) element.style.top = top;
      this.fillRow(element, index, window);
    }
    for (const element of this.pool) if (element.isFree) element.hidden = true;
    if (this.total)
      this.node.setAttribute('aria-activedescendant', `cell-${this.row}-${this.column}`);
    else this.node.removeAttribute('aria-activedescendant');
    this.on.view?.(seen, Math.min(this.total - 1, seen + visibleRows), this.row);
  }

  /** Columns that are in sight, beyond the two that always are. */
  columnWindow() {
    const from = this.node.scrollLeft - 200,
      to = this.node.scrollLeft + this.wide + 200;
    let left = CHECK_WIDTH,
      begin = -1,
      end = 2,
      before = 0;
    this.columns.forEach((column, i) => {
      const width = this.widthOf(column);
      if (i >= 2 && left + width > from && left < to) {
        if (begin < 0) {
          begin = i;
        }
        end = i + 1;
      } else if (i >= 2 && begin < 0) before += width;
      left += width;
    });
    return { begin: begin < 0 ? 2 : begin, end, before };
  }

  fillRow(element, index, window) {
    const entity = this.source.at(index),
      isActive = index === this.row,
      isSelected = !!entity && this.selected.has(keyOf(entity));
    const above = index > 0 ? this.source.at(index - 1) : null,
      isSame = !!entity && above?.partition === entity.partition;
    const stamp = `${index}|${entity ? entity.etag : ''}|${isActive ? this.column : -1}|${isSelected}|${isSame}|${window ? `${window.begin}-${window.end}` : 'n'}|${timesAreLocal()}|${entity ? this.version : ''}`;
    if (element.stamp === stamp && element.entity === entity) return;
    element.entity = entity;
    element.stamp = stamp;
    element.dataset.index = index;
    element.setAttribute('aria-rowindex', index + 2);
    element.setAttribute('aria-selected', String(isSelected));
    element.classList.toggle('cur', isActive);
    if (!entity) {
      put(
        element,
        h(
          'div',
          { class: 'wait', role: 'gridcell', id: isActive ? `cell-${index}-${this.column}` : null },
          '…',
        ),
      );
      return;
    }
    if (!window) {
      put(element, this.narrowCells(entity, index));
      return;
    }
    const check = h('input', {
      type: 'checkbox',
      tabindex: '-1',
      'aria-label': `Select ${shortened(entity.partition, 40)} / ${shortened(entity.row, 40)}`,
      checked: isSelected,
      onclick: event => {
        event.stopPropagation();
        this.row = index;
        this.select(entity, event.target.checked, event.shiftKey);
      },
    });
    const cells = [
      h('div', { class: 'st0', role: 'gridcell', css: { width: `${CHECK_WIDTH}px` } }, check),
    ];
    let left = CHECK_WIDTH;
    for (let i = 0; i < 2; i++) {
      const width = this.widthOf(this.columns[i]);
      cells.push(
        this.cell(
          entity,
          this.columns[i],
          index,
          i,
          { left: `${left}px`, width: `${width}px` },
          `st${i + 1}${i === 0 && isSame ? ' same' : ''}`,
        ),
      );
      left += width;
    }
    if (window.before)
      cells.push(
        h('div', { class: 'gap', 'aria-hidden': 'true', css: { width: `${window.before}px` } }),
      );
    for (let i = window.begin; i < window.end; i++) {
      const column = this.columns[i];
      cells.push(
        this.cell(
          entity,
          column,
          index,
          i,
          { width: `${this.widthOf(column)}px` },
          isNumber(entity.properties.get(column.name)?.type) ? 'r' : '',
        ),
      );
    }
    put(element, cells);
  }

  cell(entity, column, index, at, css, extra) {
    const value = entity.properties.get(column.name);
    const isActive = index === this.row && at === this.column;
    const properties = {
      id: `cell-${index}-${at}`,
      role: 'gridcell',
      class: `${extra}${isActive ? ' act' : ''}`,
      css,
      dir: 'auto',
      'data-column': at,
      'aria-colindex': at + 2,
    };
    if (!value) return h('div', properties, h('span', { class: 'muted' }, '–'));
    const { text, size } = cellOf(value);
    properties.title = value.value.length > 1000 ? `${value.value.slice(0, 1000)}…` : value.value;
    return h(
      'div',
      properties,
      text,
      size &&
        h(
          'button',
          {
            class: 'size',
            tabindex: '-1',
            onclick: event => {
              event.stopPropagation();
              this.on.expand?.(entity, column.name);
            },
          },
          size,
        ),
    );
  }

  narrowCells(entity, index) {
    const rest = [...entity.properties]
      .filter(([name]) => !['PartitionKey', 'RowKey', 'Timestamp'].includes(name))
      .slice(0, 4);
    return h(
      'div',
      { class: 'two', role: 'gridcell', id: `cell-${index}-${this.column}` },
      h(
        'div',
        { class: 'k', title: `${visible(entity.partition)} / ${visible(entity.row)}` },
        h('span', { class: 'soft' }, visible(entity.partition)),
        ' / ',
        h('b', null, visible(entity.row)),
      ),
      h(
        'div',
        { class: 'v' },
        rest.map(([name, value]) => `${name} ${cellOf(value).text}`).join(' · '),
      ),
    );
  }

  // --- what is done to it ---

  click(event, element) {
    const index = Number(element.dataset.index),
      cell = event.target.closest('[data-column]');
    this.row = index;
    if (cell) this.column = Number(cell.dataset.column);
    this.draw();
    this.on.move?.(element.entity);
    if (this.isNarrow) this.openAt(index);
  }

  openAt(index) {
    const entity = this.source.at(index);
    if (entity) this.on.open(index, entity);
  }

  /** One, or all from the last one on that are loaded. */
  select(entity, on, isRange) {
    if (isRange && this.lastSelected != null) {
      const [low, high] = [
        Math.min(this.lastSelected, this.row),
        Math.max(this.lastSelected, this.row),
      ];
      for (let i = low; i <= high; i++) {
        const each = this.source.at(i);
        if (each) this.selected.set(keyOf(each), each);
      }
    }
    if (on) this.selected.set(keyOf(entity), entity);
    else this.selected.delete(keyOf(entity));
    this.lastSelected = this.row;
    this.drawHead();
    this.draw();
    this.on.select?.();
  }

  selectAll(on) {
    this.selected.clear();
    if (on) for (const entity of this.source.loaded()) this.selected.set(keyOf(entity), entity);
    this.drawHead();
    this.draw();
    this.on.select?.();
  }

  moveTo(row, column = this.column) {
    this.row = Math.max(0, Math.min(row, this.total - 1));
    this.column = Math.max(0, Math.min(column, this.columns.length - 1));
    const first = Math.ceil(this.top / this.height),
      visibleRows = this.visibleCount();
    if (this.row < first) this.setTop(this.row * this.height);
    else if (this.row >= first + visibleRows)
      this.setTop((this.row + 1) * this.height - this.tall + this.headHeight);
    if (!this.isNarrow && this.column >= 2) {
      let left = CHECK_WIDTH;
      const keys = this.columns
        .slice(0, 2)
        .reduce((sum, each) => sum + this.widthOf(each), CHECK_WIDTH);
      this.columns.slice(0, this.column).forEach(each => {
        left += this.widthOf(each);
      });
      const width = this.widthOf(this.columns[this.column]);
      if (left - this.node.scrollLeft < keys) this.node.scrollLeft = left - keys;
      else if (left + width > this.node.scrollLeft + this.wide)
        this.node.scrollLeft = left + width - this.wide;
    }
    this.draw();
    this.on.move?.(this.source.at(this.row));
  }

  /** A row to the upper third of the view: after a jump. */
  show(row) {
    this.row = Math.max(0, Math.min(row, this.total - 1));
    this.setTop((this.row - Math.floor(this.visibleCount() / 3)) * this.height);
    this.draw();
    this.on.move?.(this.source.at(this.row));
  }

  key(event) {
    if (event.target !== this.node || event.altKey || !this.total) return;
    const entity = this.source.at(this.row),
      page = this.visibleCount(),
      column = this.columns[this.column];
    const moves = {
      ArrowDown: [1, 0],
      j: [1, 0],
      ArrowUp: [-1, 0],
      k: [-1, 0],
      PageDown: [page, 0],
      PageUp: [-page, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
    };
    const control = event.ctrlKey || event.metaKey;
    const wider = { '+': WIDTH_STEP, '=': WIDTH_STEP, '-': -WIDTH_STEP }[event.key],
      to = { '<': -1, '>': 1 }[event.key];
    if (!control && moves[event.key]) {
      event.preventDefault();
      this.moveTo(this.row + moves[event.key][0], this.column + moves[event.key][1]);
    } else if (event.key === 'Home') {
      event.preventDefault();
      this.moveTo(0, control ? 0 : this.column);
    } else if (event.key === 'End') {
      event.preventDefault();
      this.on.end?.();
    } else if (!control && (event.key === 'Enter' || event.key === 'e')) {
      event.preventDefault();
      this.openAt(this.row);
    } else if (!control && event.key.toLowerCase() === 'x' && entity) {
      event.preventDefault();
      this.select(entity, event.shiftKey || !this.selected.has(keyOf(entity)), event.shiftKey);
    } else if (!control && event.key === ' ' && entity) {
      event.preventDefault();
      this.on.expand?.(entity, column.name);
    } else if (!control && wider) {
      event.preventDefault();
      this.on.resize?.(column.name, this.widthOf(column) + wider);
    } else if (!control && event.key === 'o') {
      event.preventDefault();
      this.on.sort?.(column.name);
    } else if (!control && to) {
      event.preventDefault();
      this.on.reorder?.(column.name, this.column + to);
    } else this.on.key?.(event, entity, column);
  }

  close() {
    this.observer.disconnect();
    clearTimeout(this.idle);
    cancelAnimationFrame(this.frame);
  }
}
