// The grid: only what is on screen is in the document, however many rows and columns there are.
//
// One tab stop.  The keys of the service come first and stay in sight.

import { h, put, say, visible, shortened, timesAreLocal } from './dom.js';
import { TYPES, cellOf, isNumber } from './values.js';

const HEIGHT_MAX = 8e6; // of the scrolled area; browsers cannot lay out much more
const OVERSCAN = 6;     // rows beyond the edges
const CHECK_WIDTH = 38;
const WIDTHS = { 'Edm.Boolean': 84, 'Edm.Int32': 92, 'Edm.Int64': 150, 'Edm.Double': 130, 'Edm.DateTime': 196, 'Edm.Guid': 140, 'Edm.Binary': 150 };

export const keyOf = entity => `${entity.partition}\u0000${entity.row}`;

export class Grid {
  /**
   * `source`: {length, at(index)}; `columns()`: [{name, type}], keys first;
   * on: {open(index, entity), need(index), select(), expand(entity, name), key(event, entity, column)}.
   */
  constructor({ source, columns, on }) {
    Object.assign(this, { source, columnsOf: columns, on, row: 0, column: 0, selected: new Map(), total: 0, widths: new Map() });
    this.head = h('div', { class: 'gh', role: 'row' });
    this.space = h('div', { class: 'gspace' });
    this.pool = [];
    this.node = h('div', { class: 'grid', role: 'grid', tabindex: '0', 'aria-label': 'Entities', 'aria-multiselectable': 'true', onscroll: () => this.drawSoon(), onkeydown: event => this.key(event) },
      h('div', { class: 'ghg', role: 'rowgroup' }, this.head), this.space);
    this.observer = new ResizeObserver(() => this.drawSoon());
    this.observer.observe(this.node);
  }

  get rowHeight() { return parseInt(getComputedStyle(document.documentElement).getPropertyValue('--row'), 10) || 30; }

  isNarrow() { return matchMedia('(max-width: 760px)').matches; }

  widthOf(column) {
    return this.widths.get(column.name) || (column.name === 'PartitionKey' || column.name === 'RowKey' ? 150 : WIDTHS[column.type] || Math.max(120, Math.min(220, column.name.length * 8 + 50)));
  }

  /** New columns or rows: the head as well. */
  refresh() {
    this.columns = this.columnsOf();
    this.total = this.source.length;
    this.node.setAttribute('aria-rowcount', this.total + 1);
    this.node.setAttribute('aria-colcount', this.columns.length + 1);
    this.node.setAttribute('aria-readonly', 'true');
    const height = Math.min(this.total * this.rowHeight, HEIGHT_MAX);
    this.space.style.height = `${height}px`;
    this.space.style.width = this.isNarrow() ? '100%' : `${CHECK_WIDTH + this.columns.reduce((sum, column) => sum + this.widthOf(column), 0)}px`;
    if (this.row >= this.total) this.row = Math.max(0, this.total - 1);
    this.drawHead();
    this.draw();
  }

  drawHead() {
    const all = h('input', { type: 'checkbox', tabindex: '-1', 'aria-label': 'Select all that are loaded', checked: this.selected.size > 0 && this.selected.size >= this.total, onchange: event => this.selectAll(event.target.checked) });
    all.indeterminate = this.selected.size > 0 && this.selected.size < this.total;
    let left = CHECK_WIDTH;
    put(this.head, h('div', { class: 'st0', role: 'columnheader', css: { width: `${CHECK_WIDTH}px` } }, all), this.columns.map((column, i) => {
      const width = this.widthOf(column), cell = h('div', { role: 'columnheader', class: i < 2 ? `st${i + 1}` : null, title: column.name, css: { width: `${width}px`, ...(i < 2 ? { left: `${left}px` } : {}) } },
        h('span', { class: 'cn' }, column.name), h('span', { class: 'tag' }, column.isMixed ? 'mixed' : TYPES[column.type]?.short || ''));
      left += width;
      return cell;
    }));
  }

  drawSoon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  /** How far the scrolled area is from the true one. */
  scale() {
    const height = this.total * this.rowHeight;
    return height > HEIGHT_MAX ? (height - this.node.clientHeight) / (HEIGHT_MAX - this.node.clientHeight) : 1;
  }

  firstVisible() { return Math.floor(this.node.scrollTop * this.scale() / this.rowHeight); }

  visibleCount() { return Math.max(1, Math.floor((this.node.clientHeight - 34) / this.rowHeight)); }

  draw() {
    if (!this.columns) return;
    const height = this.rowHeight, scale = this.scale(), narrow = this.isNarrow();
    const first = Math.max(0, this.firstVisible() - OVERSCAN), last = Math.min(this.total, this.firstVisible() + this.visibleCount() + OVERSCAN + 1);
    const shift = this.node.scrollTop - this.node.scrollTop * scale; // where scaled rows stand
    while (this.pool.length < last - first) {
      const element = h('div', { class: 'gr', role: 'row', onclick: event => this.click(event, element), ondblclick: () => this.openAt(Number(element.dataset.index)) });
      this.pool.push(element);
      this.space.append(element);
    }
    for (let i = 0; i < this.pool.length; i++) {
      const element = this.pool[i], index = first + i;
      if (index >= last) { element.hidden = true; continue; }
      element.hidden = false;
      element.style.top = `${index * height + shift}px`;
      this.fillRow(element, index, narrow);
    }
    if (this.total) this.node.setAttribute('aria-activedescendant', `cell-${this.row}-${this.column}`);
    else this.node.removeAttribute('aria-activedescendant');
    this.on.view?.(this.firstVisible(), Math.min(this.total - 1, this.firstVisible() + this.visibleCount()));
    if (last >= this.total) this.on.need?.(last);
  }

  /** Columns that are in sight, beyond the two that always are. */
  columnWindow() {
    const from = this.node.scrollLeft - 200, to = this.node.scrollLeft + this.node.clientWidth + 200;
    let left = CHECK_WIDTH, begin = -1, end = 2, before = 0;
    this.columns.forEach((column, i) => {
      const width = this.widthOf(column);
      if (i >= 2 && left + width > from && left < to) { if (begin < 0) { begin = i; } end = i + 1; } else if (i >= 2 && begin < 0) before += width;
      left += width;
    });
    return { begin: begin < 0 ? 2 : begin, end, before };
  }

  fillRow(element, index, narrow) {
    const entity = this.source.at(index), isActive = index === this.row;
    const window = narrow ? null : this.columnWindow();
    const stamp = `${index}|${entity ? entity.etag : ''}|${isActive ? this.column : -1}|${entity && this.selected.has(keyOf(entity))}|${window ? `${window.begin}-${window.end}` : 'n'}|${timesAreLocal()}|${this.columns.length}`;
    if (element.dataset.stamp === stamp && element.entity === entity) return;
    element.entity = entity;
    element.dataset.stamp = stamp;
    element.dataset.index = index;
    element.setAttribute('aria-rowindex', index + 2);
    element.setAttribute('aria-selected', String(!!entity && this.selected.has(keyOf(entity))));
    element.classList.toggle('cur', isActive);
    if (!entity) { put(element, h('div', { class: 'wait', role: 'gridcell' }, '…')); return; }
    const above = index > 0 ? this.source.at(index - 1) : null;
    if (narrow) { put(element, this.narrowCells(entity)); return; }
    const check = h('input', { type: 'checkbox', tabindex: '-1', 'aria-label': `Select ${shortened(entity.partition, 40)} / ${shortened(entity.row, 40)}`, checked: this.selected.has(keyOf(entity)), onclick: event => { event.stopPropagation(); this.select(entity, event.target.checked); } });
    const cells = [h('div', { class: 'st0', role: 'gridcell', css: { width: `${CHECK_WIDTH}px` } }, check)];
    let left = CHECK_WIDTH;
    this.columns.forEach((column, i) => {
      const width = this.widthOf(column);
      if (i < 2) {
        cells.push(this.cell(entity, column, index, i, { left: `${left}px`, width: `${width}px` }, `st${i + 1}${i === 0 && above?.partition === entity.partition ? ' same' : ''}`));
        left += width;
      } else if (i >= window.begin && i < window.end) {
        if (i === window.begin && window.before) cells.push(h('div', { class: 'gap', 'aria-hidden': 'true', css: { width: `${window.before}px` } }));
        cells.push(this.cell(entity, column, index, i, { width: `${width}px` }, isNumber(entity.properties.get(column.name)?.type) ? 'r' : ''));
      }
    });
    put(element, cells);
  }

  cell(entity, column, index, at, css, extra) {
    const value = entity.properties.get(column.name);
    const isActive = index === this.row && at === this.column;
    const properties = { id: `cell-${index}-${at}`, role: 'gridcell', class: `${extra}${isActive ? ' act' : ''}`, css, dir: 'auto', 'data-column': at, 'aria-colindex': at + 2 };
    if (!value) return h('div', properties, h('span', { class: 'muted' }, '–'));
    const { text, size } = cellOf(value);
    properties.title = value.value.length > 1000 ? `${value.value.slice(0, 1000)}…` : value.value;
    return h('div', properties, text, size && h('button', { class: 'size', tabindex: '-1', onclick: event => { event.stopPropagation(); this.on.expand?.(entity, column.name); } }, size));
  }

  narrowCells(entity) {
    const rest = [...entity.properties].filter(([name]) => !['PartitionKey', 'RowKey', 'Timestamp'].includes(name)).slice(0, 4);
    return h('div', { class: 'two', role: 'gridcell' }, h('div', { class: 'k' }, h('span', { class: 'soft' }, `${visible(entity.partition)} / `), h('b', null, visible(entity.row))),
      h('div', { class: 'v' }, rest.map(([name, value]) => `${name} ${cellOf(value).text}`).join(' · ')));
  }

  click(event, element) {
    const index = Number(element.dataset.index), cell = event.target.closest('[data-column]');
    this.row = index;
    if (cell) this.column = Number(cell.dataset.column);
    this.draw();
    this.on.move?.(element.entity);
    if (this.isNarrow()) this.openAt(index);
  }

  openAt(index) {
    const entity = this.source.at(index);
    if (entity) this.on.open(index, entity);
  }

  select(entity, on) {
    if (on) this.selected.set(keyOf(entity), entity); else this.selected.delete(keyOf(entity));
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
    const first = this.firstVisible(), visibleRows = this.visibleCount(), scale = this.scale();
    if (this.row < first) this.node.scrollTop = this.row * this.rowHeight / scale;
    else if (this.row >= first + visibleRows) this.node.scrollTop = (this.row - visibleRows + 1) * this.rowHeight / scale;
    if (!this.isNarrow() && this.column >= 2) {
      let left = CHECK_WIDTH;
      const keys = this.columns.slice(0, 2).reduce((sum, each) => sum + this.widthOf(each), CHECK_WIDTH);
      this.columns.slice(0, this.column).forEach(each => { left += this.widthOf(each); });
      const width = this.widthOf(this.columns[this.column]);
      if (left - this.node.scrollLeft < keys) this.node.scrollLeft = left - keys;
      else if (left + width > this.node.scrollLeft + this.node.clientWidth) this.node.scrollLeft = left + width - this.node.clientWidth;
    }
    this.draw();
    const entity = this.source.at(this.row);
    this.on.move?.(entity);
    if (this.row >= this.total - 1) this.on.need?.(this.total);
  }

  key(event) {
    if (event.target !== this.node || event.altKey || !this.total) return;
    const entity = this.source.at(this.row), page = this.visibleCount();
    const moves = { ArrowDown: [1, 0], j: [1, 0], ArrowUp: [-1, 0], k: [-1, 0], PageDown: [page, 0], PageUp: [-page, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    const control = event.ctrlKey || event.metaKey;
    if (!control && moves[event.key]) { event.preventDefault(); this.moveTo(this.row + moves[event.key][0], this.column + moves[event.key][1]); }
    else if (event.key === 'Home') { event.preventDefault(); this.moveTo(0, control ? 0 : this.column); }
    else if (event.key === 'End') { event.preventDefault(); if (control) this.on.end?.(); else this.moveTo(this.total - 1); }
    else if (!control && (event.key === 'Enter' || event.key === 'e')) { event.preventDefault(); this.openAt(this.row); }
    else if (!control && event.key.toLowerCase() === 'x' && entity) {
      event.preventDefault();
      if (event.shiftKey && this.lastSelected != null) {
        const [low, high] = [Math.min(this.lastSelected, this.row), Math.max(this.lastSelected, this.row)];
        for (let i = low; i <= high; i++) { const each = this.source.at(i); if (each) this.selected.set(keyOf(each), each); }
        this.select(entity, true);
      } else this.select(entity, !this.selected.has(keyOf(entity)));
      this.lastSelected = this.row;
    } else if (!control && event.key === ' ' && entity) { event.preventDefault(); this.on.expand?.(entity, this.columns[this.column].name); }
    else if (entity) this.on.key?.(event, entity, this.columns[this.column]);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }
}
